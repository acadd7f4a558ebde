"""What calls for a cycle: events name agents or all of them, and several events call for one."""


class Triggers:
    """Agents that the next cycle must look at."""

    def __init__(self) -> None:
        """Start with none."""
        self._is_all = False
        self._agents: dict[str, None] = {}

    @property
    def is_due(self) -> bool:
        """Whether an event since the last cycle calls for one."""
        return self._is_all or bool(self._agents)

    def call_all(self) -> None:
        """Any agent may be offered now."""
        self._is_all = True

    def call(self, agent: str) -> None:
        """An agent may be offered now."""
        self._agents[agent] = None

    def take(self) -> list[str] | None:
        """The named agents, or ``None`` for all; nothing is due afterwards."""
        named = None if self._is_all else list(self._agents)
        self._is_all, self._agents = False, {}
        return named
