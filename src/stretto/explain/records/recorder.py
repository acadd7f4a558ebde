"""Records the history of each pod while a plane runs, in columns.

    recorder = Recorder(plane.cluster, seconds_since(clock.monotonic()), verdicts=plane.verdicts)
    plane.observers.append(recorder.observe)      # decisions
    plane.witnesses.append(recorder.witness)      # arrivals, changes and deletions

A step of a pod costs a few bytes and well under a microsecond: a batch keeps arrays that the plane
has already computed, and names are resolved only for output. Steps beyond ``STEPS_LIMIT`` are
counted but not kept, and the record states how many.
"""

from collections.abc import Sequence
from enum import IntEnum
from typing import Final, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from stretto.base.clock import SecondsOf
from stretto.control.binder.binder import Refusals
from stretto.control.dispatcher.waiting.failures import UnitFailure
from stretto.control.reporting.verdicts import ClassVerdicts
from stretto.explain.words.standing import joined
from stretto.state.cluster.cluster import Cluster
from stretto.state.rows.lifecycle import PodState
from stretto.state.work.changes import ClusterChanges
from stretto.state.work.claims import Plan, Verdict
from stretto.state.work.evictions import EvictionCause, EvictionNews, StartedEvictions
from stretto.state.work.units import Cure, SetbackReason

STEPS_LIMIT: Final = 4_000_000
"""Maximum number of pod steps kept: about 50 MB of memory, plus the names of pods."""


class StepKind(IntEnum):
    """Kind of a step."""

    #: A shard found a node, and the binder granted the claim.
    PLACED = 0
    #: The binder or the store refused a claim.
    REFUSED = 1
    #: A shard found no node.
    NO_PLACE = 2
    #: The unit of the pods failed.
    GIVEN_UP = 3
    #: The pods were created.
    ARRIVED = 4
    #: The store shows them bound.
    BOUND = 5
    #: The pods lost their node or their claim and are pending again.
    RELEASED = 6
    #: The pods finished or were deleted.
    ENDED = 7
    #: A gate, label or annotation of the pending pods changed.
    CHANGED = 8
    #: A node is nominated for the pods; the victims must terminate first.
    NOMINATED = 9
    #: The pods are evicted for a pod of higher priority.
    PREEMPTED = 10
    #: The pods are evicted for a queue that reclaims its guarantee.
    RECLAIMED = 11
    #: The pods are evicted because they run better on another node.
    MOVED = 12
    #: The pods are evicted because their node is over-committed.
    OVERCOMMIT = 13
    #: The pods are evicted because their gang is incomplete.
    GANG_RELEASED = 14
    #: Other pods are evicted for the pods.
    EVICTS = 15
    #: The pods stay: their eviction was refused or withdrawn.
    KEPT = 16


class StepBatch(NamedTuple):
    """One step that happened to many pods at once."""

    #: Seconds of the run; larger than the time of each earlier batch.
    time: float
    #: Kind of the step.
    kind: StepKind
    #: Number of the shard; -1 for none.
    shard: int
    #: Details.
    detail: str
    #: int64[pod]: serials of the pods.
    serials: npt.NDArray[np.int64]
    #: int32[pod]: slots of the nodes; empty for none.
    slots: npt.NDArray[np.int32]


class ObservedStep(Protocol):
    """The observable part of one step of a plane."""

    @property
    def now(self) -> float:
        """Clock time, in seconds."""
        ...

    @property
    def plans(self) -> Sequence[Plan]:
        """Plans of the shards."""
        ...

    @property
    def verdicts(self) -> Sequence[Verdict]:
        """The binder's verdict on each plan."""
        ...

    @property
    def refusals(self) -> Refusals:
        """Claims that the store refused later."""
        ...

    @property
    def failed(self) -> Sequence[UnitFailure]:
        """Units that failed."""
        ...

    @property
    def evictions(self) -> EvictionNews:
        """Evictions that were started or cancelled."""
        ...


class BatchNames(NamedTuple):
    """Names of the pods of one batch."""

    #: int64[pod]: their serials.
    serials: npt.NDArray[np.int64]
    #: Namespaces of the pods.
    spaces: list[str]
    #: Names of the pods.
    names: list[str]


_NO_SLOTS: Final[npt.NDArray[np.int32]] = np.zeros(0, np.int32)
_TICK: Final = 1e-9
"""Seconds between two steps of one instant, so that their times show their order."""
_NAMED: Final = 100
"""Maximum number of victims that one step of the preemptor names."""
_KINDS: Final = {
    EvictionCause.PREEMPTION: StepKind.PREEMPTED,
    EvictionCause.RECLAIM: StepKind.RECLAIMED,
    EvictionCause.RESCHEDULE: StepKind.MOVED,
    EvictionCause.OVER_COMMITTED: StepKind.OVERCOMMIT,
    EvictionCause.GANG: StepKind.GANG_RELEASED,
}
"""Step of a victim, by the cause of its eviction."""


class Recorder:
    """Keeps the steps of a plane's pods."""

    def __init__(
        self,
        cluster: Cluster,
        seconds_of: SecondsOf,
        limit: int = STEPS_LIMIT,
        verdicts: ClassVerdicts | None = None,
    ) -> None:
        """Start an empty recording.

        Args:
            cluster: the cluster of the pods.
            seconds_of: maps clock times to seconds of the run.
            limit: maximum number of pod steps kept.
            verdicts: verdicts of the nodes on unplaced classes; ``None`` omits them.
        """
        #: Kept batches, in order.
        self.batches: list[StepBatch] = []
        #: Number of kept pod steps.
        self.kept: int = 0
        #: Number of pod steps dropped because of the limit.
        self.dropped: int = 0
        #: Names of pods; a pod may be deleted before the end of the run.
        self.names: list[BatchNames] = []
        #: Seconds of the run of each event that may trigger a retry.
        self.wake_events_at: list[float] = []
        #: ``Cure`` bits of each of these events.
        self.wake_event_bits: list[int] = []
        self._pods = cluster.pods
        self._seconds_of = seconds_of
        self._last = -_TICK
        self._limit = limit
        self._verdicts = verdicts

    def witness(self, changes: ClusterChanges, now: float) -> None:
        """Record a batch of cluster changes."""
        time = self._next_time(now)
        if changes.departures:
            gone = np.array([each.serial for each in changes.departures], np.int64)
            self._keep(StepBatch(time, StepKind.ENDED, -1, "", gone, _NO_SLOTS))
        if changes.arrivals:
            self._arrived(np.array([each.row for each in changes.arrivals], np.int64), time)
        for kind, rows in (
            (StepKind.BOUND, changes.bound),
            (StepKind.RELEASED, changes.released),
            (StepKind.CHANGED, [each.row for each in changes.regrouped]),
        ):
            if rows:
                self._note(time, kind, -1, np.array(rows, np.int64))
        if changes.cures and len(self.wake_event_bits) < self._limit:
            self.wake_events_at.append(time)
            self.wake_event_bits.append(int(changes.cures))

    def _arrived(self, rows: npt.NDArray[np.int64], time: float) -> None:
        """Record new pods with their names, because the names must outlive the pods."""
        pods, listed = self._pods, rows.tolist()
        if self.kept + len(listed) <= self._limit:
            spaces = [pods.namespace[row] for row in listed]
            self.names.append(
                BatchNames(pods.serial[rows], spaces, [pods.name[row] for row in listed])
            )
        gated = pods.state[rows] == PodState.GATED
        self._note(time, StepKind.ARRIVED, -1, rows[~gated])
        self._note(time, StepKind.ARRIVED, -1, rows[gated], detail="gated")

    def observe(self, step: ObservedStep) -> None:
        """Record one step of the plane."""
        time = self._next_time(step.now)
        for plan, verdict in zip(step.plans, step.verdicts, strict=True):
            if len(verdict.granted):
                self._note(time, StepKind.PLACED, plan.shard, verdict.granted)
            if len(verdict.nominated):
                self._note(time, StepKind.NOMINATED, plan.shard, verdict.nominated)
            self._refused(time, plan.shard, verdict.refused)
            if plan.setbacks:
                self._set_back(time, plan, step.now)
        self._refused(time, -1, step.refusals)
        for failure in step.failed:
            rows = np.array(failure.rows, np.int64)
            self._note(time, StepKind.GIVEN_UP, -1, rows, detail=failure.message)
        for each in step.evictions.started:
            self._evicted(time, each)
        if step.evictions.cancelled:
            kept = np.array(step.evictions.cancelled, np.int64)
            self._keep(StepBatch(time, StepKind.KEPT, -1, "", kept, _NO_SLOTS))

    def _next_time(self, now: float) -> float:
        """The time of the next batch."""
        self._last = max(self._seconds_of(now), self._last + _TICK)
        return self._last

    def _evicted(self, time: float, eviction: StartedEvictions) -> None:
        """Record evictions, for the victims and for the pods that get the freed capacity."""
        victims = eviction.victims
        serials = np.array([each.serial for each in victims], np.int64)
        slots = np.array([each.slot for each in victims], np.int32)
        kind = _KINDS[eviction.cause]
        self._keep(StepBatch(time, kind, -1, eviction.reason, serials, slots))
        keys = [each.key.split("/", 1) for each in victims]  # pods of others never arrived
        self.names.append(BatchNames(serials, *(list(part) for part in zip(*keys, strict=True))))
        if eviction.beneficiaries:
            named = [f"{v.key} (priority {v.priority:,}) on {v.node}" for v in victims[:_NAMED]]
            more = len(victims) - len(named)
            named += [f"{more:,} more"] if more else []
            why = "" if eviction.cause is EvictionCause.PREEMPTION else eviction.reason
            detail = f"{why}\n{joined(named, 'and')}"
            serials = np.array(eviction.beneficiaries, np.int64)
            self._keep(StepBatch(time, StepKind.EVICTS, -1, detail, serials, _NO_SLOTS))

    def _refused(self, time: float, shard: int, refusals: Refusals) -> None:
        for _, rows, cause in refusals:
            found = np.array(rows, np.int64)
            self._note(time, StepKind.REFUSED, shard, found, detail=cause.value)

    def _set_back(self, time: float, plan: Plan, now: float) -> None:
        """Record the unplaced pods of one plan, grouped by class and retry events."""
        alike: dict[tuple[Cure, int, int, str], list[int]] = {}
        for setback in plan.setbacks:
            if setback.why is SetbackReason.NO_PLACE:
                message = setback.messages[0] if setback.messages else ""
                key = (setback.cures, setback.class_id, setback.unit.still_needed, message)
                alike.setdefault(key, []).extend(setback.rows)
        for (cures, class_id, needed, message), rows in alike.items():
            found = np.array(rows, np.int64)
            detail = f"{int(cures)} {message or self._verdict(class_id, needed, now)}".strip()
            self._note(time, StepKind.NO_PLACE, plan.shard, found, detail=detail)

    def _verdict(self, class_id: int, needed: int, now: float) -> str:
        """Verdict of the nodes on a class whose ``needed`` pods must start together."""
        verdict = self._verdicts.of(class_id, now) if self._verdicts and class_id >= 0 else None
        if verdict is None or not verdict.available:
            return verdict.message if verdict is not None else ""
        if needed < 2:
            return ""
        available = f"{verdict.available}/{verdict.total} nodes are available"
        return f"{available}, but not for {needed} pods together."

    def _note(
        self, time: float, kind: StepKind, shard: int, rows: npt.NDArray[np.int64], detail: str = ""
    ) -> None:
        on_nodes = kind in (StepKind.PLACED, StepKind.BOUND, StepKind.NOMINATED)
        slots = self._pods.slot[rows] if on_nodes else _NO_SLOTS
        self._keep(StepBatch(time, kind, shard, detail, self._pods.serial[rows], slots))

    def _keep(self, batch: StepBatch) -> None:
        """Keep a batch unless the limit is reached."""
        count = len(batch.serials)
        if self.kept + count > self._limit:
            self.dropped += count
        elif count:
            self.kept += count
            self.batches.append(batch)
