"""The stage for units whose nodes are given: backfilled units next to a reservation.

The later stages decide on these nodes only, and apply their rules and scores.
"""

import numpy as np
import numpy.typing as npt

from stretto.framework.compiled.placement import BatchPlacement, PlacementRequest
from stretto.framework.engine.runtime import Runtime
from stretto.framework.engine.turns import Run, place_in_turn


class PinnedStage:
    """Places units on given slots."""

    name = "pinned"

    def __init__(self, runtime: Runtime) -> None:
        """Use one runtime."""
        self._runtime = runtime

    def sync(self) -> None:
        """Do nothing."""

    def capacity(self, class_id: int, bound: int) -> int:
        """Return the bound unchanged."""
        return bound

    def concerns(self, request: PlacementRequest) -> npt.NDArray[np.bool_] | None:
        """bool[pod]: pods with a given slot; ``None`` if there are none."""
        if not len(request.pins):
            return None
        pinned: npt.NDArray[np.bool_] = np.asarray(request.pins, np.int64) >= 0
        return pinned if pinned.any() else None

    def place(self, request: PlacementRequest, found: npt.NDArray[np.bool_]) -> BatchPlacement:
        """Place runs of other units, and units with given slots one by one."""
        units, starts = len(request.at_least), request.starts
        pinned = [bool(found[starts[u] : starts[u + 1]].any()) for u in range(units)]

        def run_from(u: int) -> Run:
            if pinned[u]:
                return Run(u + 1, self._unit)
            last = u + 1
            while last < units and not pinned[last]:
                last += 1
            return Run(last, self._others)

        return place_in_turn(request, run_from)

    def _others(self, part: PlacementRequest) -> BatchPlacement:
        return self._runtime.place_after(self, part._replace(pins=()))

    def _unit(self, part: PlacementRequest) -> BatchPlacement:
        """Place one unit on its slots."""
        mask = np.zeros(self._runtime.columns.size, np.bool_)
        pins = np.asarray(part.pins, np.int64)
        mask[pins[pins >= 0]] = True
        with self._runtime.confined(mask):
            return self._runtime.place_after(self, part)
