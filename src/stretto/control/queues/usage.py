"""Usage: what each queue holds by its live claims, kept row by row, exactly.

A pod counts for its queue from the moment its claim is granted until it ends or the claim is given
back. Whoever hears of a row calls ``look``, which compares the row as it is with what was charged
for it; so it does not matter in which order, or how often, news of a claim comes. Pods at a shard
are promised to their queue meanwhile, so that a round of handing out sees its own hand-outs.

Only planes that share by usage, or backfill, keep it; the others do not pay for it.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import inf
from typing import Final

import msgspec

from stretto.control.queues.backfill import BackfillReservation, EndTimes
from stretto.control.queues.by_request import NOT_NOW, Longest, UnitDemand
from stretto.control.queues.orders import NEVER, micros
from stretto.control.queues.tree import QueueTree
from stretto.state.queries.pool import Amounts, PoolView
from stretto.state.rows.lifecycle import PodState, UnitState
from stretto.state.rows.pods import Pods
from stretto.state.rows.shares import QueueShares
from stretto.state.work.changes import ClusterChanges, PodDeparture
from stretto.state.work.units import Unit, Units

_ON_NODES: Final = frozenset(
    int(state) for state in (PodState.NOMINATED, PodState.ASSUMED, PodState.BOUND)
)


class ChargedAmounts(msgspec.Struct, frozen=True, gc=False):
    """What was charged for one row."""

    #: The queue that it was charged to.
    queue: str
    #: The unit that it was charged for: the key of one of several pods, else the pod's uid.
    unit: str
    #: What it holds.
    amounts: Amounts
    #: Serial of the pod.
    serial: int
    #: When it is expected to end, in microseconds of the clock.
    end: int


class QueueUsage:
    """Claims and promises by queue, and when claims are expected to end."""

    def __init__(self, pods: Pods, units: Units, pool: PoolView) -> None:
        """Start with nothing held."""
        #: The cluster as one pool.
        self.pool = pool
        #: The queues in their tree, with what each holds or was promised.
        self.tree = QueueTree(pool)
        #: What claims hold, by queue.
        self.claims = QueueShares()
        #: What pods at shards may come to hold, by queue.
        self.promises = QueueShares()
        #: What claims free when, as far as run times are known.
        self.ends = EndTimes()
        self._pods = pods
        self._units = units
        self._held: dict[int, ChargedAmounts] = {}
        #: Rows that are charged, by queue, the oldest charge first.
        self._rows: dict[str, dict[int, None]] = {}
        self._sent: dict[Unit, tuple[str, Amounts]] = {}

    # ------------------------------------------------------------ claims

    def absorb(self, changes: ClusterChanges, now: float) -> None:
        """Claims that a batch makes, changes or ends; an arrival may use the row of one gone."""
        self.gone(changes.departures)
        self.look([arrival.row for arrival in changes.arrivals], now)
        for rows in (changes.bound, changes.released, changes.resized):
            self.look(rows, now)

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
                    self._charge(row, held.queue, held.unit, held.end)
                    continue
            unit = self._units.of_row(row)
            if here and unit is not None and self._units.serial[row] == serials[row]:
                sent = self._sent.get(unit)
                queue = unit.queue if sent is None else sent[0]
                self._charge(row, queue, unit.key, _end(now, unit.duration))

    def found(self, row: int, queue: str, unit: str, duration: float) -> None:
        """A pod was on a node when it was first seen, and asks for this queue."""
        if row not in self._held:
            end = _end(float(self._pods.since[row]), duration)
            self._charge(row, queue, unit or self._pods.uid[row], end)

    def gone(self, departures: Iterable[PodDeparture]) -> None:
        """Pods have ended."""
        for row, serial, _, _ in departures:
            held = self._held.get(row)
            if held is not None and held.serial == serial:
                self._refund(row, held)

    def move(self, unit: Unit, queue: str) -> None:
        """A unit goes on in another queue, and takes along what it holds if that has room for it.

        Else what was admitted counts where it was admitted: a new label is no way past a limit.
        """
        rows = [row for row in unit.bound if row in self._held and self._held[row].queue != queue]
        sent = self._sent.get(unit)
        room = self.tree.room(queue)
        asked = _added(self._sum(rows), sent[1] if sent is not None else ())
        if room is not None and not room.admits(asked, not self.tree.runs(queue, unit.key)):
            return
        for row in rows:
            held = self._held[row]
            self._refund(row, held)
            self._charge(row, queue, held.unit, held.end)
        if sent is not None:
            self.back(unit)
            self._promise(unit, queue)

    def held(self) -> Mapping[int, ChargedAmounts]:
        """Every row that is charged, for audits."""
        return self._held

    # ------------------------------------------------------------ promises

    def promise(self, unit: Unit) -> None:
        """Pods of a unit are at a shard: what it has there may soon be its queue's.

        Where some have been answered the rest stays promised to the queue that sent them.
        """
        sent = self._sent.get(unit)
        self.back(unit)
        self._promise(unit, unit.queue if sent is None else sent[0])

    def back(self, unit: Unit) -> None:
        """Nothing of a unit is at a shard any more."""
        sent = self._sent.pop(unit, None)
        if sent is not None:
            self.promises.refund(*sent)
            self.tree.refund(sent[0], unit.key, sent[1])

    def _promise(self, unit: Unit, queue: str) -> None:
        sent = self._sent[unit] = (queue, self._sum(unit.away))
        self.promises.charge(*sent)
        self.tree.charge(queue, unit.key, sent[1])

    def rows_of(self, queue: str) -> Iterable[int]:
        """Rows that are charged to a queue's own units."""
        return self._rows.get(queue, ())

    def sent(self) -> dict[Unit, str]:
        """The queue to which each unit at a shard was promised something, for audits."""
        return {unit: queue for unit, (queue, _) in self._sent.items()}

    # ------------------------------------------------------------ reading

    def demand(self, unit: Unit) -> UnitDemand:
        """What a unit in its queue asks of the pool."""
        pending = unit.pending
        least = pending[: max(unit.still_needed, 1)]
        most = self._sum(pending)
        fresh = not self.tree.runs(unit.queue, unit.key)
        return UnitDemand(most if len(least) == len(pending) else self._sum(least), most, fresh)

    def may_start(self, unit: Unit) -> bool:
        """Whether the limits of its queue leave room for a unit."""
        room = self.tree.room(unit.queue)
        if room is None:
            return True
        asked = self.demand(unit)
        return room.admits(asked.least, asked.fresh)

    def limited(self, queue: str, longest: Longest) -> Longest:
        """The longest run time of what may start, where the limits of a queue have a say too."""
        room = self.tree.room(queue)
        if room is None:
            return longest
        return lambda asked: longest(asked) if room.admits(asked.least, asked.fresh) else NOT_NOW

    def within(self, unit: Unit, rows: Sequence[int]) -> Sequence[int]:
        """The first of some pods of a unit, as many as the limits of its queue leave room for.

        What the unit needs at once comes first, so it is among them when the unit may start.
        """
        room = self.tree.room(unit.queue)
        if room is None or not room.left:
            return rows
        left, kept = dict(room.left), 0
        for row in rows:
            asked = self._asks(row)
            if any(left.get(column, amount) < amount for column, amount in asked):
                break
            for column, amount in asked:
                if column in left:
                    left[column] -= amount
            kept += 1
        return rows[:kept]

    def reserve(self, head: Unit, now: float) -> BackfillReservation:
        """Keep for a head that was tried and failed what it needs."""
        free = dict(self.pool.free())
        for queue in self.promises.queues():
            for column, amount in self.promises.usage(queue).items():
                free[column] = free.get(column, 0) - amount
        again = micros(head.not_before) if head.state is UnitState.BACKOFF else NEVER
        return BackfillReservation(self.demand(head).least, free, self.ends, micros(now), again)

    # ------------------------------------------------------------ one row

    def _charge(self, row: int, queue: str, unit: str, end: int) -> None:
        held = ChargedAmounts(queue, unit, self._asks(row), int(self._pods.serial[row]), end)
        self._held[row] = held
        self._rows.setdefault(queue, {})[row] = None
        self.claims.charge(queue, held.amounts)
        self.tree.charge(queue, unit, held.amounts)
        self.ends.add(end, held.amounts)

    def _refund(self, row: int, held: ChargedAmounts) -> None:
        del self._held[row], self._rows[held.queue][row]
        self.claims.refund(held.queue, held.amounts)
        self.tree.refund(held.queue, held.unit, held.amounts)
        self.ends.remove(held.end, held.amounts)

    def _asks(self, row: int) -> Amounts:
        return self.pool.requests_of(int(self._pods.class_id[row]))

    def _sum(self, rows: Iterable[int]) -> Amounts:
        """What these rows ask together, by column in order."""
        rows = tuple(rows)
        if len(rows) == 1:
            return tuple(sorted(self._asks(rows[0])))
        class_ids = self._pods.class_id
        total: dict[int, int] = {}
        for class_id, count in Counter(int(class_ids[row]) for row in rows).items():
            for column, amount in self.pool.requests_of(class_id):
                total[column] = total.get(column, 0) + amount * count
        return tuple(sorted(total.items()))


def _added(one: Amounts, other: Amounts) -> Amounts:
    total = dict(one)
    for column, amount in other:
        total[column] = total.get(column, 0) + amount
    return tuple(total.items())


def _end(start: float, duration: float) -> int:
    """When a pod that starts now is expected to end."""
    return NEVER if duration == inf else micros(start) + micros(duration)
