"""A store that loses answers, and delays events after some of the losses."""

from collections.abc import Callable
from typing import Any, Final

from stretto.api.wire.kinds import POD, Kind
from stretto.base.clock import Clock
from stretto.base.rng import Rng
from stretto.stores.embedded.memory import MemoryStore
from stretto.stores.store import (
    EVERYTHING,
    ChangeCallback,
    ListOptions,
    Replies,
    Reply,
    StatusReason,
    Watch,
    WatchEvent,
    WriteOutcome,
)
from stretto.stores.wrapper import StoreWrapper

CREATIONS: Final = 0.35
"""Share of the creations of pods whose answer is lost; a seed has a few."""
OTHERS: Final = 0.1
"""Share of the deletions and patches whose answer is lost."""
LATE: Final = 3.0
"""Delay of the events of pods in seconds; it exceeds the delay after which writes are repeated."""


class LossyStore(StoreWrapper):
    """Loses the answers of some writes of pods; half of these pods are read some steps later."""

    def __init__(self, inner: MemoryStore, rng: Rng, clock: Clock) -> None:
        """Initialize with the random numbers that decide about losses."""
        super().__init__(inner)
        self._rng = rng
        self._clock = clock
        self._is_healed = False
        self._late_until = 0.0
        self._callbacks: list[ChangeCallback] = []

    @property
    def is_late(self) -> bool:
        """True if events of pods are delayed."""
        return self._clock.monotonic() < self._late_until

    def watch(self, kind: Kind, since: int, selection: ListOptions = EVERYTHING) -> Watch:
        """Changes of a kind; those of pods may be late."""
        watch = super().watch(kind, since, selection)
        return _LateWatch(watch, self) if kind == POD else watch

    def subscribe(self, callback: ChangeCallback) -> Callable[[], None]:
        """Call ``callback`` whenever a watch may have something to poll."""
        unsubscribe = super().subscribe(callback)
        self._callbacks.append(callback)

        def end() -> None:
            self._callbacks.remove(callback)
            unsubscribe()

        return end

    def deliver(self) -> None:
        """Announce the events whose delay has ended."""
        if self._late_until and not self.is_late:
            self._late_until = 0.0
            for each in list(self._callbacks):
                each(POD)

    def create(self, kind: Any, bodies: Any) -> Replies:
        """Create objects; the answer of pods may be lost."""
        return self._lost(kind, super().create(kind, bodies), CREATIONS)

    def delete(self, kind: Any, deletions: Any) -> Replies:
        """Delete objects; the answer of pods may be lost."""
        return self._lost(kind, super().delete(kind, deletions), OTHERS)

    def patch(self, kind: Any, patches: Any) -> Replies:
        """Change parts of objects; the answer of pods may be lost."""
        return self._lost(kind, super().patch(kind, patches), OTHERS)

    def heal(self) -> None:
        """Stop all losses and delays."""
        self._is_healed = True
        self._late_until = min(self._late_until, self._clock.monotonic())
        self.deliver()

    def _lost(self, kind: Any, replies: Replies, odds: float) -> Replies:
        if kind != POD or self._is_healed or self._rng.random() >= odds:
            return replies
        if self._rng.random() < 0.5:
            self._late_until = self._clock.monotonic() + LATE
        return [Reply(WriteOutcome.UNKNOWN, StatusReason.TIMEOUT, "lost") for _ in replies]


class _LateWatch:
    """A watch whose events wait while its store delays them; their order is kept."""

    def __init__(self, inner: Watch, store: LossyStore) -> None:
        self._inner = inner
        self._store = store

    def poll(self, limit: int = 4096) -> list[WatchEvent]:
        """The events that are not delayed."""
        return [] if self._store.is_late else self._inner.poll(limit)

    def close(self) -> None:
        """End the watch."""
        self._inner.close()
