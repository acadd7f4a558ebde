"""Processes batches in parts: stages for units that a score cannot decide, and runs of units."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from stretto.framework.compiled.placement import NOT_TRIED, BatchPlacement, PlacementRequest
from stretto.state.work.claims import AwaitedNode, PlacementFailure, VolumeChoice

Ids = npt.NDArray[np.int32]
GiveBack = Callable[[int, int, int], None]
"""Removes a pod of a class from a slot, with its devices."""


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
        """Upper bound of the pods of a class that fit, given the bound from the scores."""
        ...

    def concerns(self, request: PlacementRequest) -> Any | None:
        """Data that the stage needs to place this batch.

        ``None`` if the stage applies to no unit.
        """
        ...

    def place(self, request: PlacementRequest, found: Any) -> BatchPlacement:
        """Place a batch for which ``concerns`` returned a result."""
        ...


class Run(NamedTuple):
    """Units of a request that are placed together."""

    #: Index after the last unit.
    last: int
    #: Places the units, as a separate request.
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
    """Return whether a unit is a blocking one and failed."""
    if not len(request.blocking) or not request.blocking[u]:
        return False
    placed = int((slots[int(request.starts[u]) : int(request.starts[u + 1])] >= 0).sum())
    return placed < max(1, int(request.at_least[u]))


def place_members(classes: Sequence[int], goal: int, place: Callable[[int], bool]) -> int:
    """Place the pods of a unit one by one, until ``goal`` is out of reach.

    A class that does not fit is tried again after the next pod that fits: it may require that pod.

    Args:
        classes: the class of each pod.
        goal: the minimum number of pods to place.
        place: places the pod with an index and returns whether it fits.

    Returns:
        The number of placed pods.
    """
    placed, failed = 0, set[int]()
    for i, class_id in enumerate(classes):
        if len(classes) - i + placed < goal:
            break
        if class_id in failed:
            continue
        if place(i):
            placed += 1
            failed.clear()
        else:
            failed.add(class_id)
    return placed


def give_back_members(part: PlacementRequest, slots: Ids, masks: Ids, give_back: GiveBack) -> None:
    """Remove the pods of a unit from the snapshot, the last one first, and clear their results."""
    for i in reversed(np.flatnonzero(slots >= 0).tolist()):
        give_back(int(part.class_ids[i]), int(slots[i]), int(masks[i]))
    slots[:], masks[:] = -1, 0
