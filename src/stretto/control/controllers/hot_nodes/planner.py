"""Plans moves from hot nodes, round after round.

Pools, thresholds, anomaly condition, budgets, and the order of nodes and pods are those of
Koordinator's LowNodeLoad; the computation is vectorized over all nodes. In addition, every move has
a receiver that the node rules admit, and after a move no other pod of the same owner is moved for
some time, so that no pod moves back and forth.
"""

from collections.abc import Callable
from math import inf

import numpy as np

from stretto.control.controllers.fragmentation import Move
from stretto.control.controllers.hot_nodes.anomalies import AbnormalNodes, NodeKey
from stretto.control.controllers.hot_nodes.leaving import LeavingPods
from stretto.control.controllers.hot_nodes.loads import NodeLoads, Slots, loads_of_pools
from stretto.control.controllers.hot_nodes.unloading import PodMoves, PoolMoves
from stretto.control.controllers.movable import MoveLimits
from stretto.framework.profile.capacity.hot_nodes import HotNodeRules
from stretto.state.cluster.cluster import Cluster


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
            rules: pools of nodes and limits of moves.
            limits: returns the limits of moves.
            eligible: predicate (class id, slot): the node rules admit the class.
        """
        self._cluster = cluster
        self._rules = rules
        self._limits = limits
        self._eligible = eligible
        self._due = inf if rules is None else rules.every_seconds
        pools = () if rules is None else rules.pools
        self._abnormal = [AbnormalNodes(pool.anomaly) for pool in pools]
        self._rests: dict[str, float] = {}

    def next_due(self) -> float:
        """Clock time of the next round; infinity without rules."""
        return self._due

    def plan(self, now: float) -> tuple[Move, ...]:
        """Return the moves of a round if one is due."""
        rules, cluster = self._rules, self._cluster
        if rules is None or now < self._due:
            return ()
        self._due = now + rules.every_seconds
        self._rests = {owner: until for owner, until in self._rests.items() if until > now}
        loads = loads_of_pools(cluster, rules)
        rounds = [
            _PoolRound(cluster, each, abnormal)
            for each, abnormal in zip(loads, self._abnormal, strict=True)
        ]
        acting = [(each, hot) for each in rounds if len(hot := each.hot(now, rules))]
        if not acting:
            return ()
        moves = PodMoves(self._limits(), self._eligible, self._rests, [])
        moves.limits.budgets.sync()
        for each, hot in acting:
            each.unload(now, hot, LeavingPods(cluster, rules, each.loads, hot), moves)
        for move in moves.made:
            self._rests[move.owner] = now + rules.rest_seconds
        return tuple(moves.made)


class _PoolRound:
    """One round of one pool."""

    def __init__(self, cluster: Cluster, loads: NodeLoads, abnormal: AbnormalNodes) -> None:
        self._cluster, self._abnormal = cluster, abnormal
        self.loads = loads
        is_open = cluster.nodes.unschedulable[loads.slots] == 0
        self._receivers = np.flatnonzero(loads.is_low & is_open)

    def hot(self, now: float, rules: HotNodeRules) -> Slots:
        """Count the round; returns int64[j], positions of the nodes to unload, the hottest first.

        Empty if the pool has too few receivers.
        """
        hot = np.flatnonzero(self.loads.is_hot)
        is_abnormal = self._abnormal.count(now, self._keys(hot), set(self._keys(self._receivers)))
        if len(self._receivers) < rules.min_receivers:
            return hot[:0]
        long = hot[np.array(is_abnormal, np.bool_)]
        return long[np.argsort(-self.loads.scores[long], kind="stable")]

    def unload(self, now: float, hot: Slots, leaving: LeavingPods, moves: PodMoves) -> None:
        """Add the moves from hot nodes to those of the round, and count its end."""
        pool = PoolMoves(self._cluster, self.loads, self._receivers, moves)
        for place, key in zip(hot.tolist(), self._keys(hot), strict=True):
            if pool.is_spent:
                break
            if pool.unload(place, leaving.of(place)):
                self._abnormal.reset(key)
        self._abnormal.end(now, self._keys(hot))

    def _keys(self, places: Slots) -> list[NodeKey]:
        """Keys of some nodes of the pool."""
        slots = self.loads.slots[places]
        generation = self._cluster.ledger.slots.generation[slots]
        return list(zip(slots.tolist(), generation.tolist(), strict=True))
