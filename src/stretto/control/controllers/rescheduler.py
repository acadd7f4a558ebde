"""The rescheduler: executes a plan of moves within its limits.

A move is an eviction with a recommendation. The pod is evicted through the lane that all evictions
share, where disruption budgets are checked again, and its target node is recommended to the next
pod of its owner for two minutes. A Movement object in Gödel's format and an event on each pod
document the moves. If the successor gets another node, the move has no benefit but does no harm. If
the profile enables it, a plan is made and executed periodically. A new plan waits for the end of
the last moves.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import groupby
from math import inf
from typing import Final, NamedTuple

from stretto.base.clock import Clock
from stretto.control.controllers.evictions import EvictionOrders, EvictionOrdersOf
from stretto.control.controllers.fragmentation import Move
from stretto.control.controllers.move_plan import DefragPlan
from stretto.control.controllers.movements import Movements
from stretto.control.controllers.packing import PackingPlanner
from stretto.control.controllers.records_of_moves import MoveRecords
from stretto.state.cluster.cluster import Cluster
from stretto.state.work.changes import ClusterChanges
from stretto.state.work.evictions import EvictionCause, EvictionOrder
from stretto.state.work.rescheduling import ReschedulingRules
from stretto.stores.store import Store

WAIT: Final = 120.0
"""Seconds for which a node is recommended (Gödel's maxWaitingDeletionDuration)."""


class _RecommendedNode(NamedTuple):
    """The target node of a move, recommended to the successor of the moved pod."""

    #: Clock time at which the recommendation ends, in seconds.
    until: float
    #: Key of the unit of the successor.
    unit: str
    #: Name of the node.
    node: str
    #: Class of the moved pod.
    class_id: int
    #: Serial of the latest pod when the move started: the serial of a successor is larger.
    latest: int


class Rescheduler:
    """Plans and executes moves."""

    def __init__(
        self, cluster: Cluster, store: Store, planner: PackingPlanner, movements: Movements
    ) -> None:
        """Move pods of a cluster with a planner.

        ``movements`` tracks Movements of other writers.
        """
        self._cluster = cluster
        self._planner = planner
        self._records = MoveRecords(cluster, store)
        #: Number of moves so far by outcome: ``planned``, ``requested``, ``followed``, ``lapsed``.
        self.counts: Counter[str] = Counter()
        #: The last plan; ``None`` before the first.
        self.latest: DefragPlan | None = None
        self._hints: list[_RecommendedNode] = []
        self._rules: ReschedulingRules | None = None
        self._lane_of: EvictionOrdersOf | None = None
        self._wall: Callable[[], float] = lambda: 0.0
        self._due, self._tier = inf, "auto"
        self._others = movements

    def run(
        self,
        rules: ReschedulingRules | None,
        lane_of: EvictionOrdersOf,
        clock: Clock,
        tier: str = "auto",
    ) -> None:
        """Start periodic moves, if there are rules.

        Args:
            rules: interval, goal and limit.
            lane_of: returns the receiver of eviction orders.
            clock: the clock of the process.
            tier: kernel tier of the planner.
        """
        self._rules, self._lane_of, self._wall = rules, lane_of, clock.now
        self._tier = tier
        self._due = inf if rules is None else clock.monotonic() + rules.every

    def next_due(self) -> float:
        """Clock time of the next plan or of the end of a recommendation."""
        return min(self._due, min((hint.until for hint in self._hints), default=inf))

    def step(self, now: float) -> None:
        """Make and execute a plan if it is due and no move is in progress."""
        self._expire_plan(now)
        if self._rules is None or now < self._due:
            return
        self._due = now + self._rules.every
        if self._hints or self._lane_of is None:
            return
        plan = self.latest = self._planner.plan(self._rules.goal, self._rules.moves, self._tier)
        self.counts["planned"] += len(plan.moves)
        if plan.moves and not self._rules.dry_run:
            self.carry_out(plan, self._lane_of(), now)

    def carry_out(self, plan: DefragPlan, lane: EvictionOrders, now: float) -> tuple[Move, ...]:
        """Evict the pods of a plan; returns the moves that were started.

        If one pod of a node or GPU may not be evicted, all of its pods stay.
        """
        return self._start(plan.moves, f"free {plan.goal.value}", lane, now)

    def unload(self, moves: Sequence[Move], now: float) -> None:
        """Evict pods from hot nodes, independently of one another."""
        self.counts["planned"] += len(moves)
        if moves and self._lane_of is not None:
            single = [move._replace(step=i) for i, move in enumerate(moves)]
            self._start(single, "unload its hot node", self._lane_of(), now)

    def _start(
        self, planned: Sequence[Move], why: str, lane: EvictionOrders, now: float
    ) -> tuple[Move, ...]:
        """Evict pods, and recommend their nodes to their successors."""
        begun: list[Move] = []
        for _, step in groupby(planned, key=lambda move: move.step):
            moves = list(step)
            rows, serials = [move.row for move in moves], [move.serial for move in moves]
            if lane.permits(rows, serials, now):
                begun += [move for move in moves if lane.order(_order(move, why), now)]
        latest = int(self._cluster.pods.serial[: self._cluster.pods.length].max(initial=0))
        for move in begun:
            key, pods = f"OwnerUnit/{move.owner}", self._cluster.pods
            self._cluster.recommended.setdefault(key, []).append(move.target)
            class_id = int(pods.class_id[move.row])
            self._hints.append(_RecommendedNode(now + WAIT, key, move.target, class_id, latest))
        self.counts["requested"] += len(begun)
        if begun:
            self._records.write_movement(tuple(begun))
            self._records.write_events(tuple(begun), why, self._wall())
        return tuple(begun)

    def witness(self, changes: ClusterChanges, now: float) -> None:
        """Process bound pods: end recommendations that were followed or have expired."""
        pods, cluster = self._cluster.pods, self._cluster
        if cluster.movements:
            self._others.bound(changes.bound)
        for row in changes.bound if self._hints else ():
            bound = cluster.node_of(row), int(pods.class_id[row])
            serial = int(pods.serial[row])
            found = next(
                (h for h in self._hints if (h.node, h.class_id) == bound and h.latest < serial),
                None,
            )
            if found is not None:
                self.counts["followed"] += 1
                self._forget(found)
        self._expire_plan(now)

    def _expire_plan(self, now: float) -> None:
        for hint in [each for each in self._hints if each.until <= now]:
            self.counts["lapsed"] += 1
            self._forget(hint)

    def _forget(self, hint: _RecommendedNode) -> None:
        self._hints.remove(hint)
        nodes = self._cluster.recommended.get(hint.unit, [])
        if hint.node in nodes:
            nodes.remove(hint.node)
        if not nodes:
            self._cluster.recommended.pop(hint.unit, None)


def _order(move: Move, why: str) -> EvictionOrder:
    """The eviction of a moved pod; its reason names the recommended node."""
    reason = f"moved to {why}; {move.target} is recommended for its successor"
    return EvictionOrder((move.row,), (move.serial,), EvictionCause.RESCHEDULE, reason)
