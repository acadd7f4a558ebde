"""Place the pods of a unit one after another, each on the snapshot as the one before left it.

For pods with exclusive cores on nodes that promise more than they have: each lowers what its node
promises by an amount that depends on the node, which a kernel over many pods does not charge.
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from stretto.framework.compiled.placement import NOT_TRIED, BatchPlacement, PlacementRequest
from stretto.framework.engine.runtime import Runtime
from stretto.state.work.claims import PlacementFailure

Ids = npt.NDArray[np.int32]


class InTurnPlacer:
    """Places units whose pods lower what their nodes promise."""

    def __init__(
        self, runtime: Runtime, place_alone: Callable[[PlacementRequest], BatchPlacement]
    ) -> None:
        """Use one runtime; ``place_alone`` places a single pod anywhere."""
        self._runtime = runtime
        self._place_alone = place_alone

    def place(self, part: PlacementRequest) -> BatchPlacement:
        """Place one unit: at least its minimum number of pods, or none."""
        count, at_least = len(part.class_ids), max(1, int(part.at_least[0]))
        slots, masks = np.full(count, NOT_TRIED, np.int32), np.zeros(count, np.int32)
        said: dict[int, PlacementFailure] = {}
        failed: set[int] = set()
        placed, others = 0, None
        for i in range(count):
            class_id = int(part.class_ids[i])
            if count - i + placed < at_least:
                break
            slots[i] = -1
            if class_id in failed:
                continue
            found = self._place_alone(part.pod(i))
            slots[i], masks[i] = found.slots[0], found.devices[0]
            others = others or found.others
            if found.said:
                said[i] = found.said[0]
            if slots[i] < 0:
                failed.add(class_id)
                continue
            placed += 1
            self._runtime.hold(class_id, int(slots[i]), int(masks[i]))
        if placed < at_least:
            self._give_back(part, slots, masks)
        return BatchPlacement(slots, masks, 1, said, others=others)

    def _give_back(self, part: PlacementRequest, slots: Ids, masks: Ids) -> None:
        """Remove the pods of a unit from the snapshot, the last one first."""
        for i in reversed(np.flatnonzero(slots >= 0).tolist()):
            self._runtime.give_back(int(part.class_ids[i]), int(slots[i]), int(masks[i]))
        slots[:], masks[:] = -1, 0
