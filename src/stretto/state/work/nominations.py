"""Nominations: claims that are charged already and whose binds wait for their victims.

Preemption and queue reclaim nominate a unit for the capacity that their victims still hold. The
registry belongs to the cluster, so that it survives a crash of the binder. Only the binder writes
to it, except for node names that a previous scheduler left on new pods.
"""

import heapq
from collections.abc import Iterable, Sequence

import msgspec

from stretto.state.rows.pods import Pods
from stretto.state.work.units import Unit


class Nomination(msgspec.Struct, eq=False):
    """Claims of one unit that wait for their victims."""

    #: The unit.
    unit: Unit
    #: Rows of the claims.
    rows: tuple[int, ...]
    #: Serials of these pods.
    serials: tuple[int, ...]
    #: Slots of the claims.
    slots: frozenset[int]
    #: Rows of the victims that have not ended yet, with their serials.
    victims: dict[int, int]
    #: Number of the claims that must be granted together.
    at_least: int
    #: Clock time of creation.
    since: float
    #: Clock time of expiry.
    until: float
    #: True if ``nominatedNodeName`` was written to the pods.
    node_written: bool = False
    #: (row, serial) of pods whose eviction was already in progress; dropped if it is stuck.
    awaited: tuple[tuple[int, int], ...] = ()


class Nominations:
    """Nominations that are pending or about to end."""

    def __init__(self, pods: Pods) -> None:
        """Start empty."""
        #: Nominations by row of each of their claims.
        self.by_row: dict[int, Nomination] = {}
        #: Serials, by row, of pending pods that were first seen with a ``nominatedNodeName`` left
        #: by a previous scheduler; readers remove the entries they process.
        self.inherited: dict[int, int] = {}
        #: Pending nominations, with numbers in order of creation.
        self.pending: dict[Nomination, int] = {}
        self._pods = pods
        self._by_victim: dict[int, Nomination] = {}
        self._made = 0
        #: Pending nominations whose victims have all ended.
        self._ready: set[Nomination] = set()
        #: Expiry times with their numbers; entries of ended nominations are removed lazily.
        self._by_time: list[tuple[float, int, Nomination]] = []
        self._nominees: dict[int, set[int]] = {}

    def __bool__(self) -> bool:
        """Return whether any pod is nominated."""
        return bool(self.by_row)

    def add(self, nomination: Nomination) -> None:
        """Register a nomination."""
        self._made += 1
        self.pending[nomination] = self._made
        heapq.heappush(self._by_time, (nomination.until, self._made, nomination))
        if not nomination.victims:
            self._ready.add(nomination)
        for row in nomination.rows:
            self.by_row[row] = nomination
            self._nominees.setdefault(int(self._pods.slot[row]), set()).add(row)
        self._by_victim.update(dict.fromkeys(nomination.victims, nomination))

    def end(self, nomination: Nomination) -> None:
        """Remove a nomination."""
        self.pending.pop(nomination, None)
        self._ready.discard(nomination)
        for row in nomination.rows:
            if self.by_row.get(row) is nomination:
                del self.by_row[row]
        for slot in nomination.slots:
            rows = self._nominees.get(slot, set())
            rows.difference_update(nomination.rows)
            if not rows:
                self._nominees.pop(slot, None)
        for row in nomination.victims:
            if self._by_victim.get(row) is nomination:
                del self._by_victim[row]

    def record_victim_ended(self, nomination: Nomination, victim: int) -> None:
        """Record the end of a victim."""
        del nomination.victims[victim]
        if self._by_victim.get(victim) is nomination:
            del self._by_victim[victim]
        if not nomination.victims and nomination in self.pending:
            self._ready.add(nomination)

    def waits(self, nomination: Nomination) -> bool:
        """Return whether a nomination is pending."""
        return nomination in self.pending

    def next_until(self) -> float:
        """Clock time of the next expiry; infinity if there is no nomination."""
        times = self._by_time
        while times and times[0][2] not in self.pending:
            heapq.heappop(times)
        return times[0][0] if times else float("inf")

    def due(self, rows: Iterable[int], now: float) -> list[Nomination]:
        """Return the nominations to process, in order of creation.

        These are the nominations with one of the rows as claim or victim, those whose victims have
        all ended, and expired ones.
        """
        found = {*self._about(rows), *self._ready}
        while self.next_until() <= now:
            found.add(heapq.heappop(self._by_time)[2])
        return sorted(found, key=self.pending.__getitem__)

    def waiting(self) -> list[Nomination]:
        """All nominations in order of creation."""
        return list(self.pending)

    def of_victim(self, row: int) -> Nomination | None:
        """The nomination that waits for the end of a pod, if any."""
        found = self._by_victim.get(row)
        return found if found is not None and row in found.victims else None

    def on_slot(self, slot: int) -> Sequence[int]:
        """Rows of the nominated claims on a slot."""
        return [r for r in self._nominees.get(slot, ()) if self._pods.slot[r] == slot]

    def _about(self, rows: Iterable[int]) -> set[Nomination]:
        """Nominations that have one of the rows as claim or victim."""
        both = (self.by_row, self._by_victim)
        return {found for row in rows for each in both if (found := each.get(row)) is not None}
