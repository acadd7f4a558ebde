"""Evicts partly placed gangs whose deadline has passed.

A store that binds whole units never leaves a gang in part. An API server binds pod by pod, and a
member may be deleted or refused after others were bound. Until its deadline the gang is completed
by new pods; after it the placed pods are evicted, so that they hold no useless capacity.
"""

from typing import Final

from stretto.state.rows.lifecycle import PodState
from stretto.state.rows.pods import Pods
from stretto.state.work.evictions import EvictionCause, EvictionOrder
from stretto.state.work.units import Unit

AGAIN: Final = 10.0
"""Seconds between eviction retries; a disruption budget may have refused the last one."""


class BrokenGangs:
    """The gangs to evict."""

    def __init__(self, pods: Pods) -> None:
        """Start with none."""
        self._pods = pods
        #: Clock time of the next eviction of each gang.
        self.evict_after: dict[Unit, float] = {}

    def add(self, unit: Unit, now: float) -> None:
        """Add a gang whose deadline has passed while some of its pods hold nodes."""
        self.evict_after.setdefault(unit, now)

    def orders(self, now: float) -> list[EvictionOrder]:
        """The evictions that are due, with their reasons."""
        found = []
        for unit, at in list(self.evict_after.items()):
            if not unit.bound or unit.still_needed == 0:
                del self.evict_after[unit]
            elif now >= at:
                self.evict_after[unit] = now + AGAIN
                state, serial = self._pods.state, self._pods.serial
                rows = tuple(row for row in sorted(unit.bound) if state[row] == PodState.BOUND)
                serials = tuple(int(serial[row]) for row in rows)
                short = f"{len(unit.bound)} of {unit.min_member} pods"
                reason = f"gang {unit.key} has {short} at its deadline"
                if rows:
                    found.append(EvictionOrder(rows, serials, EvictionCause.GANG, reason))
        return found

    def next_due(self) -> float:
        """Clock time of the next eviction; infinity for none."""
        return min(self.evict_after.values(), default=float("inf"))
