"""EASY backfill: what may start before the head of a queue without delaying it.

The head, and nobody else, has a reservation: its *shadow time*, the earliest time at which it fits
if what runs ends when it is expected to, and what it leaves over then. A later unit may start now
when it ends by the shadow time, or when it uses only what the head leaves over (Lifka 1995).

Amounts are sums over the cluster: exact on one pool, an estimate on many nodes, where what fits
the sum may fit no node. A head that was tried and failed fits no earlier than something ends, so
the shadow time is that of an end, whatever the sums say. What states no run time never ends.
"""

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator, Mapping

from stretto.control.queues.by_request import NOT_NOW, UnitDemand
from stretto.control.queues.orders import NEVER, RankOrder, first_come
from stretto.state.queries.pool import Amounts


class EndTimes:
    """What running pods hold, by the time at which they are expected to end."""

    def __init__(self) -> None:
        """Start with nothing running."""
        self._times: list[int] = []
        self._held: dict[int, dict[int, int]] = {}
        self._pods: dict[int, int] = {}

    def add(self, end: int, amounts: Amounts) -> None:
        """A pod runs until then; what never ends is not kept."""
        if end >= NEVER:
            return
        if end not in self._held:
            insort(self._times, end)
            self._held[end] = {}
        held = self._held[end]
        for column, amount in amounts:
            held[column] = held.get(column, 0) + amount
        self._pods[end] = self._pods.get(end, 0) + 1

    def remove(self, end: int, amounts: Amounts) -> None:
        """A pod that was to run until then runs no more."""
        if end >= NEVER:
            return
        self._pods[end] -= 1
        if not self._pods[end]:
            del self._pods[end], self._held[end], self._times[bisect_left(self._times, end)]
            return
        held = self._held[end]
        for column, amount in amounts:
            held[column] -= amount

    def __iter__(self) -> Iterator[tuple[int, Mapping[int, int]]]:
        """(end, amounts that it frees), the earliest first."""
        return ((end, self._held[end]) for end in self._times)


class BackfillReservation:
    """What is kept for a head, and what is left for those behind it; all in one round."""

    def __init__(
        self,
        head: Amounts,
        free: Mapping[int, int],
        ends: Iterable[tuple[int, Mapping[int, int]]],
        now: int,
        at_least: int = NEVER,
    ) -> None:
        """Reserve for a head that was tried and does not fit now.

        Args:
            head: without which it does not start.
            free: what the pool has free now.
            ends: what is freed when, the earliest first.
            now: clock time in microseconds.
            at_least: time at which it is tried again though nothing ends, if it fits by then.
        """
        #: Clock time in microseconds.
        self.now: int = now
        #: What is free now.
        self.free: dict[int, int] = dict(free)
        #: When the head is expected to fit, in microseconds; ``NEVER`` where nothing frees enough.
        self.shadow: int = NEVER
        then = dict(free)
        if at_least < NEVER and covers(then, head):
            self.shadow = max(at_least, now)
        for end, amounts in ends:
            if end > self.shadow:
                break
            for column, amount in amounts.items():
                then[column] = then.get(column, 0) + amount
            if self.shadow == NEVER and covers(then, head):
                self.shadow = max(end, now)
        for column, amount in head:
            then[column] = then.get(column, 0) - amount
        #: What the head leaves over at the shadow time; negative for what it lacks even then.
        self.extra: dict[int, int] = then

    def longest(self, asked: UnitDemand) -> int:
        """The longest run time in microseconds with which such a unit may start now.

        ``NEVER`` for any run time, ``NOT_NOW`` for none.
        """
        if not covers(self.free, asked.least):
            return NOT_NOW
        if covers(self.extra, asked.most):
            return NEVER
        return NEVER - 1 if self.shadow == NEVER else self.shadow - self.now

    def take(self, asked: UnitDemand, duration: int) -> None:
        """Such a unit starts now."""
        for column, amount in asked.most:
            self.free[column] = self.free.get(column, 0) - amount
        if duration >= NEVER or self.now + duration > self.shadow:
            for column, amount in asked.most:
                self.extra[column] = self.extra.get(column, 0) - amount


class EasyOrder(RankOrder):
    """First come, first served; who may pass a blocked head is found by what it asks."""

    def __init__(self) -> None:
        """Start empty."""
        super().__init__(first_come)


def covers(have: Mapping[int, int], amounts: Amounts) -> bool:
    """Whether so much of everything is there; what is not named is not there."""
    return all(have.get(column, 0) >= amount for column, amount in amounts)
