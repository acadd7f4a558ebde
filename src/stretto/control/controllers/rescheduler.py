"""The rescheduler: executes a plan of moves within its limits.

A move is an eviction with a recommendation. The pod is evicted through the lane that all evictions
share, where disruption budgets are checked again, and its target node is recommended to the next
pod of its owner for two minutes. A Movement object in Gödel's format and an event on each pod
document the moves. If the successor gets another node, only the move is wasted. If the profile
enables it, a plan is made and executed periodically; a new plan waits for the end of the last
moves.
"""

from collections import Counter
from collections.abc import Callable
from math import inf
from typing import Final

import msgspec

from stretto.api.types.heads import NO_BYTES, decode_pod_head
from stretto.api.wire.kinds import EVENT, MOVEMENT, POD
from stretto.api.wire.meta import OwnerReference
from stretto.base.clock import Clock
from stretto.control.controllers.evictions import EvictionOrders, EvictionOrdersOf
from stretto.control.controllers.move_plan import (
    DefragPlan,
    Move,
    MoveLimits,
    MovePlanner,
    packing_engine,
)
from stretto.control.controllers.movements import Movements
from stretto.control.controllers.owners import recreating_owner
from stretto.control.reporting.wording import move_event
from stretto.framework.engine.runtime import CompiledProfile
from stretto.state.cluster.cluster import Cluster
from stretto.state.ingest.node_reports import OWN_MOVES
from stretto.state.victims.budgets import BudgetLedger
from stretto.state.work.changes import ClusterChanges
from stretto.state.work.evictions import EvictionCause, EvictionOrder
from stretto.state.work.rescheduling import ReschedulingGoal, ReschedulingRules
from stretto.state.work.units import Units
from stretto.stores.store import Patch, Store

WAIT: Final = 120.0
"""Seconds for which a node is recommended (Gödel's maxWaitingDeletionDuration)."""
_OWNERS: Final = msgspec.json.Decoder(tuple[OwnerReference, ...])


class Rescheduler:
    """Plans and executes moves."""

    def __init__(self, cluster: Cluster, units: Units, store: Store, budgets: BudgetLedger) -> None:
        """Use a plane's cluster, units, store and budgets."""
        self._cluster = cluster
        self._units = units
        self._store = store
        self._budgets = budgets
        #: Number of moves so far by outcome: ``planned``, ``asked``, ``followed``, ``lapsed``.
        self.counts: Counter[str] = Counter()
        #: The last plan; ``None`` before the first.
        self.latest: DefragPlan | None = None
        self._hints: list[tuple[float, str, str, int]] = []
        self._round = 0
        self._rules: ReschedulingRules | None = None
        self._lane_of: EvictionOrdersOf | None = None
        self._wall: Callable[[], float] = lambda: 0.0
        self._due, self._tier = inf, "auto"
        self._engine: CompiledProfile | None = None
        self._others = Movements(cluster, units, store)

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
            clock: its clock.
            tier: kernel tier of the planner.
        """
        self._rules, self._lane_of, self._wall = rules, lane_of, clock.now
        self._tier = tier
        self._due = inf if rules is None else clock.monotonic() + rules.every

    def next_due(self) -> float:
        """Clock time of the next plan or of the end of a recommendation."""
        return min(self._due, min((hint[0] for hint in self._hints), default=inf))

    def step(self, now: float) -> None:
        """Make and execute a plan if it is due and no move is in progress."""
        self._expire_plan(now)
        if self._rules is None or now < self._due:
            return
        self._due = now + self._rules.every
        if self._hints or self._lane_of is None:
            return
        plan = self.latest = self.plan(self._rules.goal, self._rules.moves, self._tier)
        self.counts["planned"] += len(plan.moves)
        if plan.moves and not self._rules.dry_run:
            self.carry_out(plan, self._lane_of(), now)

    def plan(self, goal: ReschedulingGoal, moves: int, tier: str = "auto") -> DefragPlan:
        """Plan up to ``moves`` moves for a goal; nothing is written."""
        limits = MoveLimits(moves, self._budgets, self._units, self.owner_of)
        if self._engine is None:
            self._engine = packing_engine(self._cluster)
        return MovePlanner(self._engine, limits, tier).plan(goal)

    def carry_out(self, plan: DefragPlan, lane: EvictionOrders, now: float) -> tuple[Move, ...]:
        """Evict the pods of a plan; returns the moves that were started."""
        rows = tuple(move.row for move in plan.moves)
        order = EvictionOrder(
            rows=rows,
            serials=tuple(move.serial for move in plan.moves),
            cause=EvictionCause.RESCHEDULE,
            reason=f"moved to free {plan.goal.value}",
        )
        evicted = set(lane.order(order, now))
        begun = tuple(move for move in plan.moves if move.row in evicted)
        for move in begun:
            key, pods = f"OwnerUnit/{move.owner}", self._cluster.pods
            self._cluster.recommended.setdefault(key, []).append(move.target)
            self._hints.append((now + WAIT, key, move.target, int(pods.class_id[move.row])))
        self.counts["asked"] += len(begun)
        if begun:
            self._write(begun)
            self._write_events(begun, plan.goal)
        return begun

    def witness(self, changes: ClusterChanges, now: float) -> None:
        """Process bound pods: end recommendations that were followed or have expired."""
        pods, cluster = self._cluster.pods, self._cluster
        self._others.bound(changes.bound)
        for row in changes.bound if self._hints else ():
            node, class_id = cluster.node_of(row), int(pods.class_id[row])
            found = next((h for h in self._hints if h[2] == node and h[3] == class_id), None)
            if found is not None:
                self.counts["followed"] += 1
                self._forget(found)
        self._expire_plan(now)

    def _expire_plan(self, now: float) -> None:
        for hint in [each for each in self._hints if each[0] <= now]:
            self.counts["lapsed"] += 1
            self._forget(hint)

    def owner_of(self, row: int) -> str:
        """``Kind/namespace/name`` of the controller that recreates a pod; empty without one."""
        pods = self._cluster.pods
        record = self._store.get(POD, pods.namespace[row], pods.name[row])
        if record is None or record.uid != pods.uid[row]:
            return ""
        text = decode_pod_head(record.body).metadata.owner_references
        owners = _OWNERS.decode(text) if text is not NO_BYTES else ()
        maker = recreating_owner(owners)
        return f"{maker.kind}/{pods.namespace[row]}/{maker.name}" if maker is not None else ""

    def _forget(self, hint: tuple[float, str, str, int]) -> None:
        self._hints.remove(hint)
        nodes = self._cluster.recommended.get(hint[1], [])
        if hint[2] in nodes:
            nodes.remove(hint[2])
        if not nodes:
            self._cluster.recommended.pop(hint[1], None)

    def _write_events(self, moves: tuple[Move, ...], goal: ReschedulingGoal) -> None:
        """Write an event on each evicted pod."""
        bodies = []
        for move in moves:
            namespace, _, name = move.pod.partition("/")
            record = self._store.get(POD, namespace, name)
            if record is not None:
                message = (
                    f"evicted from {move.source} to free {goal.value}; "
                    f"{move.target} is recommended for its successor"
                )
                component = min(self._cluster.config.scheduler_names)
                bodies.append(move_event(record, message, component, self._wall()))
        if bodies:
            self._store.create(EVENT, bodies)

    def _write(self, moves: tuple[Move, ...]) -> None:
        """Write the moves as a Movement object, for users and for Gödel's components."""
        self._round += 1
        pods = self._cluster.pods
        deleted = [
            {
                "name": pods.name[m.row],
                "namespace": pods.namespace[m.row],
                "uid": pods.uid[m.row],
                "node": m.source,
            }
            for m in moves
        ]
        owners = [
            {"owner": _owner_info(owner), "recommendedNodes": _nodes_of(owner, moves)}
            for owner in sorted({move.owner for move in moves})
        ]
        body = {
            "apiVersion": MOVEMENT.api_version,
            "kind": MOVEMENT.kind,
            "metadata": {"generateName": "defragment-"},
            "spec": {"creator": OWN_MOVES, "generation": self._round, "deletedTasks": deleted},
        }
        (reply,) = self._store.create(MOVEMENT, [msgspec.json.encode(body)])
        if reply.record is not None:
            status = {"status": {"owners": owners}}
            self._store.patch_status(MOVEMENT, [Patch("", reply.record.name, status)])


def _owner_info(owner: str) -> dict[str, str]:
    kind, namespace, name = owner.split("/", 2)
    return {"type": kind, "namespace": namespace, "name": name}


def _nodes_of(owner: str, moves: tuple[Move, ...]) -> list[dict[str, object]]:
    targets = [move.target for move in moves if move.owner == owner]
    return [{"node": n, "desiredPodCount": targets.count(n)} for n in sorted(set(targets))]
