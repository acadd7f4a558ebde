"""What happened to each pod, noted while a plane runs: an observer that keeps columns.

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
from stretto.control.dispatcher.failures import Failure
from stretto.state.claims import Plan, Verdict
from stretto.state.cluster import Cluster
from stretto.state.units import Cure, Setback, Why

STEPS_LIMIT: Final = 4_000_000
"""Steps of pods kept: 48 MB of memory."""


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


class Observed(Protocol):
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
    def failed(self) -> Sequence[Failure]:
        """Units given up."""
        ...


_NO_SLOTS: Final[npt.NDArray[np.int32]] = np.zeros(0, np.int32)


class Recorder:
    """Keeps the steps of a plane's pods; ``plane.observers.append(recorder.observe)``."""

    def __init__(self, cluster: Cluster, start: float, limit: int = STEPS_LIMIT) -> None:
        """Start with nothing; times count from ``start``, a clock time."""
        #: What happened, in order.
        self.batches: list[StepBatch] = []
        #: Steps of pods kept.
        self.kept: int = 0
        #: Steps of pods beyond the limit, which are not kept.
        self.dropped: int = 0
        self._pods = cluster.pods
        self._start = start
        self._limit = limit

    def observe(self, step: Observed) -> None:
        """Note one step of the plane."""
        time = step.now - self._start
        for plan, verdict in zip(step.plans, step.verdicts, strict=True):
            if len(verdict.granted):
                self._note(time, StepKind.PLACED, plan.shard, verdict.granted)
            self._refused(time, plan.shard, verdict.refused)
            if plan.setbacks:
                self._set_back(time, plan.shard, plan.setbacks)
        self._refused(time, -1, step.refusals)
        for failure in step.failed:
            rows = np.array(failure.rows, np.int64)
            self._note(time, StepKind.GIVEN_UP, -1, rows, detail=failure.message)

    def _refused(self, time: float, shard: int, refusals: Refusals) -> None:
        for _, rows, cause in refusals:
            found = np.array(rows, np.int64)
            self._note(time, StepKind.REFUSED, shard, found, detail=cause.value)

    def _set_back(self, time: float, shard: int, setbacks: Sequence[Setback]) -> None:
        """Pods of one plan that found no node, by what could cure them."""
        by_cures: dict[Cure, list[int]] = {}
        for setback in setbacks:
            if setback.why is Why.NO_PLACE:
                by_cures.setdefault(setback.cures, []).extend(setback.rows)
        for cures, rows in by_cures.items():
            found = np.array(rows, np.int64)
            self._note(time, StepKind.NO_PLACE, shard, found, detail=str(int(cures)))

    def _note(
        self, time: float, kind: StepKind, shard: int, rows: npt.NDArray[np.int64], detail: str = ""
    ) -> None:
        if self.kept + len(rows) > self._limit:
            self.dropped += len(rows)
            return
        self.kept += len(rows)
        slots = self._pods.slot[rows] if kind is StepKind.PLACED else _NO_SLOTS
        self.batches.append(StepBatch(time, kind, shard, detail, self._pods.serial[rows], slots))
