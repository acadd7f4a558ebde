"""A store that loses the answers to creations of pods, and whose events are late."""

from collections.abc import Sequence

from stretto.api.wire.kinds import POD, Kind
from stretto.base.clock import Clock, ManualClock
from stretto.base.rng import Rng
from stretto.stores.embedded.memory import MemoryStore
from stretto.stores.store import (
    EVERYTHING,
    Deletion,
    ListOptions,
    Replies,
    Reply,
    StatusReason,
    Watch,
    WatchEvent,
    WriteOutcome,
)


class LosingStore(MemoryStore):
    """A store whose answers to creations of pods are lost; another client deletes the pods."""

    def __init__(self, clock: ManualClock) -> None:
        super().__init__(clock, Rng(2))
        self.clock = clock
        self.created = 0

    def create(self, kind: Kind, bodies: Sequence[bytes]) -> Replies:
        replies = super().create(kind, bodies)
        if kind != POD:
            return replies
        made = [each.record for each in replies if each.outcome is WriteOutcome.OK and each.record]
        self.created += len(made)
        self.delete(POD, [Deletion(each.namespace, each.name) for each in made])
        return [Reply(WriteOutcome.UNKNOWN, StatusReason.TIMEOUT, "lost")] * len(replies)

    def watch(self, kind: Kind, since: int, selection: ListOptions = EVERYTHING) -> Watch:
        watch = super().watch(kind, since, selection)
        return LateWatch(watch, self.clock) if kind == POD else watch


class LateWatch:
    """A watch whose events arrive at second 1005 and later."""

    def __init__(self, inner: Watch, clock: Clock) -> None:
        self._inner, self._clock = inner, clock

    def close(self) -> None:
        self._inner.close()

    def poll(self, limit: int = 4096) -> list[WatchEvent]:
        return self._inner.poll(limit) if self._clock.monotonic() >= 1005 else []
