"""Request and result of a runtime: a batch of units and their places."""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from stretto.state.work.claims import AwaitedNode, PlacementFailure, SnapshotBasis, VolumeChoice

NOT_TRIED: Final = -2
"""Answer for pods that a batch did not get to."""


class BatchPlacement(NamedTuple):
    """Result of a batch."""

    #: int32[pod]: slots; -1 = does not fit, -2 = not tried.
    slots: npt.NDArray[np.int32]
    #: int32[pod]: bit masks of devices.
    devices: npt.NDArray[np.int32]
    #: Units tried; fewer than requested when a blocking unit failed.
    tried: int
    #: Why single pods found no place, by their index; empty where the class determines the reason.
    said: Mapping[int, PlacementFailure] = {}
    #: Volumes that pods get with their places, by their index.
    volumes: Mapping[int, VolumeChoice] = {}
    #: What the snapshot reflected: unchanged at the commit, the claims need no second check.
    basis: SnapshotBasis | None = None
    #: Counts and nodes that other pods' part in it follows from; ``None`` where they had none.
    others: tuple[int, int, int] | None = None
    #: Nodes that pods without a place wait for, by their index.
    waits: Mapping[int, AwaitedNode] = {}


class PlacementRequest(NamedTuple):
    """A batch to place: units one after another."""

    #: Class ids of the pods.
    class_ids: Sequence[int] | npt.NDArray[np.int32]
    #: First pod of each unit, and the number of pods at the end.
    starts: Sequence[int]
    #: Pods of each unit that must be placed or none is.
    at_least: Sequence[int]
    #: Units that end the batch when they fail; empty for none.
    blocking: Sequence[bool] = ()
    #: Slot to which each pod is pinned, -1 for any; empty when no pod is.
    pins: Sequence[int] = ()
    #: Rows of the pods, for a runtime that decides by pod and not by class.
    rows: Sequence[int] = ()

    def part(self, first: int, last: int) -> "PlacementRequest":
        """Some units, from the first up to the last, as a request of their own."""
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
        """One pod, as a request of its own."""
        rows = self.rows[i : i + 1] if len(self.rows) else ()
        pins = self.pins[i : i + 1] if len(self.pins) else ()
        return PlacementRequest(self.class_ids[i : i + 1], [0, 1], [1], pins=pins, rows=rows)
