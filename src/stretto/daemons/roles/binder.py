"""The binder as a role: takes the shards' decisions, checks them against the truth, and binds.

To the plane behind it a decided pod is one that wants a node, and its "shard" places it where the
annotations say. So a gang waits until enough of it is decided, every claim is judged like one of
our own (room, labels, taints, cordons, volumes, rules between pods), victims are asked to leave by
the same lane, and whatever does not hold is written back for the shard to decide again.
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
from stretto.control.scheduler.loop import SchedulingLoop
from stretto.control.scheduler.preemption import ShardPreemption
from stretto.control.scheduler.shard import Shard
from stretto.daemons.roles.decided_engine import DecidedEngine, NamedVictimFinder
from stretto.daemons.roles.delays import backoff_after
from stretto.daemons.roles.store_view import SCALE, StoreView, UnboundPod
from stretto.plane import Plane, PlaneConfig, Step
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
"""Seconds for which decisions of a gang wait for the rest of it: more than any refusal takes."""
LOOK_EVERY: Final = 1.0
"""Seconds between two looks at gangs that wait."""
DECIDED: Final = (Hand.ASSUMED, Hand.NOMINATED)
"""Pods in the binder's hands."""
_GROUPS: Final = msgspec.json.Decoder(PodGroup)
_HELD_BACK: Final = Reply(WriteOutcome.REFUSED, StatusReason.FORBIDDEN, "its PodGroup was given up")
_LATER: Final = Reply(
    WriteOutcome.REFUSED, StatusReason.UNAVAILABLE, "its PodGroup could not be locked"
)


class BinderView(StoreView):
    """Pods with a decision want a node; the others are no business of the binder's."""

    keeps_queues = False

    def __init__(self, inner: Store, names: frozenset[str], clock: Clock) -> None:
        """See the pods that ask for one of these scheduler names."""
        super().__init__(inner, names, clock)
        #: Tells the annotations of a PodGroup by ``namespace/name``; ``None`` where it needs none.
        self.notes_of: Callable[[str], tuple[str, dict[str, str]] | None] = lambda _key: None
        #: Clock times since which pods of gangs have been decided, by uid.
        self.gangs: dict[str, float] = {}
        self._locked: set[str] = set()
        self._refusals: dict[str, tuple[int, float]] = {}

    def sight(self, uid: str, standing: HandoverState) -> str | None:
        """Decided, or none of our business."""
        del uid
        return "" if standing.hand in DECIDED else None

    def delay(self, known: UnboundPod) -> float:
        """A decision that is made again and again, however often it is refused, waits.

        A shard of ours has waited as long already; Gödel's decides again at once.
        """
        count, at = self._refusals.get(known.record.uid, (0, 0.0))
        return max(0.0, at + backoff_after(count) - self._clock.monotonic())

    def refused(self, uid: str) -> None:
        """A decision about a pod has gone back."""
        count = self._refusals.get(uid, (0, 0.0))[0] + 1
        self._refusals[uid] = count, self._clock.monotonic()

    def noted(self, record: Record, before: UnboundPod | None, after: HandoverState | None) -> None:
        """Remember since when pods of gangs have been decided, and forget who has gone."""
        if after is None:
            self._refusals.pop(record.uid, None)
        if after is None or after.hand not in DECIDED:
            self.gangs.pop(record.uid, None)
        elif after.group:
            self.gangs.setdefault(record.uid, self._clock.monotonic())

    def bind(self, binds: Sequence[Bind]) -> Replies:
        """Bind; a gang's PodGroup is locked first, so that nobody times it out meanwhile."""
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
        """The object as it is now; nothing is hidden from who looks what became of a binding."""
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
        """Lock a group; ``None`` where that is done, else why its pods are not bound now."""
        found = self.notes_of(key)
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
    """Whether a PodGroup was given up before it was locked."""
    try:
        return _GROUPS.decode(record.body).status.phase == PodGroupPhase.TIMEOUT
    except (msgspec.DecodeError, RecursionError):
        return False  # what cannot be read was not given up by anybody


class BinderPlane(Plane):
    """The part of a plane that the binder runs."""

    def __init__(self, config: PlaneConfig, store: Store, clock: Clock) -> None:
        """Nothing is read before the first step."""
        names = config.cluster.scheduler_names.union(config.profile.scheduler_names)
        #: The store as the binder sees it.
        self.view = BinderView(store, names, clock)
        #: What was written back, by outcome.
        self.counts: Counter[str] = Counter()
        config = msgspec.structs.replace(config, shards=1, partition=False, report=None)
        super().__init__(config, self.view, clock)
        self.view.notes_of = self._notes_of
        self.rescheduler.run(None, lambda: self.evictor, clock)  # the controller moves pods
        self.relief.run(None, clock.monotonic())
        self.observers.append(self._answer)
        self._look_at = float("-inf")

    def step(self) -> bool:
        """Pass one batch along the way, and let go of what has waited too long."""
        moved = super().step()
        return self._let_go(self.clock.monotonic()) > 0 or moved

    def next_due(self) -> float:
        """Clock time at which there is something to do although no event comes."""
        look = self._look_at if self.view.gangs else float("inf")
        return min(super().next_due(), self.view.next_due(), look)

    def _new_shard(self, number: int) -> Shard:
        """A shard of one loop: where pods go was decided, whatever their sub-cluster."""
        return Shard(number, lambda each: self._new_loop(number, each), None, self.clock)

    def _new_loop(self, number: int, sub_cluster: str) -> SchedulingLoop:
        del sub_cluster
        decided = DecidedEngine(self.cluster, self.view, self.engine.is_eligible)
        decided.volumes = self.binder.volumes.late
        loop = SchedulingLoop(number, decided, self.cluster.pods, self.engine.cures_of)
        finder = NamedVictimFinder(self.config.profile.preemption, decided, self.cluster)
        loop.preempting = ShardPreemption(self.cluster, self.units, finder, self.clock)
        return loop

    def _notes_of(self, key: str) -> tuple[str, dict[str, str]] | None:
        """Uid and annotations of a group of several; ``None`` for one that needs no lock."""
        group = self.cluster.groups.get(key)
        if group is None or group.spec.min_member < 2:
            return None
        return group.metadata.uid, dict(group.metadata.annotations)

    def _answer(self, step: Step) -> None:
        """Write back what does not hold."""
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
            self.view.forget_binding(self.cluster.pods.uid[row])
        self._reject(dict.fromkeys(rows))

    def _let_go(self, now: float) -> int:
        """Decisions about gangs that were given up, or of which the rest does not come, go back.

        They would hold room for nobody. Returns how many there are.
        """
        if now < self._look_at or not self.view.gangs:
            return 0
        self._look_at, rows = now + LOOK_EVERY, list[int]()
        for uid, since in self.view.gangs.items():
            row = self.cluster.pods.row(uid)
            unit = self.units.of_row(row) if row is not None else None
            if row is None or unit is None:
                continue
            is_late = now - since >= PATIENCE
            if unit.state is UnitState.FAILED or (is_late and unit.state is UnitState.FORMING):
                rows.append(row)
        return self._reject(rows)

    def _reject(self, rows: Iterable[int]) -> int:
        """Decisions that do not hold go back to whoever made them; returns how many."""
        pods, view = self.cluster.pods, self.view
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
