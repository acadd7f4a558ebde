"""What happened to each pod, noted while a plane runs: an observer that keeps columns.

    recorder = Recorder(plane.cluster, clock.monotonic(), verdicts=plane.verdicts)
    plane.observers.append(recorder.observe)      # decisions
    plane.witnesses.append(recorder.witness)      # what came, changed and left

A pod's step costs some bytes and well under a microsecond: a batch is kept as the arrays that the
plane has anyway, and names are looked up only when somebody asks. Beyond ``STEPS_LIMIT`` further
steps are counted and not kept, and the record says so.
"""

from collections.abc import Sequence
from enum import IntEnum
from typing import Final, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from stretto.control.binder.binder import Refusals
from stretto.control.dispatcher.waiting.failures import UnitFailure
from stretto.control.reporting.verdicts import ClassVerdicts
from stretto.state.cluster.cluster import Cluster
from stretto.state.rows.lifecycle import PodState
from stretto.state.work.changes import ClusterChanges
from stretto.state.work.claims import Plan, Verdict
from stretto.state.work.units import Cure, Setback, SetbackReason

STEPS_LIMIT: Final = 4_000_000
"""Steps of pods kept: some 50 MB of memory, and the names of pods."""


class StepKind(IntEnum):
    """What happened to pods."""

    #: A shard found a node, and the binder granted the claim.
    PLACED = 0
    #: The binder or the store refused a claim.
    REFUSED = 1
    #: A shard found no node.
    NO_PLACE = 2
    #: The pods were given up.
    GIVEN_UP = 3
    #: The pods came.
    CAME = 4
    #: The store shows them bound.
    BOUND = 5
    #: They had a node, or nearly, and want one again.
    RELEASED = 6
    #: They ended or were deleted.
    LEFT = 7
    #: A gate, a label or an annotation of them changed while they waited.
    CHANGED = 8
    #: A node is kept for them until others have left it.
    NOMINATED = 9
    #: They were asked to leave their node for somebody else.
    ASKED_TO_LEAVE = 10


class StepBatch(NamedTuple):
    """The same thing that happened to many pods at once."""

    #: Seconds after the start.
    time: float
    #: What happened.
    kind: StepKind
    #: Number of the shard; -1 for none.
    shard: int
    #: More about it.
    detail: str
    #: int64[pod]: serials of the pods.
    serials: npt.NDArray[np.int64]
    #: int32[pod]: slots of their nodes; empty for none.
    slots: npt.NDArray[np.int32]


class ObservedStep(Protocol):
    """What a plane tells of one of its steps."""

    @property
    def now(self) -> float:
        """Clock time, in seconds."""
        ...

    @property
    def plans(self) -> Sequence[Plan]:
        """What the shards proposed."""
        ...

    @property
    def verdicts(self) -> Sequence[Verdict]:
        """What the binder said, one a plan."""
        ...

    @property
    def refusals(self) -> Refusals:
        """Claims that came back later."""
        ...

    @property
    def failed(self) -> Sequence[UnitFailure]:
        """Units given up."""
        ...


class BatchNames(NamedTuple):
    """What pods of one batch are called."""

    #: int64[pod]: their serials.
    serials: npt.NDArray[np.int64]
    #: Their namespaces.
    spaces: list[str]
    #: Their names.
    names: list[str]


_NO_SLOTS: Final[npt.NDArray[np.int32]] = np.zeros(0, np.int32)


class Recorder:
    """Keeps the steps of a plane's pods; ``plane.observers.append(recorder.observe)``."""

    def __init__(
        self,
        cluster: Cluster,
        start: float,
        limit: int = STEPS_LIMIT,
        verdicts: ClassVerdicts | None = None,
    ) -> None:
        """Start with nothing.

        Args:
            cluster: whose pods they are.
            start: clock time from which times count.
            limit: steps of pods that are kept.
            verdicts: tells what the nodes say to pods that found none; ``None`` leaves that out.
        """
        #: What happened, in order.
        self.batches: list[StepBatch] = []
        #: Steps of pods kept.
        self.kept: int = 0
        #: Steps of pods beyond the limit, which are not kept.
        self.dropped: int = 0
        #: What pods are called that may have gone by the end.
        self.names: list[BatchNames] = []
        #: Seconds after the start of each event that may cure a "no".
        self.wake_events_at: list[float] = []
        #: What happened then: ``Cure`` bits.
        self.news: list[int] = []
        self._pods = cluster.pods
        self._start = start
        self._limit = limit
        self._verdicts = verdicts

    def witness(self, changes: ClusterChanges, now: float) -> None:
        """Note a batch of changes of the cluster; ``plane.witnesses.append(recorder.witness)``."""
        time = now - self._start
        if changes.departures:
            gone = np.array([each.serial for each in changes.departures], np.int64)
            self._keep(StepBatch(time, StepKind.LEFT, -1, "", gone, _NO_SLOTS))
        if changes.arrivals:
            self._came(np.array([each.row for each in changes.arrivals], np.int64), time)
        for kind, rows in (
            (StepKind.BOUND, changes.bound),
            (StepKind.RELEASED, changes.released),
            (StepKind.CHANGED, [each.row for each in changes.regrouped]),
        ):
            if rows:
                self._note(time, kind, -1, np.array(rows, np.int64))
        if changes.cures and len(self.news) < self._limit:
            self.wake_events_at.append(time)
            self.news.append(int(changes.cures))

    def _came(self, rows: npt.NDArray[np.int64], time: float) -> None:
        """Pods came: their names must outlive them."""
        pods, listed = self._pods, rows.tolist()
        if self.kept + len(listed) <= self._limit:
            spaces = [pods.namespace[row] for row in listed]
            self.names.append(
                BatchNames(pods.serial[rows], spaces, [pods.name[row] for row in listed])
            )
        gated = pods.state[rows] == PodState.GATED
        self._note(time, StepKind.CAME, -1, rows[~gated])
        self._note(time, StepKind.CAME, -1, rows[gated], detail="gated")

    def observe(self, step: ObservedStep) -> None:
        """Note one step of the plane."""
        time = step.now - self._start
        for plan, verdict in zip(step.plans, step.verdicts, strict=True):
            if len(verdict.granted):
                self._note(time, StepKind.PLACED, plan.shard, verdict.granted)
            if len(verdict.nominated):
                self._nominated(time, plan, verdict)
            self._refused(time, plan.shard, verdict.refused)
            if plan.setbacks:
                self._set_back(step.now, plan.shard, plan.setbacks)
        self._refused(time, -1, step.refusals)
        for failure in step.failed:
            rows = np.array(failure.rows, np.int64)
            self._note(time, StepKind.GIVEN_UP, -1, rows, detail=failure.message)

    def _nominated(self, time: float, plan: Plan, verdict: Verdict) -> None:
        """Nodes are kept for pods, and others asked to leave them."""
        self._note(time, StepKind.NOMINATED, plan.shard, verdict.nominated)
        granted = set(verdict.nominated.tolist())
        for wanted in plan.preemptions:
            claims = plan.units[wanted.claims]
            rows = plan.rows[claims.start : claims.stop].tolist()
            if granted.issuperset(rows) and rows and wanted.victims:
                victims = np.array(wanted.victims, np.int64)
                detail = self._pods.key(rows[0])
                self._note(time, StepKind.ASKED_TO_LEAVE, plan.shard, victims, detail=detail)

    def _refused(self, time: float, shard: int, refusals: Refusals) -> None:
        for _, rows, cause in refusals:
            found = np.array(rows, np.int64)
            self._note(time, StepKind.REFUSED, shard, found, detail=cause.value)

    def _set_back(self, now: float, shard: int, setbacks: Sequence[Setback]) -> None:
        """Pods of one plan that found no node, by their class and what could cure them."""
        alike: dict[tuple[Cure, int, int, str], list[int]] = {}
        for setback in setbacks:
            if setback.why is SetbackReason.NO_PLACE:
                words = setback.messages[0] if setback.messages else ""
                key = (setback.cures, setback.class_id, setback.unit.still_needed, words)
                alike.setdefault(key, []).extend(setback.rows)
        for (cures, class_id, needed, words), rows in alike.items():
            found = np.array(rows, np.int64)
            detail = f"{int(cures)} {words or self._said(class_id, needed, now)}".strip()
            self._note(now - self._start, StepKind.NO_PLACE, shard, found, detail=detail)

    def _said(self, class_id: int, needed: int, now: float) -> str:
        """What the nodes say to a class of which so many are needed, where they may be asked."""
        said = self._verdicts.of(class_id, now) if self._verdicts and class_id >= 0 else None
        if said is None or not said.available:
            return said.message if said is not None else ""
        if needed < 2:
            return ""
        room = f"{said.available}/{said.total} nodes are available"
        return f"{room}, and not for {needed} pods together."

    def _note(
        self, time: float, kind: StepKind, shard: int, rows: npt.NDArray[np.int64], detail: str = ""
    ) -> None:
        on_nodes = kind in (StepKind.PLACED, StepKind.BOUND, StepKind.NOMINATED)
        slots = self._pods.slot[rows] if on_nodes else _NO_SLOTS
        self._keep(StepBatch(time, kind, shard, detail, self._pods.serial[rows], slots))

    def _keep(self, batch: StepBatch) -> None:
        """Keep a batch, as long as there is room."""
        count = len(batch.serials)
        if self.kept + count > self._limit:
            self.dropped += count
        elif count:
            self.kept += count
            self.batches.append(batch)
