"""EASY backfill: start units behind a blocked head without delaying it (Lifka 1995).

Only the head has a reservation: the *shadow time*, the earliest time at which it fits if running
pods end as expected, and the *extra* amounts that remain then. A later unit may start now if it
ends by the shadow time, or if it needs only extra amounts.

Amounts are sums over the cluster: exact on one node, an estimate on many, where a request that
fits the sum may fit no node. A head that has failed fits no earlier than the next end of a pod, so
the shadow time is the end of a pod even if the sums suffice now. A pod without a run time never
ends.
"""

from collections.abc import Iterable, Mapping

from stretto.base.amounts import add_amounts
from stretto.control.queues.by_request import NOT_NOW, Longest
from stretto.control.queues.orders import RankOrder, first_come
from stretto.state.queries.pool import Amounts
from stretto.state.queues.demand import UnitDemand
from stretto.state.queues.end_times import NEVER, micros
from stretto.state.queues.usage import QueueUsage
from stretto.state.rows.lifecycle import UnitState
from stretto.state.work.units import Unit


class BackfillReservation:
    """The reservation of a head and the capacity that remains for later units, for one round."""

    def __init__(
        self,
        head: Amounts,
        free: Mapping[int, int],
        ends: Iterable[tuple[int, Mapping[int, int]]],
        now: int,
        at_least: int = NEVER,
    ) -> None:
        """Reserve for a head that has failed and does not fit now.

        Args:
            head: the minimum amounts of the head.
            free: free amounts of the pool by column.
            ends: (end in microseconds, freed amounts), earliest first.
            now: clock time in microseconds.
            at_least: time of the next retry of the head, in microseconds; the retry needs no end of
                a pod.
        """
        #: Clock time in microseconds.
        self.now: int = now
        #: Free amounts now, by column.
        self.free: dict[int, int] = dict(free)
        #: Expected start of the head in microseconds; ``NEVER`` if no end frees enough.
        self.shadow: int = NEVER
        then = dict(free)
        if at_least < NEVER and covers(then, head):
            self.shadow = max(at_least, now)
        for end, amounts in ends:
            if end > self.shadow:
                break
            add_amounts(then, amounts.items())
            if self.shadow == NEVER and covers(then, head):
                self.shadow = max(end, now)
        add_amounts(then, head, -1)
        #: Amounts left next to the head at the shadow time; negative for a shortage.
        self.extra: dict[int, int] = then

    def longest(self, demand: UnitDemand) -> int:
        """Longest run time in microseconds with which a unit of this demand may start now.

        ``NEVER`` for any run time, ``NOT_NOW`` for none.
        """
        if not covers(self.free, demand.least):
            return NOT_NOW
        if covers(self.extra, demand.most):
            return NEVER
        return NEVER - 1 if self.shadow == NEVER else self.shadow - self.now

    def take(self, demand: UnitDemand, duration: int) -> None:
        """Subtract a unit that starts now and runs for ``duration`` microseconds."""
        for column, amount in demand.most:
            self.free[column] = self.free.get(column, 0) - amount
        if duration >= NEVER or self.now + duration > self.shadow:
            for column, amount in demand.most:
                self.extra[column] = self.extra.get(column, 0) - amount


class EasyOrder(RankOrder):
    """First come, first served, with backfill past a blocked head."""

    def __init__(self) -> None:
        """Start empty."""
        super().__init__(first_come)


def covers(have: Mapping[int, int], amounts: Amounts) -> bool:
    """Return whether all amounts are available; an absent column has none."""
    return all(have.get(column, 0) >= amount for column, amount in amounts)


def reserve(usage: QueueUsage, head: Unit, now: float) -> BackfillReservation:
    """Reservation of a head that was tried and failed; ``now`` is clock time in seconds."""
    again = micros(head.not_before) if head.state is UnitState.BACKOFF else NEVER
    least = usage.demand(head).least
    return BackfillReservation(least, usage.uncommitted(), usage.ends, micros(now), again)


def within_limits(usage: QueueUsage, queue: str, longest: Longest) -> Longest:
    """``longest``, restricted to demands that the limits of a queue admit."""
    headroom = usage.tree.headroom(queue)
    if headroom is None:
        return longest
    return lambda demand: (
        longest(demand) if headroom.admits(demand.least, demand.fresh) else NOT_NOW
    )
