"""Contested offers: the same free capacity, offered to several frameworks at once.

One holder is charged, so the agent is never over-committed. The first ACCEPT moves the charge to
its sender and ends the other offers; a decline moves it to another holder.
"""

from stretto.offers.allocator.pool.agents import HolderKey
from stretto.offers.allocator.values.resources import Resources


class Contest:
    """One capacity with its holders; the first one is charged."""

    __slots__ = ("agent", "holders", "resources")

    def __init__(self, agent: str, resources: Resources, holders: list[HolderKey]) -> None:
        """Start with at least two holders."""
        #: Id of the agent.
        self.agent = agent
        #: The capacity.
        self.resources = resources
        #: Framework and role of each holder.
        self.holders = holders

    def without(self, key: HolderKey) -> HolderKey | None:
        """Remove a holder; if it was charged, return the holder that is charged instead."""
        was_charged = self.holders[0] == key
        self.holders.remove(key)
        return self.holders[0] if was_charged else None


class ContestIndex:
    """Open contests by agent."""

    def __init__(self) -> None:
        """Start without contests."""
        self._by_agent: dict[str, list[Contest]] = {}

    def open(self, contest: Contest) -> None:
        """Add a contest."""
        self._by_agent.setdefault(contest.agent, []).append(contest)

    def find(self, agent: str, key: HolderKey, resources: Resources) -> Contest | None:
        """The contest over exactly these resources of a holder."""
        for contest in self._by_agent.get(agent, ()):
            if key in contest.holders and contest.resources == resources:
                return contest
        return None

    def within(self, agent: str, key: HolderKey, resources: Resources) -> list[Contest]:
        """The contests of a holder that make up these resources: one, or several together."""
        whole = self.find(agent, key, resources)
        if whole is not None:
            return [whole]
        found, left = [], resources
        for contest in self._by_agent.get(agent, ()):
            if key in contest.holders and left.contains(contest.resources):
                found.append(contest)
                left -= contest.resources
        return found

    def exactly(self, agent: str, key: HolderKey, resources: Resources) -> list[Contest]:
        """The contests of a holder whose sum is these resources; empty if there is a rest."""
        found, left = self.within(agent, key, resources), resources
        for contest in found:
            left -= contest.resources
        return [] if left else found

    def is_uncharged(self, agent: str, key: HolderKey, resources: Resources) -> bool:
        """True if a holder is offered capacity that is charged to another holder."""
        found = self.find(agent, key, resources)
        return found is not None and found.holders[0] != key

    def close(self, contest: Contest) -> None:
        """End a contest."""
        found = self._by_agent[contest.agent]
        found.remove(contest)
        if not found:
            del self._by_agent[contest.agent]

    def forget(self, agent: str) -> None:
        """End all contests of a removed agent."""
        self._by_agent.pop(agent, None)
