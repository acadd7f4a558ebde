"""The rescheduler: carries out a plan of moves within its budgets.

A move is an eviction with a recommendation: the pod is asked to leave through the one lane that all
evictions take (budgets are judged there again), and the node that was found for it is recommended
to the next pod of its owner, for two minutes. Movement objects say so in the store, in Gödel's
form, and an event on each pod. If the successor goes elsewhere after all, nothing is lost but the
move. Where the profile says so a plan is made and carried out every so often; the next one waits
until the last moves are over.
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
from stretto.framework.engine.engine import CompiledProfile
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
    """Plans and carries out moves."""

    def __init__(self, cluster: Cluster, units: Units, store: Store, budgets: BudgetLedger) -> None:
        """Over one plane's cluster and store."""
        self._cluster = cluster
        self._units = units
        self._store = store
        self._budgets = budgets
        #: Moves so far by what became of them: ``planned``, ``asked``, ``followed``, ``lapsed``.
        self.counts: Counter[str] = Counter()
        #: The plan made last; ``None`` before the first.
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
        """Move pods by itself from now on, where there are rules for it.

        Args:
            rules: how often, towards what, and how many.
            lane_of: gives where pods are asked to leave.
            clock: its time.
            tier: kernel tier of the planner.
        """
        self._rules, self._lane_of, self._wall = rules, lane_of, clock.now
        self._tier = tier
        self._due = inf if rules is None else clock.monotonic() + rules.every

    def next_due(self) -> float:
        """Clock time of the next look, or of the end of a recommendation."""
        return min(self._due, min((hint[0] for hint in self._hints), default=inf))

    def step(self, now: float) -> None:
        """Look, if it is time to; nothing new begins while pods are on their way."""
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
        """What could be moved towards a goal, with so many moves at most; nothing is touched."""
        limits = MoveLimits(moves, self._budgets, self._units, self.owner_of)
        if self._engine is None:
            self._engine = packing_engine(self._cluster)
        return MovePlanner(self._engine, limits, tier).plan(goal)

    def carry_out(self, plan: DefragPlan, lane: EvictionOrders, now: float) -> tuple[Move, ...]:
        """Ask the pods of a plan to leave; returns the moves that were begun."""
        rows = tuple(move.row for move in plan.moves)
        order = EvictionOrder(
            rows=rows,
            serials=tuple(move.serial for move in plan.moves),
            cause=EvictionCause.RESCHEDULE,
            reason=f"moved so that {plan.goal.value} come free",
        )
        asked = set(lane.order(order, now))
        begun = tuple(move for move in plan.moves if move.row in asked)
        for move in begun:
            key, pods = f"OwnerUnit/{move.owner}", self._cluster.pods
            self._cluster.recommended.setdefault(key, []).append(move.target)
            self._hints.append((now + WAIT, key, move.target, int(pods.class_id[move.row])))
        self.counts["asked"] += len(begun)
        if begun:
            self._write(begun)
            self._tell(begun, plan.goal)
        return begun

    def witness(self, changes: ClusterChanges, now: float) -> None:
        """See who was bound: a recommendation that was followed is over, and so is an old one."""
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
        """``Kind/namespace/name`` of who makes a pod again; empty where nobody does."""
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

    def _tell(self, moves: tuple[Move, ...], goal: ReschedulingGoal) -> None:
        """An event on each pod that was asked to leave."""
        bodies = []
        for move in moves:
            namespace, _, name = move.pod.partition("/")
            record = self._store.get(POD, namespace, name)
            if record is not None:
                message = (
                    f"asked to leave {move.source} so that {goal.value} come free; "
                    f"{move.target} is recommended to its successor"
                )
                component = min(self._cluster.config.scheduler_names)
                bodies.append(move_event(record, message, component, self._wall()))
        if bodies:
            self._store.create(EVENT, bodies)

    def _write(self, moves: tuple[Move, ...]) -> None:
        """The moves as a Movement, for people and for Gödel's own parts."""
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
