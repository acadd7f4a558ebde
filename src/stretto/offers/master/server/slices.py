"""The size of a part of a cycle; pending requests are answered after each part."""

from typing import Final

SLICE: Final = 0.004
"""Maximum duration of a part, in seconds."""
FIRST_AGENTS: Final = 16
"""Number of agents in the first part."""
MOST_AGENTS: Final = 1 << 17
"""Maximum number of agents in one part."""


class CycleSlice:
    """Number of agents per part of a cycle, adapted to the duration of the last part."""

    def __init__(self) -> None:
        """Start with the size of the first part."""
        #: Number of agents.
        self.agents = FIRST_AGENTS

    def adapt(self, seconds: float) -> None:
        """Adapt the size to the duration of the last part, in seconds."""
        if seconds > SLICE:
            self.agents = max(1, self.agents // 2)
        elif seconds < SLICE / 2:
            self.agents = min(2 * self.agents, MOST_AGENTS)
