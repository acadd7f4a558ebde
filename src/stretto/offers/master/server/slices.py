"""The size of a part of a cycle, after which requests that wait are answered."""

from typing import Final

SLICE: Final = 0.004
"""Most seconds of a part."""
FIRST_AGENTS: Final = 16
"""Agents of the first part."""
MOST_AGENTS: Final = 1 << 17
"""Most agents of one part."""


class CycleSlice:
    """How many agents a part of a cycle decides about, by the time that the last one took."""

    def __init__(self) -> None:
        """Start with a few."""
        #: Number of agents.
        self.agents = FIRST_AGENTS

    def adapt(self, seconds: float) -> None:
        """The last part took so long."""
        if seconds > SLICE:
            self.agents = max(1, self.agents // 2)
        elif seconds < SLICE / 2:
            self.agents = min(2 * self.agents, MOST_AGENTS)
