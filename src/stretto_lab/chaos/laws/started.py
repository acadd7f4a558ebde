"""The evictions that one step of a plane started."""

from typing import NamedTuple

from stretto.plane.plane import Plane
from stretto.state.work.evictions import EvictionCause


class StepEviction(NamedTuple):
    """One eviction."""

    #: Row of the pod.
    row: int
    #: Its uid.
    uid: str
    #: Name of its node; empty if the node is gone.
    node: str
    #: Reason of the eviction.
    cause: EvictionCause
    #: Rows of the pods that get the capacity; empty for none.
    beneficiaries: tuple[int, ...]


class StepEvictions(list[StepEviction]):
    """The evictions of one step."""

    def by_evictor(self) -> dict[tuple[EvictionCause, tuple[int, ...]], list[int]]:
        """Rows by cause and beneficiaries."""
        found: dict[tuple[EvictionCause, tuple[int, ...]], list[int]] = {}
        for each in self:
            found.setdefault((each.cause, each.beneficiaries), []).append(each.row)
        return found


class EvictionWatch:
    """Reads the registry of a plane after each step."""

    def __init__(self) -> None:
        """Start without any eviction."""
        self._seen: set[tuple[str, int]] = set()

    def started(self, plane: Plane) -> StepEvictions:
        """New evictions of the plane since the last call."""
        pods, found, now = plane.cluster.pods, StepEvictions(), set[tuple[str, int]]()
        for row, why in plane.cluster.evictions.in_progress.items():
            if why.cause is None or pods.serial[row] != why.serial:
                continue
            key = (pods.uid[row], why.serial)
            now.add(key)
            if key not in self._seen:
                node = plane.cluster.node_of(row)
                found.append(StepEviction(row, key[0], node, why.cause, why.beneficiaries))
        self._seen = now
        return found

    def follow_plane(self) -> None:
        """Reset for a new plane."""
        self._seen.clear()
