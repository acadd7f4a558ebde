"""Decline filters of one agent.

A filter contains a subscription and the refused resources. It matches an offer that the refused
resources contain, so a larger offer passes. Frameworks that refused equal resources share one
record, because in an idle pool every framework refuses the same.
"""

import heapq
from collections.abc import Iterable, Iterator
from math import inf
from typing import Final

from stretto.offers.allocator.values.resources import Resources

DEFAULT_REFUSE: Final = 5.0
"""Lifetime in seconds of a filter whose lifetime is negative or NaN."""
LONGEST_REFUSE: Final = 365 * 24 * 3600.0
"""Longest lifetime in seconds."""
CROWDED: Final = 8
"""Number of distinct refused resources above which ended filters are removed."""


def lifetime(refuse: float) -> float:
    """The lifetime of a filter, from the field of DECLINE or ACCEPT."""
    if not refuse >= 0:
        return DEFAULT_REFUSE
    return min(refuse, LONGEST_REFUSE)


class FilterOwner:
    """The filters of one subscription since its last revive, counted by their ends."""

    __slots__ = ("_active", "_by_end", "_ends", "is_void")

    def __init__(self) -> None:
        """Start without filters."""
        self._by_end: dict[float, int] = {}
        self._ends: list[float] = []
        self._active = 0
        #: True if a revive has removed them.
        self.is_void = False

    def add(self, end: float) -> None:
        """Count a filter that ends at ``end``."""
        if end not in self._by_end:
            heapq.heappush(self._ends, end)
            self._by_end[end] = 0
        self._by_end[end] += 1
        self._active += 1

    def discard(self, end: float) -> None:
        """Remove a filter before its end."""
        if self._by_end.get(end):
            self._by_end[end] -= 1
            self._active -= 1

    def active(self, now: float) -> int:
        """Number of filters that end after ``now``."""
        while self._ends and self._ends[0] <= now:
            self._active -= self._by_end.pop(heapq.heappop(self._ends))
        return self._active

    def void(self) -> None:
        """Remove all filters; the records of agents contain them until the next purge."""
        self.is_void = True


class RefusedOffers:
    """The filters that refuse one value of resources."""

    __slots__ = ("checked", "earliest", "ends", "resources")

    def __init__(self, resources: Resources) -> None:
        """Start without filters."""
        #: The refused resources.
        self.resources = resources
        #: Ends by owner; the ends of void owners are ignored.
        self.ends: dict[FilterOwner, float] = {}
        #: A lower bound of the ends.
        self.earliest: float = inf
        #: Number of revives at the last purge.
        self.checked: int = 0

    def purge(self, now: float, revives: int) -> None:
        """Remove ended and void filters; ``revives`` is the number of revives so far."""
        self.ends = {
            owner: end for owner, end in self.ends.items() if end > now and not owner.is_void
        }
        self.earliest = min(self.ends.values(), default=inf)
        self.checked = revives

    def refuses_all(self, owners: int, now: float, revives: int) -> bool:
        """True if there are as many active filters as subscriptions."""
        if len(self.ends) < owners:
            return False
        if self.checked != revives or self.earliest <= now:
            self.purge(now, revives)
        return len(self.ends) == owners


class AgentFilters:
    """All filters of one agent."""

    __slots__ = ("_covering", "_for", "refusals")

    def __init__(self) -> None:
        """Start without filters."""
        #: Filters by refused resources.
        self.refusals: dict[Resources, RefusedOffers] = {}
        self._for: Resources | None = None
        self._covering: list[RefusedOffers] = []

    def add(self, owner: FilterOwner, refused: Resources, end: float) -> None:
        """Add a filter."""
        found = self.refusals.get(refused)
        if found is None:
            found = self.refusals[refused] = RefusedOffers(refused)
            self._for = None
        if found.ends.get(owner, 0.0) < end:
            found.ends[owner] = end
            found.earliest = min(found.earliest, end)
            owner.add(end)

    def purge(self, now: float, revives: int) -> None:
        """Remove ended filters if there are many records."""
        if len(self.refusals) > CROWDED:
            for refusal in self.refusals.values():
                refusal.purge(now, revives)
            self.refusals = {key: each for key, each in self.refusals.items() if each.ends}
            self._for = None

    def covering(self, offered: Resources) -> list[RefusedOffers]:
        """The records whose refused resources contain an offer."""
        if self._for is not offered:
            self._covering = [
                each for each in self.refusals.values() if each.resources.contains(offered)
            ]
            self._for = offered
        return self._covering

    def discard(self, owners: Iterable[FilterOwner] | None = None) -> None:
        """Remove the filters of these owners, or all."""
        chosen = None if owners is None else set(owners)
        for refusal in self.refusals.values():
            for owner in [each for each in refusal.ends if chosen is None or each in chosen]:
                owner.discard(refusal.ends.pop(owner))

    def __iter__(self) -> Iterator[tuple[FilterOwner, float]]:
        """Owners and ends of all filters that are not void."""
        for refusal in self.refusals.values():
            yield from (each for each in refusal.ends.items() if not each[0].is_void)
