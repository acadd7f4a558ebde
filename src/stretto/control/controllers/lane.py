"""Where controllers ask pods to leave: the one lane that all evictions take."""

from collections.abc import Callable
from typing import Protocol

from stretto.state.work.evictions import EvictionOrder


class EvictionLane(Protocol):
    """Where pods are asked to leave."""

    def order(self, order: EvictionOrder, now: float) -> tuple[int, ...]:
        """Ask pods to leave; returns the rows that are asked."""
        ...


LaneOf = Callable[[], EvictionLane]
"""Gives the lane as it is now: a binder that was restarted has another one."""
