"""Process batches in parts: stages for units that a score cannot decide, and runs of units."""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from stretto.framework.compiled.placement import NOT_TRIED, BatchPlacement, PlacementRequest
from stretto.state.work.claims import AwaitedNode, PlacementFailure, VolumeChoice


class PlacingStage(Protocol):
    """Places the units that a runtime cannot place by score alone.

    A runtime offers a batch to its stages in order. The first stage concerned by the batch places
    it, and passes the other units to the stages after it (``Runtime.place_after``).
    """

    @property
    def name(self) -> str:
        """Name in reports."""
        ...

    def sync(self) -> None:
        """Update the state of the stage; the snapshot is already up to date."""
        ...

    def capacity(self, class_id: int, bound: int) -> int:
        """An upper bound of the pods of a class that fit, given the bound from the scores."""
        ...

    def concerns(self, request: PlacementRequest) -> Any | None:
        """The data that the stage needs to place this batch; ``None`` where no unit concerns it."""
        ...

    def place(self, request: PlacementRequest, found: Any) -> BatchPlacement:
        """Place a batch for which ``concerns`` returned a result."""
        ...


class Run(NamedTuple):
    """Units of a request that are placed together."""

    #: The unit after the last.
    last: int
    #: Places them, as a separate request.
    place: Callable[[PlacementRequest], BatchPlacement]


def place_in_turn(request: PlacementRequest, run_from: Callable[[int], Run]) -> BatchPlacement:
    """Place a request run by run, in order; ``run_from`` returns the run that starts at a unit.

    A blocking unit that fails ends the request.
    """
    count, units = len(request.class_ids), len(request.at_least)
    slots, masks = np.full(count, NOT_TRIED, np.int32), np.zeros(count, np.int32)
    reasons: dict[int, PlacementFailure] = {}
    volumes: dict[int, VolumeChoice] = {}
    waits: dict[int, AwaitedNode] = {}
    others: tuple[int, int, int] | None = None
    u = 0
    while u < units:
        run = run_from(u)
        placed = run.place(request.part(u, run.last))
        start, stop = int(request.starts[u]), int(request.starts[run.last])
        slots[start:stop], masks[start:stop] = placed.slots, placed.devices
        reasons.update({start + i: each for i, each in placed.said.items()})
        volumes.update({start + i: each for i, each in placed.volumes.items()})
        waits.update({start + i: each for i, each in placed.waits.items()})
        others = placed.others if others is None else others
        if placed.tried < run.last - u or _is_blocked(request, run.last - 1, slots):
            u += placed.tried
            break
        u = run.last
    return BatchPlacement(slots, masks, u, reasons, volumes, None, others, waits)


def _is_blocked(request: PlacementRequest, u: int, slots: npt.NDArray[np.int32]) -> bool:
    """Whether a unit is a blocking one and failed."""
    if not len(request.blocking) or not request.blocking[u]:
        return False
    placed = int((slots[int(request.starts[u]) : int(request.starts[u + 1])] >= 0).sum())
    return placed < max(1, int(request.at_least[u]))
