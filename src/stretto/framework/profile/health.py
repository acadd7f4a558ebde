"""How a rule from outside does: what it costs, and what it did wrong, by name."""

from typing import Final

import msgspec

CALL_BUDGET: Final = 0.005
"""Seconds that one call may take, however few slots it is asked about."""
SLOT_BUDGET: Final = 2e-6
"""Seconds beyond that for each slot: some ten passes of NumPy over it."""


class RuleHealth(msgspec.Struct):
    """One rule. Changed by its guard alone."""

    #: Its name.
    name: str
    #: Calls so far.
    calls: int = 0
    #: Slots that it was asked about so far.
    slots: int = 0
    #: Seconds that it took so far, by the plane's clock.
    seconds: float = 0.0
    #: Answers that could not be used, or not as they were.
    faults: int = 0
    #: What was wrong with the last of them.
    last_fault: str = ""
    #: Calls that took longer than the budget.
    slow: int = 0
    #: The slowest of them, in words.
    slowest: str = ""
    #: Seconds of the slowest.
    slowest_s: float = 0.0

    def took(self, seconds: float, slots: int) -> None:
        """Count one call."""
        self.calls += 1
        self.slots += slots
        self.seconds += seconds
        budget = CALL_BUDGET + SLOT_BUDGET * slots
        if seconds <= budget:
            return
        self.slow += 1
        if seconds > self.slowest_s:
            self.slowest_s = seconds
            self.slowest = (
                f"took {1e3 * seconds:,.1f} ms for {slots:,} slots, its budget is "
                f"{1e3 * budget:,.1f} ms"
            )

    def fault(self, what: str) -> None:
        """Count one answer that could not be used as it was."""
        self.faults += 1
        self.last_fault = what

    def complaints(self) -> list[str]:
        """What its user should know, as sentences; none of a rule that does well."""
        found = []
        if self.faults:
            times = "once" if self.faults == 1 else f"{self.faults:,} times"
            found.append(f"rule {self.name} went wrong {times}, the last time it {self.last_fault}")
        if self.slow:
            times = "once" if self.slow == 1 else f"{self.slow:,} times"
            found.append(f"rule {self.name} was too slow {times}, at worst it {self.slowest}")
        return found
