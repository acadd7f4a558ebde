"""The binder as a role: it reads the shards' decisions, checks them and binds.

The plane of this role sees a decided pod as pending, and its "shard" places the pod on the node in
the annotations. A gang waits until enough members are decided. Every claim is checked for
resources, labels, taints, cordons, volumes and inter-pod rules. Victims are evicted through the
usual lane. If a check fails, the decision is written back and the shard decides again.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Final

import msgspec

from stretto.api.types.handover_annotations import (
    rejected,
)
from stretto.base.clock import Clock
from stretto.control.reporting.reporter import scheduled_only
from stretto.control.scheduler.loop import LoopHelpers, LoopId, SchedulingLoop
from stretto.control.scheduler.preemption import ShardPreemption
from stretto.daemons.roles.decided_engine import DecidedEngine
from stretto.daemons.roles.named_victims import NamedVictimFinder
from stretto.daemons.roles.views.decided_pods import DECIDED, BinderView
from stretto.plane.config import PlaneConfig, Step
from stretto.plane.plane import STEP, Plane, Stage, Wiring
from stretto.plane.work import Part, StepWork
from stretto.state.rows.lifecycle import UnitState
from stretto.state.work.units import SetbackReason
from stretto.stores.store import (
    Store,
    WriteOutcome,
)

STUCK_AFTER: Final = 40.0
"""Seconds that decisions of a gang wait for its other members; longer than a rejection needs."""
LOOK_EVERY: Final = 1.0
"""Seconds between checks of waiting gangs."""


class BinderRole:
    """The plane of the binder: it reads the shards' decisions, checks them and binds."""

    def __init__(self, config: PlaneConfig, store: Store, clock: Clock) -> None:
        """Build the plane; the store is not read before its first step."""
        names = config.cluster.scheduler_names.union(config.profile.scheduler_names)
        #: The store as the binder sees it.
        self.view = BinderView(store, names, clock, self._notes_of)
        #: Number of rejections by outcome.
        self.counts: Counter[str] = Counter()
        self._give_up_at = float("-inf")
        report = scheduled_only(config.report)
        config = msgspec.structs.replace(config, shards=1, partition=False, report=report)
        wiring = Wiring(
            parts=frozenset({Part.REPORTER}),
            stages=(*STEP, Stage("give-up", self._give_up)),
            make_loop=self._loop,
            timers=(self.view.next_due, self._next_due),
        )
        #: The part of the scheduler that the binder runs.
        self.plane = Plane(config, self.view, clock, wiring=wiring)
        self.plane.observers.append(self._answer)

    def _next_due(self) -> float:
        return self._give_up_at if self.view.gangs else float("inf")

    def _loop(self, plane: Plane, number: int, sub_cluster: str) -> SchedulingLoop:
        """A loop that reads decisions instead of making them, for any sub-cluster."""
        del sub_cluster
        volumes = plane.binder.volumes.late
        engine = DecidedEngine(plane.cluster, self.view, plane.engine.is_eligible, volumes)
        finder = NamedVictimFinder(plane.config.profile.preemption, engine, plane.cluster)
        refused = plane.factory.refused
        preempting = ShardPreemption(plane.cluster, plane.units, finder, refused)
        cures_of = plane.engine.cures_of
        helpers = LoopHelpers(preempting)
        return SchedulingLoop(LoopId(number), engine, plane.cluster.pods, cures_of, helpers)

    def _notes_of(self, key: str) -> tuple[str, dict[str, str]] | None:
        """Uid and annotations of a group; ``None`` for a group that needs no lock."""
        group = self.plane.cluster.groups.get(key)
        if group is None or group.spec.min_member < 2:
            return None
        return group.metadata.uid, dict(group.metadata.annotations)

    def _answer(self, step: Step) -> None:
        """Write back decisions that failed a check."""
        rows: list[int] = []
        for plan in step.plans:
            for setback in plan.setbacks:
                if setback.why is SetbackReason.NO_PLACE:
                    rows.extend(setback.rows)
        for verdict in step.verdicts:
            for _, bad, _ in verdict.refused:
                rows.extend(bad)
        for _, bad, _ in step.refusals:
            rows.extend(bad)
        for failure in step.failed:
            rows.extend(failure.rows)
        for row in rows:
            self.view.forget_binding(self.plane.cluster.pods.uid[row])
        self._reject(dict.fromkeys(rows))

    def _give_up(self, plane: Plane, work: StepWork) -> bool:
        """Return decisions about gangs that failed or whose remaining pods do not arrive.

        Such decisions would hold capacity that no gang uses.
        """
        now = work.now
        if now < self._give_up_at or not self.view.gangs:
            return False
        self._give_up_at, rows = now + LOOK_EVERY, list[int]()
        for uid, since in self.view.gangs.items():
            row = self.plane.cluster.pods.row(uid)
            unit = self.plane.units.of_row(row) if row is not None else None
            if row is None or unit is None:
                continue
            is_late = now - since >= STUCK_AFTER
            if unit.state is UnitState.FAILED or (is_late and unit.state is UnitState.FORMING):
                rows.append(row)
        return self._reject(rows) > 0

    def _reject(self, rows: Iterable[int]) -> int:
        """Return decisions to their shards; return the number of pods."""
        pods, view = self.plane.cluster.pods, self.view
        bodies = {}
        for row in rows:
            known = view.known.get(pods.uid[row])
            if known is not None and known.standing.hand in DECIDED:
                bodies[pods.uid[row]] = rejected(known.standing)
        for uid, reply in zip(bodies, view.hand(bodies), strict=True):
            self.counts[f"reject {reply.outcome.value}"] += 1
            if reply.outcome is WriteOutcome.OK:
                view.refused(uid)
        return len(bodies)


def binder_plane(config: PlaneConfig, store: Store, clock: Clock) -> Plane:
    """The part of the scheduler that the binder runs."""
    return BinderRole(config, store, clock).plane
