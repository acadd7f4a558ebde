"""Usage: what each queue holds by its live claims, kept row by row, exactly.

A pod counts for its queue from the moment its claim is granted until it ends or the claim is given
back. Whoever hears of a row calls ``look``, which compares the row as it is with what was charged
for it; so it does not matter in which order, or how often, news of a claim comes. Pods at a shard
are promised to their queue meanwhile, so that a round of handing out sees its own hand-outs.

Only planes that share by usage, or backfill, keep it; the others do not pay for it.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from math import inf
from typing import Final

import msgspec

from stretto.control.dispatcher.backfill import Ends, Reservation
from stretto.control.dispatcher.orders import NEVER, micros
from stretto.control.dispatcher.shelves import Demand
from stretto.state.changes import Departure
from stretto.state.lifecycle import PodState, UnitState
from stretto.state.pods import Pods
from stretto.state.pool import Amounts, PoolView
from stretto.state.shares import Shares
from stretto.state.units import Unit, Units

_ON_NODES: Final = frozenset(
    int(state) for state in (PodState.NOMINATED, PodState.ASSUMED, PodState.BOUND)
)


class Held(msgspec.Struct, frozen=True, gc=False):
    """What was charged for one row."""

    #: The queue that it was charged to.
    queue: str
    #: What it holds.
    amounts: Amounts
    #: Serial of the pod.
    serial: int
    #: When it is expected to end, in microseconds of the clock.
    end: int


class Usage:
    """Claims and promises by queue, and when claims are expected to end."""

    def __init__(self, pods: Pods, units: Units, pool: PoolView) -> None:
        """Start with nothing held."""
        #: The cluster as one pool.
        self.pool = pool
        #: What claims hold, by queue.
        self.claims = Shares()
        #: What pods at shards may come to hold, by queue.
        self.promises = Shares()
        #: What claims free when, as far as run times are known.
        self.ends = Ends()
        #: Queues whose claims or promises have changed since somebody last looked.
        self.changed: set[str] = set()
        self._pods = pods
        self._units = units
        self._held: dict[int, Held] = {}
        self._sent: dict[Unit, tuple[str, Amounts, int]] = {}

    # ------------------------------------------------------------ claims

    def look(self, rows: Iterable[int], now: float) -> None:
        """Something was heard of these rows: charge new claims, refund those that are no more."""
        states, serials = self._pods.state, self._pods.serial
        for row in rows:
            held = self._held.get(row)
            here = int(states[row]) in _ON_NODES
            if held is not None:
                same = held.serial == int(serials[row])
                if here and same and held.amounts == self._asks(row):
                    continue
                self._refund(row, held)
                if here and same:
                    self._charge(row, held.queue, held.end)
                    continue
            unit = self._units.of_row(row)
            if here and unit is not None and self._units.serial[row] == serials[row]:
                self._charge(row, unit.queue, _end(now, unit.duration))

    def found(self, row: int, queue: str, duration: float) -> None:
        """A pod of no unit was on a node when it was first seen, and asks for this queue."""
        if row not in self._held:
            self._charge(row, queue, _end(float(self._pods.since[row]), duration))

    def gone(self, departures: Iterable[Departure]) -> None:
        """Pods have ended."""
        for row, serial, _ in departures:
            held = self._held.get(row)
            if held is not None and held.serial == serial:
                self._refund(row, held)

    def move(self, unit: Unit, queue: str) -> None:
        """A unit goes on in another queue, and takes along what it holds."""
        for row in unit.bound:
            held = self._held.get(row)
            if held is not None and held.queue != queue:
                self._refund(row, held)
                self._charge(row, queue, held.end)
        if unit in self._sent:
            self.back(unit)
            self.promise(unit, queue)

    def held(self) -> Mapping[int, Held]:
        """Every row that is charged, for audits."""
        return self._held

    # ------------------------------------------------------------ promises

    def promise(self, unit: Unit, queue: str = "") -> None:
        """Pods of a unit are at a shard: what it has there may soon be its queue's."""
        self.back(unit)
        amounts = self._sum(unit.away)
        sent = self._sent[unit] = (queue or unit.queue, amounts, len(unit.away))
        self.promises.charge(sent[0], amounts)
        self.changed.add(sent[0])

    def back(self, unit: Unit) -> None:
        """Nothing of a unit is at a shard any more."""
        sent = self._sent.pop(unit, None)
        if sent is not None:
            self.promises.refund(sent[0], sent[1])
            self.changed.add(sent[0])

    # ------------------------------------------------------------ reading

    def counted(self, queue: str) -> dict[int, int]:
        """What a queue holds or was promised, by column."""
        found = dict(self.claims.usage(queue))
        for column, amount in self.promises.usage(queue).items():
            found[column] = found.get(column, 0) + amount
        return found

    def demand(self, unit: Unit) -> Demand:
        """What a unit in its queue asks of the pool."""
        pending = unit.pending
        least = pending[: max(unit.still_needed, 1)]
        most = self._sum(pending)
        return Demand(most if len(least) == len(pending) else self._sum(least), most)

    def reserve(self, head: Unit, now: float) -> Reservation:
        """Keep for a head that was tried and failed what it needs."""
        free = dict(self.pool.free())
        for queue in self.promises.queues():
            for column, amount in self.promises.usage(queue).items():
                free[column] = free.get(column, 0) - amount
        again = micros(head.not_before) if head.state is UnitState.BACKOFF else NEVER
        return Reservation(self.demand(head).least, free, self.ends, micros(now), again)

    # ------------------------------------------------------------ one row

    def _charge(self, row: int, queue: str, end: int) -> None:
        held = Held(queue, self._asks(row), int(self._pods.serial[row]), end)
        self._held[row] = held
        self.claims.charge(queue, held.amounts)
        self.ends.add(end, held.amounts)
        self.changed.add(queue)

    def _refund(self, row: int, held: Held) -> None:
        del self._held[row]
        self.claims.refund(held.queue, held.amounts)
        self.ends.remove(held.end, held.amounts)
        self.changed.add(held.queue)

    def _asks(self, row: int) -> Amounts:
        return self.pool.asks(int(self._pods.class_id[row]))

    def _sum(self, rows: Iterable[int]) -> Amounts:
        """What these rows ask together, by column in order."""
        class_ids = self._pods.class_id
        total: dict[int, int] = {}
        for class_id, count in Counter(int(class_ids[row]) for row in rows).items():
            for column, amount in self.pool.asks(class_id):
                total[column] = total.get(column, 0) + amount * count
        return tuple(sorted(total.items()))


def _end(start: float, duration: float) -> int:
    """When a pod that starts now is expected to end."""
    return NEVER if duration == inf else micros(start) + micros(duration)
