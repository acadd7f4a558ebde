"""The loop that runs controllers: it reads changes, makes keys due and reconciles due keys.

The loop runs on any clock: a daemon steps it in real time, a simulation whenever virtual time
advances. If the reconciliation of a key fails, only this key of this controller is retried, with
exponential back-off.
"""

import logging
from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import partial
from typing import Final

import msgspec

from stretto.base.clock import Clock
from stretto.base.errors import StrettoError, WentBackError
from stretto.reconcile.cache import (
    Change,
    DecodedForms,
    KindSelection,
    StoreCache,
    every_object,
)
from stretto.reconcile.queue import DelayQueue
from stretto.reconcile.reconciler import Later, Reconciler, RetryError, Sweep
from stretto.stores.later_lists import NotListedError
from stretto.stores.store import Store

_LOG: Final = logging.getLogger(__name__)

QUIET_ROUNDS: Final = 10_000
"""Reconciliations in one step at one time after which the loop reports a failure to settle."""

LISTED_WITHIN: Final = 0.25
"""Seconds before a key that needs an incomplete list is retried."""
SILENCE: Final = 10.0
"""Seconds before a store that did not answer is read again; meanwhile the other stores are read."""


class RetryDelays(msgspec.Struct, frozen=True):
    """Delay before a failed key is retried: it doubles from ``first`` up to ``longest``."""

    #: Seconds after the first failure.
    first: float = 5.0
    #: Upper bound in seconds.
    longest: float = 60.0

    def delay(self, failures: int) -> float:
        """Return the delay in seconds after a number of failures in a row."""
        return float(min(self.first * 2 ** min(failures - 1, 32), self.longest))


class ReconcileLoop:
    """Runner of controllers over the caches of one or more stores."""

    def __init__(
        self,
        clock: Clock,
        backoff: RetryDelays = RetryDelays(),  # noqa: B008
        wake: Callable[[], None] = lambda: None,
        silence: float = SILENCE,
    ) -> None:
        """Create a loop without stores and controllers.

        Args:
            clock: monotonic time for delays.
            backoff: delays of failed keys.
            wake: called on any thread when the next step has work.
            silence: seconds before a store that did not answer is read again.
        """
        self._clock = clock
        self._silence = silence
        self._backoff = backoff
        self._wake = wake
        self._posted: deque[tuple[str, Hashable]] = deque()
        self._caches: dict[str, StoreCache] = {}
        self._ends: dict[str, Callable[[], None]] = {}
        self._controllers: list[Reconciler] = []
        self._queues: list[DelayQueue[Hashable]] = []
        self._failures: dict[tuple[int, Hashable], int] = {}
        self._changes: list[Change] = []
        self._forms = DecodedForms()
        self._silent: dict[str, float] = {}
        #: Last error of each key that waits for a retry: (name of the controller, key) -> message.
        self.errors: dict[tuple[str, Hashable], str] = {}
        #: Number of reconciliations by controller name and result, ``ok`` or ``error``.
        self.counts: Counter[tuple[str, str]] = Counter()
        #: Total seconds of reconciliations by controller name.
        self.seconds: Counter[str] = Counter()

    # ---------------------------------------------------------------- parts

    def add_store(
        self, name: str, store: Store, select: KindSelection = every_object
    ) -> StoreCache:
        """Read the selected objects of a store; controllers see changes under its name."""
        cache = StoreCache(name, store, self._changes.append, self._forms, select)
        self._caches[name] = cache
        self._ends[name] = store.subscribe(lambda _: self._wake())
        return cache

    def remove_store(self, name: str) -> None:
        """Stop reading a store; its objects count as deleted."""
        cache = self._caches.pop(name, None)
        self._silent.pop(name, None)
        if cache is not None:
            self._ends.pop(name)()
            cache.close()

    def add_controllers(self, controllers: Sequence[Reconciler]) -> None:
        """Run controllers; each change is passed to them in this order."""
        for controller in controllers:
            self._controllers.append(controller)
            self._queues.append(DelayQueue())

    def make_due(self, name: str, key: Hashable, delay: float = 0.0) -> None:
        """Make a key of the controller of that name due after a delay in seconds."""
        at = self._clock.monotonic() + delay
        for controller, queue in zip(self._controllers, self._queues, strict=True):
            if controller.name == name:
                queue.add(key, at)

    def post(self, name: str, key: Hashable) -> None:
        """Make a key due without a delay; safe from any thread."""
        self._posted.append((name, key))
        self._wake()

    # ---------------------------------------------------------------- running

    def step(self, most: int | None = None) -> int:
        """Reconcile all due keys, including those that become due meanwhile; return the number.

        Args:
            most: number of reconciliations after which the step ends; ``None`` for no limit.

        Raises:
            StrettoError: the controllers do not settle.
        """
        now, done = self._clock.monotonic(), 0
        while True:
            self._read(now)
            index = self._next_index(now)
            if index is None:
                return done
            key = self._queues[index].pop(now)
            if key is not None:
                self._reconcile(index, key, now)
                done += 1
            if most is not None and done >= most:
                return done
            if done >= QUIET_ROUNDS * max(1, len(self._controllers)):
                names = ", ".join(self.busy(now)) or "unknown"
                raise StrettoError(f"controllers do not settle; still due: {names}")

    def next_due(self) -> float | None:
        """Return the monotonic time of the next key; ``None`` if no key waits."""
        times = [due for queue in self._queues if (due := queue.next_due()) is not None]
        return min([*times, *self._silent.values()], default=None)

    def busy(self, now: float) -> list[str]:
        """Return the names of the controllers with due keys."""
        return [
            controller.name
            for controller, queue in zip(self._controllers, self._queues, strict=True)
            if (due := queue.next_due()) is not None and due <= now
        ]

    def lengths(self, now: float) -> dict[str, tuple[int, int]]:
        """Return the numbers of due keys and of later keys, by controller name."""
        return {
            controller.name: (due := queue.due_by(now), len(queue) - due)
            for controller, queue in zip(self._controllers, self._queues, strict=True)
        }

    def failed(self) -> Counter[str]:
        """Return the number of keys whose last reconciliation failed, by controller name."""
        return Counter(name for name, _ in self.errors)

    def _read(self, now: float) -> None:
        """Read all stores and make affected keys due."""
        for name, cache in tuple(self._caches.items()):
            if cache.has_work or name in self._silent:
                self._poll(name, cache, now)
        while self._posted:
            self.make_due(*self._posted.popleft())
        while self._changes:
            changes, self._changes[:] = tuple(self._changes), ()
            sweeps: dict[tuple[int, str], tuple[Sweep, Change]] = {}
            for change in changes:
                for index, controller in enumerate(self._controllers):
                    affected = partial(controller.affected, change)
                    for sweep in self._offer(index, affected, change, now):
                        sweeps[index, sweep.name] = sweep, change
            for (index, _), (sweep, change) in sweeps.items():
                self._offer(index, sweep.keys, change, now)

    def _offer(
        self, index: int, keys: Callable[[], Iterable[Hashable]], change: Change, now: float
    ) -> Sequence[Sweep]:
        """Make affected keys due; return the sweeps. A malformed object stops no others."""
        queue, sweeps = self._queues[index], list[Sweep]()
        try:
            for key in keys():
                if isinstance(key, Sweep):
                    sweeps.append(key)
                elif isinstance(key, Later):
                    queue.add(key.key, now + key.delay)
                else:
                    queue.add(key, now)
        except StrettoError:
            raise  # the change would be lost: the caller starts with fresh lists
        except Exception:  # noqa: BLE001
            place = f"{change.kind.kind} {'/'.join(change.object.name)} of {change.source}"
            _LOG.exception("%s: %s is ignored", self._controllers[index].name, place)
        return sweeps

    def _poll(self, name: str, cache: StoreCache, now: float) -> None:
        """Read one store; after an error or no answer, the store is skipped for a while.

        Raises:
            WentBackError: the store was restored from an older state.
        """
        if self._silent.get(name, now) > now:
            return
        try:
            cache.poll(now)
            self._silent.pop(name, None)
        except WentBackError:
            raise  # the caches are stale
        except StrettoError as error:
            self._silent[name] = now + self._silence
            _LOG.warning("store %s: %s; read again in %g s", name, error, self._silence)

    def _next_index(self, now: float) -> int | None:
        """Return the index of the first controller with a due key."""
        for index, queue in enumerate(self._queues):
            due = queue.next_due()
            if due is not None and due <= now:
                return index
        return None

    def _reconcile(self, index: int, key: Hashable, now: float) -> None:
        """Reconcile one key; a failure delays this key only."""
        controller, place = self._controllers[index], (index, key)
        name, began = controller.name, self._clock.monotonic()
        try:
            again = controller.reconcile(key, now)
        except Exception as error:  # noqa: BLE001 - a malformed object must not stop other objects
            failures = self._failures[place] = self._failures.get(place, 0) + 1
            after = error.after if isinstance(error, RetryError) else None
            after = LISTED_WITHIN if isinstance(error, NotListedError) else after
            delay = self._backoff.delay(failures) if after is None else after
            self.errors[name, key] = str(error)
            self.counts[name, "error"] += 1
            unexpected = not isinstance(error, RetryError | StrettoError)
            level = logging.ERROR if unexpected else logging.DEBUG
            text = "%s: %s: %s; retried in %g s"
            _LOG.log(level, text, name, key, error, delay, exc_info=unexpected)
            self._queues[index].add(key, now + delay)
            return
        self._failures.pop(place, None)
        self.errors.pop((name, key), None)
        self.counts[name, "ok"] += 1
        self.seconds[name] += self._clock.monotonic() - began  # type: ignore[assignment]
        if again is not None:
            self._queues[index].add(key, now + again)
