"""A lane: the writes of one purpose on their way to a store.

A lane has two parts. Its queue contains entries that are not sent yet, at most one per key: a newer
entry replaces the older one, and a shed policy bounds the queue. Its window contains batches that
are sent and not answered. An entry whose reply is unknown or temporary is put back and keeps its
claim until a later reply settles it. The decision loop never waits for a lane, except where the
caller demands it (``answers`` with a bound).
"""

from collections import OrderedDict, deque
from collections.abc import Hashable, Iterator, Sequence
from concurrent.futures import Future
from enum import Enum
from typing import Final, Generic, NamedTuple, TypeVar

import msgspec

from stretto.stores.store import Replies, Store, Write

K = TypeVar("K", bound=Hashable)
E = TypeVar("E")

NOW: Final = float("-inf")
"""Time of an entry that may be sent at any time."""
NEVER: Final = float("inf")
"""Infinity: a time that never comes, or no bound."""


class ShedPolicy(Enum):
    """The entry that a full queue drops."""

    #: None: the queue grows. For binds and evictions, whose number the state bounds.
    NONE = "none"
    #: The entry that has waited longest.
    OLDEST = "oldest"
    #: The new entry.
    NEWEST = "newest"


class LaneLimits(msgspec.Struct, frozen=True):
    """Bounds of a lane."""

    #: Maximum number of unanswered writes; ``capacity`` counts down from it.
    window: int
    #: Number of writes per batch if the store answers later, so that the first replies of a large
    #: batch do not wait for the last; 0: one batch. A store that answers at once gets one batch.
    batch: int = 0
    #: Maximum number of entries in the queue; 0: no bound.
    queued: int = 0
    #: Policy of a full queue.
    shed: ShedPolicy = ShedPolicy.NONE


class AnsweredBatch(NamedTuple, Generic[E]):
    """A batch whose replies have arrived."""

    #: The entries, in the order in which they were sent.
    entries: Sequence[E]
    #: The replies, in the order of the entries.
    replies: Replies


class _SentBatch(NamedTuple, Generic[E]):
    entries: Sequence[E]
    answers: Future[Replies]


class _Queued(NamedTuple, Generic[E]):
    entry: E
    #: Clock time before which the entry is not sent.
    not_before: float


class Lane(Generic[K, E]):
    """Queue and window of one kind of write.

    ``K`` identifies the object (or unit) of an entry. ``E`` is the data that the caller needs to
    build the write and to process its reply.
    """

    def __init__(self, store: Store, limits: LaneLimits) -> None:
        """Create an empty lane."""
        #: Number of writes sent and not answered.
        self.unanswered = 0
        #: Number of entries dropped by the shed policy so far.
        self.shed = 0
        #: Maximum number of unanswered writes.
        self.window = limits.window
        self._store = store
        self._limits = limits
        #: Entries that are not sent yet, by key; callers only check whether there are any.
        self.queue: OrderedDict[K, _Queued[E]] = OrderedDict()
        self._sent: deque[_SentBatch[E]] = deque()

    # ------------------------------------------------------------ the queue

    def __len__(self) -> int:
        """Number of entries in the queue."""
        return len(self.queue)

    def __contains__(self, key: K) -> bool:
        """Return whether an entry with this key is in the queue."""
        return key in self.queue

    def queued(self, key: K) -> E | None:
        """Return the queued entry of a key, or ``None``."""
        found = self.queue.get(key)
        return None if found is None else found.entry

    def put(self, key: K, entry: E, not_before: float = NOW) -> bool:
        """Queue an entry; it replaces an entry with the same key. Return False if it was shed."""
        queue, limits = self.queue, self._limits
        if limits.queued and key not in queue and len(queue) >= limits.queued:
            self.shed += 1
            if limits.shed is ShedPolicy.NEWEST:
                return False
            if limits.shed is ShedPolicy.OLDEST:
                queue.popitem(last=False)
        queue[key] = _Queued(entry, not_before)
        return True

    def put_back(self, key: K, entry: E, not_before: float) -> None:
        """Queue an entry again after an unknown or temporary reply, unless a newer one exists."""
        if key not in self.queue:
            self.put(key, entry, not_before)

    def withdraw(self, key: K) -> E | None:
        """Remove and return a queued entry; ``None`` if there is none (it may have been sent)."""
        found = self.queue.pop(key, None)
        return None if found is None else found.entry

    def due(self, now: float) -> Iterator[tuple[K, E]]:
        """Yield the entries that may be sent now, in queue order; they stay in the queue."""
        return ((key, each.entry) for key, each in self.queue.items() if each.not_before <= now)

    def next_due(self) -> float:
        """Clock time at which the next entry may be sent; infinity if the queue is empty."""
        return min((each.not_before for each in self.queue.values()), default=NEVER)

    # ------------------------------------------------------------ the window

    @property
    def capacity(self) -> int:
        """Number of writes that may be sent now without exceeding the window."""
        return self._limits.window - self.unanswered

    def send(self, write: Write, entries: Sequence[E]) -> None:
        """Send a batch of writes; ``entries`` are returned with its replies.

        Raises:
            StrettoError: the store failed as a whole.
        """
        size = len(entries)
        if self._limits.batch and self._store.capabilities.answers_later:
            size = self._limits.batch
        for start in range(0, len(entries), size or 1):
            part = slice(start, start + size)
            whole = size >= len(entries)
            sent = write if whole else Write(write.verb, write.kind, write.items[part])
            kept = entries if whole else entries[part]
            self._sent.append(_SentBatch(kept, self._store.begin(sent)))
            self.unanswered += len(kept)

    def in_flight(self) -> Iterator[E]:
        """Entries that are sent and not answered."""
        return (entry for batch in self._sent for entry in batch.entries)

    def answers(self, most: float = NEVER) -> Iterator[AnsweredBatch[E]]:
        """Yield answered batches, in the order of sending.

        Waits for the oldest batch while more than ``most`` writes are unanswered.

        Raises:
            StrettoError: the store failed as a whole.
        """
        while (batch := self._next_answered(most)) is not None:
            self.unanswered -= len(batch.entries)
            yield AnsweredBatch(batch.entries, batch.answers.result())

    def _next_answered(self, most: float) -> _SentBatch[E] | None:
        if self._sent and self.unanswered > most:
            return self._sent.popleft()
        for index, batch in enumerate(self._sent):
            if batch.answers.done():
                del self._sent[index]
                return batch
        return None
