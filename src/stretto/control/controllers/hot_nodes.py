"""Moves pods from nodes with a high measured load to nodes with a low one.

A node is hot if a resource is above its high threshold in several rounds. Pods are moved away until
its load is below the threshold, as long as receivers have budget: their distance to their own high
threshold. Pods with devices or host ports are not moved. The use of one pod is estimated as its
share of its node's use, in proportion to requests. Thresholds and budget are those of Koordinator's
LowNodeLoad; the computation is vectorized over all nodes. After a move, other pods of the same
owner are not moved for some time, so that no pod moves back and forth.
"""

from collections.abc import Callable
from math import inf
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from stretto.control.controllers.fragmentation import Move
from stretto.control.controllers.movable import MoveLimits, may_leave
from stretto.framework.profile.capacity.hot_nodes import HotNodeRules
from stretto.state.cluster.cluster import Cluster
from stretto.state.rows.resources import CPU, MEMORY

RESOURCES: Final = ("cpu", "memory")
"""Measured resources, in the order of the columns of reports."""
COLUMNS: Final = (CPU, MEMORY)
TRIED: Final = 8
"""Number of receivers whose node rules are checked for one pod."""

Amounts = npt.NDArray[np.float64]
"""float64[node, resource]: milli-CPU at speed 1, and bytes."""


class NodeLoads(NamedTuple):
    """Nodes with recent measurements."""

    #: int64[k]: slots of the nodes.
    slots: npt.NDArray[np.int64]
    #: Physical amounts.
    real: Amounts
    #: Measured use.
    used: Amounts
    #: Low threshold: a node receives pods up to this use.
    low: Amounts
    #: High threshold: pods are moved away from a node above this use.
    high: Amounts

    @property
    def is_low(self) -> npt.NDArray[np.bool_]:
        """bool[k]: nodes with no resource above its low threshold."""
        return np.asarray((self.used <= self.low).all(axis=1), np.bool_)

    @property
    def is_hot(self) -> npt.NDArray[np.bool_]:
        """bool[k]: nodes with a resource above its high threshold."""
        return np.asarray((self.used > self.high).any(axis=1), np.bool_)


def node_loads(cluster: Cluster, rules: HotNodeRules) -> NodeLoads:
    """Loads of the nodes whose measurement is not much older than the newest one."""
    slots, reports = cluster.nodes.live_slots(), cluster.nodes.reports
    slots = slots[reports.fresh_on(slots, rules.expiration_seconds)]
    ledger, used = cluster.ledger, reports.used_on(slots).astype(np.float64)
    real = np.stack(
        [ledger.promises.real_on(c, slots, ledger.alloc[slots, c]) for c in COLUMNS], axis=1
    ).astype(np.float64)
    if rules.cpu_speeds is not None:
        speed = rules.cpu_speeds.on(cluster.nodes, slots)
        used[:, 0], real[:, 0] = used[:, 0] * speed, real[:, 0] * speed
    low = np.array([rules.low.get(name, 100.0) for name in RESOURCES])
    high = np.array([rules.high.get(name, 100.0) for name in RESOURCES])
    if rules.deviation:
        mean = (100 * used / np.maximum(real, 1)).mean(axis=0) if len(slots) else 0.0
        unbound = np.array([name not in rules.high for name in RESOURCES])
        low = np.where(unbound, 100.0, np.clip(mean - low, 0.0, 100.0))
        high = np.where(unbound, 100.0, np.clip(mean + high, 0.0, 100.0))
    return NodeLoads(slots, real, used, real * low / 100, real * high / 100)


class HotNodes:
    """Plans moves from hot nodes, round after round."""

    def __init__(
        self,
        cluster: Cluster,
        rules: HotNodeRules | None,
        limits: Callable[[], MoveLimits],
        eligible: Callable[[int, int], bool],
    ) -> None:
        """Use these rules; without rules no pod is moved.

        Args:
            cluster: the cluster.
            rules: thresholds and limits.
            limits: returns the limits of moves.
            eligible: predicate (class id, slot): the node rules admit the class.
        """
        self._cluster = cluster
        self._rules = rules
        self._limits = limits
        self._eligible = eligible
        self._due = inf if rules is None else rules.every_seconds
        self._rounds: dict[tuple[int, int], int] = {}
        self._rests: dict[str, float] = {}

    def next_due(self) -> float:
        """Clock time of the next round; infinity without rules."""
        return self._due

    def plan(self, now: float) -> tuple[Move, ...]:
        """Return the moves of a round if one is due."""
        rules = self._rules
        if rules is None or now < self._due:
            return ()
        self._due = now + rules.every_seconds
        self._rests = {owner: until for owner, until in self._rests.items() if until > now}
        loads = node_loads(self._cluster, rules)
        hot = self._acting(loads, rules.rounds)
        if not len(hot) or not loads.is_low.any():
            return ()
        limits = self._limits()
        limits.budgets.sync()
        moves = _HotRound(self._cluster, loads, limits, self._eligible, self._rests).run(hot, rules)
        for move in moves:
            self._rests[move.owner] = now + rules.rest_seconds
        return tuple(moves)

    def _acting(self, loads: NodeLoads, rounds: int) -> npt.NDArray[np.int64]:
        """int64[j]: positions of the nodes that were hot in enough rounds, the hottest first."""
        generation, before = self._cluster.ledger.slots.generation, self._rounds
        hot = np.flatnonzero(loads.is_hot)
        keys = [(int(s), int(generation[s])) for s in loads.slots[hot].tolist()]
        self._rounds = {key: before.get(key, 0) + 1 for key in keys}
        long = hot[np.array([self._rounds[key] >= rounds for key in keys], np.bool_)]
        share = (loads.used[long] / np.maximum(loads.real[long], 1)).max(axis=1, initial=0.0)
        return long[np.argsort(-share, kind="stable")]


class _HotRound:
    """One round; it updates use and free amounts with each planned move."""

    def __init__(
        self,
        cluster: Cluster,
        loads: NodeLoads,
        limits: MoveLimits,
        eligible: Callable[[int, int], bool],
        rests: dict[str, float],
    ) -> None:
        self._cluster, self._loads, self._limits = cluster, loads, limits
        self._eligible, self._rests = eligible, rests
        ledger = cluster.ledger
        receivers = loads.is_low & (cluster.nodes.unschedulable[loads.slots] == 0)
        self._receivers = np.flatnonzero(receivers)
        at = loads.slots[self._receivers]
        self._free = ledger.alloc[at] - ledger.used[at]
        self._spare = loads.high[self._receivers] - loads.used[self._receivers]
        self._budget = self._spare.sum(axis=0)

    def run(self, hot: npt.NDArray[np.int64], rules: HotNodeRules) -> list[Move]:
        """Return moves from hot nodes in order, within budget and limit."""
        moves: list[Move] = []
        for place in hot.tolist():
            used = self._loads.used[place].copy()
            for row, use in self._leaving(place):
                done = len(moves) >= rules.moves or (self._budget <= 0).any()
                if done or (used <= self._loads.high[place]).all():
                    break
                move = self._move(place, row, use)
                if move is not None:
                    moves.append(move)
                    used -= use
        return moves

    def _leaving(self, place: int) -> list[tuple[int, npt.NDArray[np.float64]]]:
        """Rows of a node with their use: lowest priority first, then the largest use."""
        cluster, slot = self._cluster, int(self._loads.slots[place])
        pods, rows = cluster.pods, cluster.pods.on_slot(slot)
        requests = cluster.classes.requests_of(pods.class_id[rows])[:, list(COLUMNS)]
        share = requests / np.maximum(requests.sum(axis=0), 1)
        use = share * self._loads.used[place]
        hottest = int(np.argmax(self._loads.used[place] / np.maximum(self._loads.high[place], 1)))
        order = np.lexsort((pods.serial[rows], -use[:, hottest], pods.priority[rows]))
        return [(int(rows[i]), use[i]) for i in order.tolist()]

    def _move(self, place: int, row: int, use: npt.NDArray[np.float64]) -> Move | None:
        """Move a pod to the receiver with the largest budget that admits it.

        Pods with devices or host ports stay: amounts do not show which of them a receiver has free.
        """
        cluster, limits = self._cluster, self._limits
        owner = limits.owner_of(row)
        if not owner or owner in self._rests or not may_leave(cluster, limits, row, owner):
            return None
        if limits.budgets.violating([row]):
            return None
        class_id = int(cluster.pods.class_id[row])
        if cluster.classes[class_id].ports or cluster.classes[class_id].devices:
            return None
        needs = cluster.classes.requests_of(np.array([class_id], np.int32))[0]
        width = min(len(needs), self._free.shape[1])
        fits = (self._free[:, :width] >= needs[:width]).all(axis=1) & (self._spare >= use).all(
            axis=1
        )
        found = np.flatnonzero(fits)
        left = (self._spare[found] / np.maximum(self._loads.real[self._receivers[found]], 1)).min(
            axis=1, initial=1.0
        )
        for i in found[np.argsort(-left, kind="stable")][:TRIED].tolist():
            target = int(self._loads.slots[self._receivers[i]])
            if self._eligible(class_id, target):
                self._free[i, :width] -= needs[:width]
                self._spare[i] -= use
                self._budget -= use
                limits.budgets.spend([row])
                self._rests[owner] = inf
                pods, names = cluster.pods, cluster.nodes.names
                source = names[int(self._loads.slots[place])]
                serial = int(pods.serial[row])
                return Move(row, serial, pods.key(row), owner, source, names[target], place)
        return None
