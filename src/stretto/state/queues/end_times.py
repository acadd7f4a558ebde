"""Expected ends of running pods, and the amounts that each end frees. Backfill reads them."""

from bisect import bisect_left, insort
from collections.abc import Iterator, Mapping
from math import inf
from typing import Final

from stretto.base.amounts import add_amounts
from stretto.state.queries.pool import Amounts

MICROS: Final = 1_000_000
"""Microseconds per second: times are whole microseconds, so that simultaneous ends are equal."""
NEVER: Final = 1 << 62
"""A time in microseconds that is never reached: the end of a pod without a run time."""


def micros(seconds: float) -> int:
    """Convert seconds to whole microseconds; infinity becomes ``NEVER``."""
    return NEVER if seconds == inf else min(round(seconds * MICROS), NEVER)


class EndTimes:
    """Amounts of running pods, by expected end."""

    def __init__(self) -> None:
        """Start without running pods."""
        self._times: list[int] = []
        self._held: dict[int, dict[int, int]] = {}
        self._pods: dict[int, int] = {}

    def add(self, end: int, amounts: Amounts) -> None:
        """Add a pod that runs until ``end``; a pod that never ends is not recorded."""
        if end >= NEVER:
            return
        if end not in self._held:
            insort(self._times, end)
            self._held[end] = {}
        held = self._held[end]
        add_amounts(held, amounts)
        self._pods[end] = self._pods.get(end, 0) + 1

    def remove(self, end: int, amounts: Amounts) -> None:
        """Remove a pod that was added with this end and these amounts."""
        if end >= NEVER:
            return
        self._pods[end] -= 1
        if not self._pods[end]:
            del self._pods[end], self._held[end], self._times[bisect_left(self._times, end)]
            return
        held = self._held[end]
        for column, amount in amounts:
            held[column] -= amount

    def __iter__(self) -> Iterator[tuple[int, Mapping[int, int]]]:
        """(end in microseconds, amounts that it frees), earliest first."""
        return ((end, self._held[end]) for end in self._times)
