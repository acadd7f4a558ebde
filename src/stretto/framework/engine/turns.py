"""Batches in parts: the stages that place units by more than a score, and runs of units in turn."""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from stretto.framework.compiled.placement import NOT_TRIED, BatchPlacement, PlacementRequest
from stretto.state.work.claims import AwaitedNode, PlacementFailure, VolumeChoice


class PlacingStage(Protocol):
    """Places the units that a runtime cannot place by score alone.

    A runtime asks its stages in order. The first that a batch concerns places it, and hands the
    units that are not its own to the stages after it (``Runtime.place_after``).
    """

    @property
    def name(self) -> str:
        """Name in reports."""
        ...

    def sync(self) -> None:
        """Bring what the stage keeps up to date; the snapshot is up to date already."""
        ...

    def room(self, class_id: int, bound: int) -> int:
        """An upper bound of how many pods of a class fit now, given one by the scores."""
        ...

    def concerns(self, request: PlacementRequest) -> Any | None:
        """What the stage needs to place this batch; ``None`` where no unit concerns it."""
        ...

    def place(self, request: PlacementRequest, found: Any) -> BatchPlacement:
        """Place a batch of which ``concerns`` found something."""
        ...


class Run(NamedTuple):
    """Units of a request that are placed together."""

    #: The unit after the last.
    last: int
    #: Places them, as a request of their own.
    place: Callable[[PlacementRequest], BatchPlacement]


def place_in_turn(request: PlacementRequest, run_from: Callable[[int], Run]) -> BatchPlacement:
    """Place a request run by run, in order; ``run_from`` gives the run that begins at a unit.

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
