"""Places the pods of a unit one after another, each on the snapshot after the previous placement.

This is for pods with exclusive cores on overcommitted nodes: each pod lowers the promised amount of
its node by an amount that depends on the node. A kernel over many pods does not charge this amount.
"""

from collections.abc import Callable

import numpy as np

from stretto.framework.compiled.placement import BatchPlacement, PlacementRequest
from stretto.framework.engine.runtime import Runtime
from stretto.framework.engine.turns import give_back_members, place_members
from stretto.state.work.claims import PlacementFailure


class InTurnPlacer:
    """Places units whose pods lower the promised amounts of their nodes."""

    def __init__(
        self, runtime: Runtime, place_alone: Callable[[PlacementRequest], BatchPlacement]
    ) -> None:
        """Use one runtime; ``place_alone`` places a single pod and holds its exclusive amounts."""
        self._runtime = runtime
        self._place_alone = place_alone

    def place(self, part: PlacementRequest) -> BatchPlacement:
        """Place one unit: at least its minimum number of pods, or none."""
        class_ids, at_least = [int(each) for each in part.class_ids], max(1, int(part.at_least[0]))
        slots, masks = np.full(len(class_ids), -1, np.int32), np.zeros(len(class_ids), np.int32)
        said: dict[int, PlacementFailure] = {}
        others: tuple[int, int, int] | None = None

        def place(i: int) -> bool:
            nonlocal others
            found = self._place_alone(part.pod(i))
            slots[i], masks[i] = found.slots[0], found.devices[0]
            others = others or found.others
            if found.said:
                said[i] = found.said[0]
            return bool(slots[i] >= 0)

        if place_members(class_ids, at_least, place) < at_least:
            give_back_members(part, slots, masks, self._runtime.give_back)
        return BatchPlacement(slots, masks, 1, said, others=others)
