"""Request and result of a runtime: a batch of units and their placements."""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from stretto.state.work.claims import AwaitedNode, PlacementFailure, SnapshotBasis, VolumeChoice

NOT_TRIED: Final = -2
"""Result of pods that a batch did not reach."""


class BatchPlacement(NamedTuple):
    """Result of a batch."""

    #: int32[pod]: slots; -1 for pods that do not fit, -2 for pods that were not tried.
    slots: npt.NDArray[np.int32]
    #: int32[pod]: bit masks of devices.
    devices: npt.NDArray[np.int32]
    #: Number of tried units; fewer than requested if a blocking unit failed.
    tried: int
    #: Reasons of pods without a place, by index; empty if the class determines the reason.
    said: Mapping[int, PlacementFailure] = {}
    #: Volumes that pods get with their places, by index.
    volumes: Mapping[int, VolumeChoice] = {}
    #: Basis of the snapshot; if unchanged at the commit, the claims need no second check.
    basis: SnapshotBasis | None = None
    #: Counts and nodes on which the result of other pods depends; ``None`` if there are none.
    others: tuple[int, int, int] | None = None
    #: Nodes that pods without a place wait for, by index.
    waits: Mapping[int, AwaitedNode] = {}


class PlacementRequest(NamedTuple):
    """A batch of units to place, in order."""

    #: Class ids of the pods.
    class_ids: Sequence[int] | npt.NDArray[np.int32]
    #: First pod of each unit, and the number of pods at the end.
    starts: Sequence[int]
    #: Minimum number of pods of each unit; with fewer places, none is placed.
    at_least: Sequence[int]
    #: Units whose failure ends the batch; empty for none.
    blocking: Sequence[bool] = ()
    #: Slot of each pinned pod, -1 for others; empty if no pod is pinned.
    pins: Sequence[int] = ()
    #: Rows of the pods, for a runtime that decides by pod instead of by class.
    rows: Sequence[int] = ()

    def part(self, first: int, last: int) -> "PlacementRequest":
        """Return the units from ``first`` up to ``last`` (exclusive) as a request."""
        start, stop = int(self.starts[first]), int(self.starts[last])
        return PlacementRequest(
            class_ids=self.class_ids[start:stop],
            starts=[int(at) - start for at in self.starts[first : last + 1]],
            at_least=self.at_least[first:last],
            blocking=self.blocking[first:last] if len(self.blocking) else (),
            pins=self.pins[start:stop] if len(self.pins) else (),
            rows=self.rows[start:stop] if len(self.rows) else (),
        )

    def pod(self, i: int) -> "PlacementRequest":
        """Return one pod as a request."""
        rows = self.rows[i : i + 1] if len(self.rows) else ()
        pins = self.pins[i : i + 1] if len(self.pins) else ()
        return PlacementRequest(self.class_ids[i : i + 1], [0, 1], [1], pins=pins, rows=rows)
