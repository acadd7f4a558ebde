"""Priority that decays with each failed attempt and then recovers (Gödel's dynamic priority).

An unschedulable unit of high priority moves behind others after some attempts and returns to the
front after some more, so neither side starves.
"""

from collections.abc import Iterable
from typing import Final

from stretto.control.queues.orders import SEQUENCE_BITS, SMALL, RankOrder
from stretto.state.rows.lifecycle import UnitState
from stretto.state.work.units import Unit

STEP: Final = 10
"""Decrement of the priority per failed attempt (Gödel's ``attemptImpactFactorOnPriority``)."""
FLOOR: Final = 0
"""Minimum of the decayed priority; one step below, it restarts at the full priority."""
_OVER: Final = frozenset({UnitState.PLACED, UnitState.FAILED, UnitState.GONE})


def decayed_priority(priority: int, attempts: int, step: int = STEP, floor: int = FLOOR) -> int:
    """Priority after ``attempts`` failed attempts.

    It decreases by ``step`` until it is one step below ``floor``, and then restarts; a priority at
    or below the floor does not decay.
    """
    if priority <= floor:
        return priority
    rounds = -(-(priority - floor) // step) + 2
    return priority - attempts % rounds * step


class DecayingPriorityOrder(RankOrder):
    """Units by decayed priority, then by arrival."""

    def __init__(self) -> None:
        """Start empty."""
        super().__init__(self._rank_of)
        #: Failed attempts by unit.
        self._attempts: dict[Unit, int] = {}

    def push(self, unit: Unit) -> None:
        """Add a unit; a unit that returns has failed once more."""
        self._attempts[unit] = self._attempts.get(unit, -1) + 1
        super().push(unit)
        if len(self._attempts) > 2 * self.live + SMALL:
            self._attempts = {u: n for u, n in self._attempts.items() if u.state not in _OVER}

    def extend(self, units: Iterable[Unit]) -> None:
        """Add units one by one, because each entry counts an attempt."""
        for unit in units:
            self.push(unit)

    def _rank_of(self, unit: Unit) -> int:
        left = decayed_priority(unit.priority, max(self._attempts.get(unit, 0), 0))
        return (-left << SEQUENCE_BITS) + unit.sequence
