"""Triggers of a cycle: events name some agents or all, and several events cause one cycle."""

from collections.abc import Iterable
from typing import Final

from stretto.base.rng import Rng

MOST_PARTS: Final = 64
"""Maximum number of parts of a cycle; each part computes the sums of roles and quota again."""


class Triggers:
    """Agents that the next cycle must evaluate."""

    def __init__(self) -> None:
        """Start without agents."""
        self._is_all = False
        self._agents: list[str] = []
        self._known: set[str] = set()
        self._whole = 0

    @property
    def is_due(self) -> bool:
        """True if an event since the last cycle requires one."""
        return self._is_all or bool(self._agents)

    @property
    def is_all(self) -> bool:
        """True if an event requires a cycle over all agents."""
        return self._is_all

    def call_all(self) -> None:
        """Request a cycle over all agents."""
        self._is_all = True

    def call(self, agent: str) -> None:
        """Request a cycle over an agent."""
        if agent not in self._known:
            self._known.add(agent)
            self._agents.append(agent)

    def call_each(self, agents: Iterable[str]) -> None:
        """Replace the requests by one cycle over exactly these agents."""
        self._is_all = False
        for each in agents:
            self.call(each)

    def take(self) -> list[str] | None:
        """The named agents, or ``None`` for all; no cycle is due afterwards."""
        named = None if self._is_all else self._agents
        self._is_all, self._agents, self._known, self._whole = False, [], set(), 0
        return named

    def draw(self, rng: Rng, most: int) -> list[str]:
        """Some of the named agents at random, for one part of a cycle; the others remain.

        Args:
            rng: source of random numbers.
            most: number of agents; exceeded if the cycle would have more than `MOST_PARTS` parts.
        """
        agents = self._agents
        self._whole = max(self._whole, len(agents))
        drawn = []
        for _ in range(min(len(agents), max(most, -(-self._whole // MOST_PARTS)))):
            place = rng.randint(0, len(agents) - 1)
            agents[place], agents[-1] = agents[-1], agents[place]
            drawn.append(agents.pop())
        self._known.difference_update(drawn)
        if not agents:
            self._whole = 0
        return drawn
