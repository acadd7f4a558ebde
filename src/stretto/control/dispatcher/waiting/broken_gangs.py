"""Gangs that are on nodes in part and were not whole in time: what they hold is released.

A store that binds whole units never leaves one so. An API server binds pod by pod, and a pod may
go, or be refused, when others of its gang have landed; until the gang's time is over it is
completed by pods that come, and after that its pods are asked to leave, so that nothing is held in
vain.
"""

from typing import Final

from stretto.state.rows.lifecycle import PodState
from stretto.state.rows.pods import Pods
from stretto.state.work.evictions import EvictionCause, EvictionOrder
from stretto.state.work.units import Unit

AGAIN: Final = 10.0
"""Seconds after which those that are still there are asked again (a budget may have kept them)."""


class BrokenGangs:
    """The gangs that are to be released."""

    def __init__(self, pods: Pods) -> None:
        """None yet."""
        self._pods = pods
        self._evict_after: dict[Unit, float] = {}

    def add(self, unit: Unit, now: float) -> None:
        """A gang's time is over while some of it is on nodes."""
        self._evict_after.setdefault(unit, now)

    def orders(self, now: float) -> list[EvictionOrder]:
        """Who is to leave now, and why."""
        found = []
        for unit, at in list(self._evict_after.items()):
            if not unit.bound or unit.still_needed == 0:
                del self._evict_after[unit]
            elif now >= at:
                self._evict_after[unit] = now + AGAIN
                state, serial = self._pods.state, self._pods.serial
                rows = tuple(row for row in sorted(unit.bound) if state[row] == PodState.BOUND)
                serials = tuple(int(serial[row]) for row in rows)
                reason = f"gang {unit.key} has {len(unit.bound)} of {unit.min_member} pods in time"
                if rows:
                    found.append(EvictionOrder(rows, serials, EvictionCause.GANG, reason))
        return found

    def next_due(self) -> float:
        """When to ask (again); infinity for nobody."""
        return min(self._evict_after.values(), default=float("inf"))
