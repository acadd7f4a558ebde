"""The watch of a faulty store: events are lost, duplicated, delayed or mixed with old ones."""

from collections import Counter, deque
from collections.abc import Callable
from typing import Final

from stretto.base.clock import Clock
from stretto.base.errors import TooOldError
from stretto.base.limited import LimitedMap
from stretto.base.rng import Rng
from stretto.stores.faulty.odds import LONGEST_DELAY, FaultOdds
from stretto.stores.store import EventType, Record, Watch, WatchEvent

REMEMBERED_STATES: Final = 4096
"""Number of objects whose last state a watch keeps, for stale events."""


class FaultChance:
    """Odds, their random stream, and the number of faults so far."""

    def __init__(self, odds: FaultOdds, rng: Rng) -> None:
        #: The current probability of each fault.
        self.odds = odds
        #: Source of all randomness.
        self.rng = rng
        #: Number of occurrences of each fault.
        self.fired: Counter[str] = Counter()

    def fires(self, fault: str) -> bool:
        """Return whether a fault occurs now; a fault with probability 0 draws nothing."""
        odds: float = getattr(self.odds, fault)
        if odds <= 0.0 or self.rng.random() >= odds:
            return False
        self.fired[fault] += 1
        return True


class FaultyWatch:
    """Watch with the faults of a bad network."""

    def __init__(
        self, inner: Watch, chance: FaultChance, clock: Clock, land: Callable[[float], None]
    ) -> None:
        """Wrap a watch; ``land`` executes due late writes."""
        #: True if the watch is closed.
        self.closed = False
        self._inner = inner
        self._chance = chance
        self._clock = clock
        self._land = land
        self._cut = False
        self._due = 0.0
        self._ready: deque[tuple[float, WatchEvent]] = deque()
        self._states = LimitedMap[str, Record](REMEMBERED_STATES)

    def poll(self, limit: int = 4096) -> list[WatchEvent]:
        """Return the next changes, with faults.

        Raises:
            TooOldError: the watch was cut; list again.
        """
        if self.closed:
            return []
        now = self._clock.monotonic()
        self._land(now)
        if not self._cut and self._chance.fires("cut_watch"):
            self.cut()
        if not self._ready:
            if self._cut:
                raise TooOldError("this watch", "the next list")
            self._fetch(limit, now)
        events: list[WatchEvent] = []
        while self._ready and len(events) < limit and self._ready[0][0] <= now:
            events.append(self._ready.popleft()[1])
        return events

    def close(self) -> None:
        """Stop watching."""
        self.closed = True
        self._ready.clear()
        self._inner.close()

    def cut(self) -> None:
        """Raise ``TooOldError`` in every later poll."""
        self._cut = True
        self._ready.clear()

    def _fetch(self, limit: int, now: float) -> None:
        """Apply faults to the next events; a delayed event delays all later ones."""
        fires = self._chance.fires
        for event in self._inner.poll(limit):
            if fires("cut_event"):
                self._cut = True
                return
            before = self._replace_state(event.record)
            if fires("drop_event"):
                continue
            if fires("delay_event"):
                self._due = now + self._chance.rng.random() * LONGEST_DELAY
            self._put(event)
            if fires("double_event"):
                self._put(event)
            if before is not None and fires("stale_event"):
                self._put(WatchEvent(EventType.MODIFIED, before))
                self._put(event)

    def _put(self, event: WatchEvent) -> None:
        self._ready.append((self._due, event))

    def _replace_state(self, record: Record) -> Record | None:
        """Store the state of an object; return the previous one, if it is kept."""
        before = self._states.get(record.uid)
        self._states[record.uid] = record
        return before
