"""The binder as a role: reads the shards' decisions, checks them and binds.

The plane of this role sees a decided pod as pending, and its "shard" places the pod where the
annotations say. So a gang waits until enough members are decided; every claim is checked for
resources, labels, taints, cordons, volumes and inter-pod rules; victims are evicted through the
usual lane; and a decision that does not hold is written back for the shard to repeat.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Final

import msgspec

from stretto.api.types.godel import PodGroup, PodGroupPhase
from stretto.api.types.handover_annotations import (
    LOCK,
    LOCK_BINDER,
    Hand,
    HandoverState,
    locked,
    rejected,
)
from stretto.api.wire.kinds import POD, POD_GROUP, Kind
from stretto.base.clock import Clock
from stretto.control.scheduler.loop import LoopId, SchedulingLoop
from stretto.control.scheduler.preemption import ShardPreemption
from stretto.daemons.roles.decided_engine import DecidedEngine, NamedVictimFinder
from stretto.daemons.roles.delays import backoff_after
from stretto.daemons.roles.store_view import SCALE, StoreView, UnboundPod
from stretto.plane.config import PlaneConfig, Step
from stretto.plane.plane import STEP, Plane, Stage, StepWork, Wiring
from stretto.state.rows.lifecycle import UnitState
from stretto.state.work.units import SetbackReason
from stretto.stores.store import (
    Bind,
    Patch,
    Record,
    Replies,
    Reply,
    StatusReason,
    Store,
    WriteOutcome,
)

PATIENCE: Final = 40.0
"""Seconds for which decisions of a gang wait for the rest of it; longer than a rejection takes."""
LOOK_EVERY: Final = 1.0
"""Seconds between checks of waiting gangs."""
DECIDED: Final = (Hand.ASSUMED, Hand.NOMINATED)
"""States of pods that the binder owns."""
_GROUPS: Final = msgspec.json.Decoder(PodGroup)
_HELD_BACK: Final = Reply(
    WriteOutcome.REFUSED, StatusReason.FORBIDDEN, "its PodGroup has timed out"
)
_LATER: Final = Reply(
    WriteOutcome.REFUSED, StatusReason.UNAVAILABLE, "its PodGroup could not be locked"
)


GroupAnnotations = Callable[[str], tuple[str, dict[str, str]] | None]
"""``namespace/name`` of a PodGroup to its uid and annotations; ``None`` if it needs no lock."""


class BinderView(StoreView):
    """Shows decided pods as pending and hides the others."""

    keeps_queues = False

    def __init__(
        self, inner: Store, names: frozenset[str], clock: Clock, annotations_of: GroupAnnotations
    ) -> None:
        """See the pods that ask for one of these scheduler names.

        ``annotations_of`` gives uid and annotations of a PodGroup that must be locked.
        """
        super().__init__(inner, names, clock)
        self._annotations_of = annotations_of
        #: Clock times at which pods of gangs were decided, by uid.
        self.gangs: dict[str, float] = {}
        self._locked: set[str] = set()
        self._refusals: dict[str, tuple[int, float]] = {}

    def sight(self, uid: str, standing: HandoverState) -> str | None:
        """Show decided pods as pending."""
        del uid
        return "" if standing.hand in DECIDED else None

    def delay(self, known: UnboundPod) -> float:
        """Back off pods whose decisions were rejected repeatedly.

        A shard of Stretto has backed off already; a shard of Gödel decides again immediately.
        """
        count, at = self._refusals.get(known.record.uid, (0, 0.0))
        return max(0.0, at + backoff_after(count) - self._clock.monotonic())

    def refused(self, uid: str) -> None:
        """Forget a decision that was written back."""
        count = self._refusals.get(uid, (0, 0.0))[0] + 1
        self._refusals[uid] = count, self._clock.monotonic()

    def noted(self, record: Record, before: UnboundPod | None, after: HandoverState | None) -> None:
        """Record when pods of gangs were decided; forget deleted pods."""
        if after is None:
            self._refusals.pop(record.uid, None)
        if after is None or after.hand not in DECIDED:
            self.gangs.pop(record.uid, None)
        elif after.group:
            self.gangs.setdefault(record.uid, self._clock.monotonic())

    def bind(self, binds: Sequence[Bind]) -> Replies:
        """Bind; first lock the PodGroup of a gang, so that it is not timed out meanwhile."""
        groups: dict[str, Reply | None] = {}
        for bind in binds:
            key = self._group(bind)
            if key and key not in groups:
                groups[key] = self._lock(key)
        wanted = [bind for bind in binds if groups.get(self._group(bind)) is None]
        sent = self._inner.bind(wanted) if wanted else []
        for bind, reply in zip(wanted, sent, strict=True):
            if reply.outcome in (WriteOutcome.OK, WriteOutcome.UNKNOWN):
                self.pinned.setdefault(bind.uid, None)
            else:
                self.forget_binding(bind.uid)
        replies = iter(sent)
        return [groups.get(self._group(bind)) or next(replies) for bind in binds]

    def get(self, kind: Kind, namespace: str, name: str) -> Record | None:
        """The current object, unfiltered, because the outcome of a bind is read from it."""
        if kind is not POD:
            return super().get(kind, namespace, name)
        record = self._inner.get(kind, namespace, name)
        if record is None:
            return None
        return msgspec.structs.replace(record, version=record.version * SCALE)

    def _group(self, bind: Bind) -> str:
        known = self.known.get(bind.uid)
        name = known.standing.group if known is not None else ""
        return f"{bind.namespace}/{name}" if name else ""

    def _lock(self, key: str) -> Reply | None:
        """Lock a group; ``None`` on success, else the reply for its pods."""
        found = self._annotations_of(key)
        if found is None or found[0] in self._locked:
            return None
        uid, notes = found
        if LOCK in notes:
            return None if notes[LOCK] == LOCK_BINDER else _HELD_BACK
        namespace, _, name = key.partition("/")
        reply = self._inner.patch(POD_GROUP, [Patch(namespace, name, locked(), uid=uid)])[0]
        if reply.outcome is not WriteOutcome.OK:
            return _LATER
        if reply.record is not None and _timed_out(reply.record):
            return _HELD_BACK
        self._locked.add(uid)
        return None


def _timed_out(record: Record) -> bool:
    """Whether a PodGroup timed out before it was locked."""
    try:
        return _GROUPS.decode(record.body).status.phase == PodGroupPhase.TIMEOUT
    except (msgspec.DecodeError, RecursionError):
        return False  # an unreadable group was not timed out


class BinderRole:
    """The binder's plane: it reads the shards' decisions, checks them and binds."""

    def __init__(self, config: PlaneConfig, store: Store, clock: Clock) -> None:
        """Build the plane; the store is not read before its first step."""
        names = config.cluster.scheduler_names.union(config.profile.scheduler_names)
        #: The store as the binder sees it.
        self.view = BinderView(store, names, clock, self._notes_of)
        #: Number of rejections by outcome.
        self.counts: Counter[str] = Counter()
        self._give_up_at = float("-inf")
        config = msgspec.structs.replace(config, shards=1, partition=False, report=None)
        wiring = Wiring(
            parts=frozenset(),
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
        preempting = ShardPreemption(plane.cluster, plane.units, finder, plane.clock)
        cures_of = plane.engine.cures_of
        return SchedulingLoop(LoopId(number), engine, plane.cluster.pods, cures_of, preempting)

    def _notes_of(self, key: str) -> tuple[str, dict[str, str]] | None:
        """Uid and annotations of a group; ``None`` for one that needs no lock."""
        group = self.plane.cluster.groups.get(key)
        if group is None or group.spec.min_member < 2:
            return None
        return group.metadata.uid, dict(group.metadata.annotations)

    def _answer(self, step: Step) -> None:
        """Write back decisions that do not hold."""
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

    def _give_up(self, plane: Plane, work: StepWork) -> None:
        """Return decisions about gangs that failed or whose remaining pods do not arrive.

        Such decisions would hold capacity that no gang uses.
        """
        now = work.now
        if now < self._give_up_at or not self.view.gangs:
            return
        self._give_up_at, rows = now + LOOK_EVERY, list[int]()
        for uid, since in self.view.gangs.items():
            row = self.plane.cluster.pods.row(uid)
            unit = self.plane.units.of_row(row) if row is not None else None
            if row is None or unit is None:
                continue
            is_late = now - since >= PATIENCE
            if unit.state is UnitState.FAILED or (is_late and unit.state is UnitState.FORMING):
                rows.append(row)
        work.note(moved=self._reject(rows) > 0)

    def _reject(self, rows: Iterable[int]) -> int:
        """Return decisions to their shards; returns how many."""
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
