"""A store that fails on purpose, for tests and the fault simulator (``odds``).

It wraps any other store like a bad network. One stream is the source of all randomness and one
clock the source of all time, so the same calls fail in the same way.
"""

from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from typing import Final, TypeVar, cast

import msgspec
from msgspec.structs import replace

from stretto.api.wire.kinds import Kind
from stretto.base.clock import Clock
from stretto.base.limited import LimitedMap
from stretto.base.rng import Rng
from stretto.stores.capabilities import Capabilities
from stretto.stores.faulty.odds import LONGEST_LANDING, NO_FAULTS, FaultOdds
from stretto.stores.faulty.watch import FaultChance, FaultyWatch
from stretto.stores.immediate import answered
from stretto.stores.store import (
    EVERYTHING,
    Bind,
    ChangeCallback,
    Deletion,
    Eviction,
    Listing,
    ListOptions,
    Patch,
    Record,
    Replies,
    Reply,
    StatusReason,
    Store,
    UnitReplies,
    Update,
    Watch,
    Write,
    WriteOutcome,
    WriteVerb,
)

T = TypeVar("T")
R = TypeVar("R")
Answers = list[R]
"""One reply for each item of a call."""

REMEMBERED_LISTS: Final = 32
"""Number of lists whose earlier results are kept for stale lists."""
REMEMBERED_ANSWERS: Final = 4
"""Number of earlier results kept per list."""

_LOST: Final = Reply(
    WriteOutcome.UNKNOWN,
    StatusReason.TIMEOUT,
    "the reply is lost: read the object back before deciding",
)
_REFUSALS: Final = (
    Reply(
        WriteOutcome.REFUSED,
        StatusReason.UNAVAILABLE,
        "the store is out of service; try again later",
    ),
    Reply(
        WriteOutcome.REFUSED,
        StatusReason.INTERNAL,
        "the store had an internal error; try again later",
    ),
    Reply(
        WriteOutcome.REFUSED,
        StatusReason.TOO_MANY_REQUESTS,
        "the store is overloaded; try again later",
        retry_after=1.0,
    ),
)


class _DelayedWrite(msgspec.Struct, frozen=True):
    """A write that has not been executed yet."""

    #: Monotonic time of its execution.
    due: float
    #: Executes the write; the reply is lost.
    land: Callable[[], object]


class DelayedReplies(Future[Replies]):
    """Replies that arrive at a virtual time; waiting for them advances the time."""

    def __init__(self, due: float, clock: Clock, wait: Callable[[float], None]) -> None:
        """Create pending replies; ``wait`` advances the time and executes due writes."""
        super().__init__()
        self._due = due
        self._clock = clock
        self._wait = wait

    def done(self) -> bool:
        """Return whether the replies have arrived."""
        return super().done() and self._clock.monotonic() >= self._due

    def result(self, timeout: float | None = None) -> Replies:
        """Return the replies; wait until they have arrived."""
        del timeout
        self._wait(max(self._due, self._clock.monotonic()))
        return super().result(0)


class FaultyStore:
    """A store wrapper that behaves like a bad network."""

    def __init__(self, inner: Store, rng: Rng, odds: FaultOdds, clock: Clock) -> None:
        """Wrap ``inner``, with odds drawn by the caller."""
        self._inner = inner
        self._clock = clock
        self._chance = FaultChance(odds, rng)
        self._watches: list[FaultyWatch] = []
        self._late: list[_DelayedWrite] = []
        #: Time at which the current write was sent, if its sender did not wait.
        self._sent = float("inf")
        #: Advances virtual time to a given time; ``None``: replies are never delayed.
        self._wait: Callable[[float], None] | None = None
        self._answers = LimitedMap[tuple[Kind, ListOptions], deque[Listing]](REMEMBERED_LISTS)

    @property
    def capabilities(self) -> Capabilities:
        """Capabilities of the inner store, without notifications: a delayed event has no commit."""
        return replace(
            self._inner.capabilities, notifies=False, answers_later=self._wait is not None
        )

    @property
    def fired(self) -> Counter[str]:
        """Number of occurrences of each fault, by its name in ``FaultOdds``."""
        return self._chance.fired

    def delay_answers(self, wait: Callable[[float], None]) -> None:
        """Delay replies to binds from now on; ``wait`` advances virtual time."""
        self._wait = wait

    def heal(self) -> None:
        """End all faults: execute late writes, and require a list for every watch."""
        self._chance.odds = NO_FAULTS
        self._land(float("inf"))
        for watch in self._watches:
            watch.cut()
        self._watches.clear()

    # ---------------------------------------------------------------- reads

    def get(self, kind: Kind, namespace: str, name: str) -> Record | None:
        """Return the current object, or ``None``.

        The result is never stale, as on an API server.
        """
        self._land(self._clock.monotonic())
        return self._inner.get(kind, namespace, name)

    def list(self, kind: Kind, selection: ListOptions = EVERYTHING) -> Listing:
        """Return the selected objects of a kind, as of now or of an earlier time."""
        self._land(self._clock.monotonic())
        listing = self._inner.list(kind, selection)
        if selection.limit or selection.page:
            return listing
        key = kind, selection
        earlier = self._answers.get(key, deque(maxlen=REMEMBERED_ANSWERS))
        self._answers[key] = earlier
        older = [each for each in earlier if each.version < listing.version]
        if older and self._chance.fires("stale_list"):
            return self._chance.rng.choice(older)
        earlier.append(listing)
        return listing

    def watch(self, kind: Kind, since: int, selection: ListOptions = EVERYTHING) -> Watch:
        """Watch changes of the selected objects of a kind, with faults."""
        self._watches = [watch for watch in self._watches if not watch.closed]
        inner = self._inner.watch(kind, since, selection)
        watch = FaultyWatch(inner, self._chance, self._clock, self._land)
        self._watches.append(watch)
        return watch

    def get_at_once(self, kind: Kind, namespace: str, name: str) -> Record | None:
        """Return the same as ``get``."""
        return self.get(kind, namespace, name)

    def subscribe(self, callback: ChangeCallback) -> Callable[[], None]:
        """Never call ``callback``: faults delay events, so every watch must be polled."""
        del callback
        return lambda: None

    # ---------------------------------------------------------------- writes

    def create(self, kind: Kind, bodies: Sequence[bytes]) -> Replies:
        """Create objects; if the reply is lost, a generated name or uid is unknown."""
        return self._write(bodies, lambda items: self._inner.create(kind, items))

    def update(self, kind: Kind, updates: Sequence[Update]) -> Replies:
        """Replace objects."""
        return self._write(updates, lambda items: self._inner.update(kind, items))

    def patch(self, kind: Kind, patches: Sequence[Patch]) -> Replies:
        """Change parts of objects; their status does not change."""
        return self._write(patches, lambda items: self._inner.patch(kind, items))

    def patch_status(self, kind: Kind, patches: Sequence[Patch]) -> Replies:
        """Change only the status of objects."""
        return self._write(patches, lambda items: self._inner.patch_status(kind, items))

    def delete(self, kind: Kind, deletions: Sequence[Deletion]) -> Replies:
        """Delete objects; those with finalizers are only marked."""
        return self._write(deletions, lambda items: self._inner.delete(kind, items))

    def bind(self, binds: Sequence[Bind]) -> Replies:
        """Bind pods to nodes."""
        return self._write(binds, self._inner.bind)

    def bind_units(self, units: Sequence[Sequence[Bind]]) -> UnitReplies:
        """Bind units, each as a whole or not at all: a fault affects a whole unit."""
        return self._spread(units, self._inner.bind_units, lambda unit, reply: [reply] * len(unit))

    def evict(self, evictions: Sequence[Eviction]) -> Replies:
        """Evict pods within their disruption budgets."""
        return self._write(evictions, self._inner.evict)

    def allowances(self) -> Mapping[str, int]:
        """Disruptions that each budget allows, as the inner store counts them, without faults."""
        return self._inner.allowances()

    def close(self) -> None:
        """Close the inner store; late writes are never executed."""
        self._late.clear()
        self._inner.close()

    # ---------------------------------------------------------------- internals

    def begin(self, write: Write) -> Future[Replies]:
        """Send a batch; binds take effect before their replies arrive, most replies arrive soon."""
        if self._wait is None or write.verb is not WriteVerb.BIND:
            return answered(self, write)
        binds = cast("Sequence[Bind]", write.items)
        now = self._clock.monotonic()
        self._land(now)
        if not self._chance.fires("late_answer"):
            return answered(self, write)
        rng, kept = self._chance.rng, list(binds)
        lands_after = LONGEST_LANDING * rng.random() ** 3
        answer = DelayedReplies(now + lands_after, self._clock, self._advance_time)

        def land() -> None:
            before, self._sent = self._sent, now
            answer.set_result(self.bind(kept))
            self._sent = before

        self._late.append(_DelayedWrite(now + lands_after * rng.random(), land))
        return answer

    def _advance_time(self, until: float) -> None:
        if self._wait is not None:
            self._wait(until)
        self._land(until)

    def _write(self, items: Sequence[T], send: Callable[[Sequence[T]], Replies]) -> Replies:
        return self._spread(items, send, lambda _, reply: reply)

    def _spread(
        self,
        items: Sequence[T],
        send: Callable[[Sequence[T]], Answers[R]],
        as_reply: Callable[[T, Reply], R],
    ) -> Answers[R]:
        """Run one write call with faults.

        ``as_reply`` converts the reply of a fault for an item.
        """
        now = self._clock.monotonic()
        self._land(now)
        chance = self._chance
        lost = [as_reply(item, _LOST) for item in items]
        if chance.fires("lost_request"):
            return lost
        if chance.fires("late_request"):
            longest = min(now, self._sent) + LONGEST_LANDING
            due = min(now + chance.rng.random() * LONGEST_LANDING, longest)
            kept = list(items)
            self._late.append(_DelayedWrite(due, lambda: send(kept)))
            return lost
        failures = self._failures(len(items))
        passed = [item for index, item in enumerate(items) if index not in failures]
        replies = iter(send(passed))
        if chance.fires("lost_reply"):
            return lost
        return [
            as_reply(item, failures[index]) if index in failures else next(replies)
            for index, item in enumerate(items)
        ]

    def _failures(self, count: int) -> dict[int, Reply]:
        """Items of a call that are not sent, with their replies."""
        chance = self._chance
        failures = {
            index: chance.rng.choice(_REFUSALS)
            for index in range(count)
            if chance.fires("refused_write")
        }
        if count > 1 and chance.fires("half_batch"):
            done = chance.rng.randint(1, count - 1)
            reply = chance.rng.choice((_LOST, *_REFUSALS))
            failures |= dict.fromkeys(range(done, count), reply)
        return failures

    def _land(self, now: float) -> None:
        """Execute the late writes that are due, in order."""
        while self._late:
            first = min(self._late, key=lambda each: each.due)
            if first.due > now:
                return
            self._late.remove(first)
            first.land()
