"""Health of an external rule: its cost and its faults, by name."""

from typing import Final

import msgspec

CALL_BUDGET: Final = 0.005
"""Maximum seconds of one call, independent of the number of slots."""
SLOT_BUDGET: Final = 2e-6
"""Additional seconds per slot: about ten NumPy passes."""


class RuleHealth(msgspec.Struct):
    """Health of one rule. Only its guard changes it."""

    #: Name of the rule.
    name: str
    #: Number of calls so far.
    calls: int = 0
    #: Number of slots evaluated so far.
    slots: int = 0
    #: Seconds used so far, by the plane's clock.
    seconds: float = 0.0
    #: Number of unusable results so far.
    faults: int = 0
    #: The last fault.
    last_fault: str = ""
    #: Number of calls that exceeded the budget.
    slow: int = 0
    #: Description of the slowest call.
    slowest: str = ""
    #: Seconds of the slowest call.
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
        """Count one unusable result."""
        self.faults += 1
        self.last_fault = what

    def complaints(self) -> list[str]:
        """Faults and slow calls as sentences; empty for a healthy rule."""
        found = []
        if self.faults:
            times = "once" if self.faults == 1 else f"{self.faults:,} times"
            found.append(f"rule {self.name} failed {times}, the last time it {self.last_fault}")
        if self.slow:
            times = "once" if self.slow == 1 else f"{self.slow:,} times"
            found.append(f"rule {self.name} was too slow {times}, at worst it {self.slowest}")
        return found
