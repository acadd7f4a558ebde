"""Priority that fades with each failed attempt and then comes back (Gödel's dynamic priority).

A unit of high priority that fits nowhere goes behind others after a few attempts and comes back to
the front after a few more, so neither starves: it cannot hold the front, and it is not forgotten.
"""

from collections.abc import Iterable
from typing import Final

from stretto.control.queues.orders import SEQUENCE_BITS, SMALL, RankOrder
from stretto.state.rows.lifecycle import UnitState
from stretto.state.work.units import Unit

STEP: Final = 10
"""What a failed attempt takes from the priority (Gödel's ``attemptImpactFactorOnPriority``)."""
FLOOR: Final = 0
"""The priority down to which it fades; one step below, it begins anew."""
_OVER: Final = frozenset({UnitState.PLACED, UnitState.FAILED, UnitState.GONE})


def decayed_priority(priority: int, attempts: int, step: int = STEP, floor: int = FLOOR) -> int:
    """What is left of a priority after so many attempts.

    It falls by ``step`` until it is one step below ``floor``, and then begins anew; a priority at
    or below the floor has nothing to lose.
    """
    if priority <= floor:
        return priority
    rounds = -(-(priority - floor) // step) + 2
    return priority - attempts % rounds * step


class DecayingPriorityOrder(RankOrder):
    """Units by what is left of their priority, then by arrival."""

    def __init__(self) -> None:
        """Start empty."""
        super().__init__(self._rank_of)
        #: How often each unit came back.
        self._attempts: dict[Unit, int] = {}

    def push(self, unit: Unit) -> None:
        """Put a unit at its place; one that was here before has failed once more."""
        self._attempts[unit] = self._attempts.get(unit, -1) + 1
        super().push(unit)
        if len(self._attempts) > 2 * self.live + SMALL:
            self._attempts = {u: n for u, n in self._attempts.items() if u.state not in _OVER}

    def extend(self, units: Iterable[Unit]) -> None:
        """One by one, for each counts what it has tried."""
        for unit in units:
            self.push(unit)

    def _rank_of(self, unit: Unit) -> int:
        left = decayed_priority(unit.priority, max(self._attempts.get(unit, 0), 0))
        return (-left << SEQUENCE_BITS) + unit.sequence
