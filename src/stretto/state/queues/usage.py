"""Usage: the exact amounts that each queue uses by its live claims, row by row.

A pod counts for its queue from the grant of its claim until it ends or the claim is withdrawn.
``look`` compares the current state of rows with their charges, so neither the order nor the number
of notifications matters. Pods that are dispatched but not yet answered are promised to their queue,
so that one round of dispatch includes its own effect.

Only planes that share by usage or use backfill have it.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import inf

import msgspec

from stretto.base.amounts import add_amounts
from stretto.state.queries.pool import Amounts, PoolView
from stretto.state.queues.demand import UnitDemand
from stretto.state.queues.end_times import NEVER, EndTimes, micros
from stretto.state.queues.shares import QueueShares
from stretto.state.queues.tree import QueueBranch, QueueTree
from stretto.state.rows.lifecycle import CHARGED
from stretto.state.rows.pods import Pods
from stretto.state.work.changes import ClusterChanges, PodDeparture
from stretto.state.work.units import DEFAULT_QUEUE, Unit, Units


class ChargedAmounts(msgspec.Struct, frozen=True, gc=False):
    """The charge for one row."""

    #: The charged queue.
    queue: str
    #: The charged unit: its key, or the pod's uid for a pod outside a unit.
    unit: str
    #: The charged amounts.
    amounts: Amounts
    #: Serial of the pod.
    serial: int
    #: Expected end in microseconds of the clock.
    end: int


class QueueUsage:
    """Claims and promises by queue, and the expected ends of claims."""

    def __init__(self, pods: Pods, units: Units, pool: PoolView) -> None:
        """Start without claims."""
        #: The cluster as one pool.
        self.pool = pool
        #: The tree of queues, charged with claims and promises.
        self.tree = QueueTree(pool)
        #: Claims by queue.
        self.claims = QueueShares()
        #: Promises (pods that are dispatched but not answered) by queue.
        self.promises = QueueShares()
        #: Amounts by expected end, for pods with a run time.
        self.ends = EndTimes()
        #: Capacity that frameworks hold of each queue besides pods: offers, and tasks without a
        #: pod.
        self.offered: dict[str, Amounts] = {}
        self._pods = pods
        self._units = units
        self._held: dict[int, ChargedAmounts] = {}
        #: Charged rows by queue, the oldest charge first.
        self._rows: dict[str, dict[int, None]] = {}
        self._sent: dict[Unit, tuple[str, Amounts]] = {}

    # ------------------------------------------------------------ claims

    def absorb(self, changes: ClusterChanges, now: float) -> None:
        """Apply a batch of changes.

        Departures are first, because an arrival may reuse their row.
        """
        self.gone(changes.departures)
        self.look([arrival.row for arrival in changes.arrivals], now)
        for rows in (changes.bound, changes.released, changes.resized):
            self.look(rows, now)

    def look(self, rows: Iterable[int], now: float) -> None:
        """Compare rows with their charges: charge new claims, refund ended ones."""
        states, serials = self._pods.state, self._pods.serial
        for row in rows:
            held = self._held.get(row)
            here = int(states[row]) in CHARGED
            if held is not None:
                same = held.serial == int(serials[row])
                if here and same and held.amounts == self._requests(row):
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
        """Charge a pod of this queue that already had a node when it was first seen."""
        if row not in self._held:
            end = _end(float(self._pods.since[row]), duration)
            self._charge(row, queue, unit or self._pods.uid[row], end)

    def gone(self, departures: Iterable[PodDeparture]) -> None:
        """Refund pods that have ended."""
        for row, serial, _, _ in departures:
            held = self._held.get(row)
            if held is not None and held.serial == serial:
                self._refund(row, held)

    def move(self, unit: Unit, queue: str) -> None:
        """Move the charges of a unit to another queue, if its headroom admits them.

        Otherwise they stay in the admitting queue: a label change does not bypass a limit.
        """
        rows = [row for row in unit.bound if row in self._held and self._held[row].queue != queue]
        sent = self._sent.get(unit)
        headroom = self.tree.headroom(queue)
        demand = _added(self.total(rows), sent[1] if sent is not None else ())
        fresh = not self.tree.runs(queue, unit.key)
        if headroom is not None and not headroom.admits(demand, fresh):
            return
        for row in rows:
            held = self._held[row]
            self._refund(row, held)
            self._charge(row, queue, held.unit, held.end)
        if sent is not None:
            self.back(unit)
            self._promise(unit, queue)

    def held(self) -> Mapping[int, ChargedAmounts]:
        """All charged rows, for audits."""
        return self._held

    # ------------------------------------------------------------ promises

    def promise(self, unit: Unit) -> None:
        """Promise the dispatched pods of a unit to its queue.

        If only some have been answered, the rest stays promised to the queue that sent them.
        """
        sent = self._sent.get(unit)
        self.back(unit)
        self._promise(unit, unit.queue if sent is None else sent[0])

    def back(self, unit: Unit) -> None:
        """Withdraw the promise of a unit after none of its pods is dispatched any more."""
        sent = self._sent.pop(unit, None)
        if sent is not None:
            self.promises.refund(*sent)
            self.tree.refund(sent[0], unit.key, sent[1])

    def _promise(self, unit: Unit, queue: str) -> None:
        sent = self._sent[unit] = (queue, self.total(unit.away))
        self.promises.charge(*sent)
        self.tree.charge(queue, unit.key, sent[1])

    def queue_of(self, row: int) -> str:
        """Queue to which a pod is charged, or to which its pending unit belongs."""
        held = self._held.get(row)
        if held is not None:
            return held.queue
        unit = self._units.of_row(row)
        return unit.queue if unit is not None else DEFAULT_QUEUE

    def rows_of(self, queue: str) -> Iterable[int]:
        """Rows charged to the queue itself."""
        return self._rows.get(queue, ())

    def rows_under(self, branch: QueueBranch) -> Iterator[int]:
        """Rows charged to a queue and its descendants."""
        stack = [branch]
        while stack:
            each = stack.pop()
            stack += each.children
            yield from self._rows.get(each.name, ())

    def promised(self) -> Iterable[tuple[str, Amounts]]:
        """Queue and amounts of each dispatched unit that is not answered yet."""
        return self._sent.values()

    def sent(self) -> dict[Unit, str]:
        """The promised queue of each dispatched unit, for audits."""
        return {unit: queue for unit, (queue, _) in self._sent.items()}

    def offer(self, queue: str, amounts: Amounts) -> None:
        """Replace the capacity that frameworks hold of a queue besides pods."""
        before = self.offered.pop(queue, ())
        if before:
            self.tree.add_offered(queue, before, -1)
        if amounts:
            self.tree.add_offered(queue, amounts, 1)
            self.offered[queue] = amounts

    # ------------------------------------------------------------ reading

    def demand(self, unit: Unit) -> UnitDemand:
        """The demand of a pending unit."""
        pending = unit.pending
        least = pending[: max(unit.still_needed, 1)]
        most = self.total(pending)
        fresh = not self.tree.runs(unit.queue, unit.key)
        return UnitDemand(most if len(least) == len(pending) else self.total(least), most, fresh)

    def may_start(self, unit: Unit) -> bool:
        """Return whether the limits of its queue admit a unit."""
        headroom = self.tree.headroom(unit.queue)
        if headroom is None:
            return True
        demand = self.demand(unit)
        return headroom.admits(demand.least, demand.fresh)

    def within(self, unit: Unit, rows: Sequence[int]) -> Sequence[int]:
        """The longest prefix of a unit's rows that the limits of its queue admit.

        The required pods of a unit are first, so they are included if the unit may start.
        """
        headroom = self.tree.headroom(unit.queue)
        if headroom is None or not headroom.left:
            return rows
        left, kept = dict(headroom.left), 0
        for row in rows:
            demand = self._requests(row)
            if any(left.get(column, amount) < amount for column, amount in demand):
                break
            for column, amount in demand:
                if column in left:
                    left[column] -= amount
            kept += 1
        return rows[:kept]

    def uncommitted(self) -> dict[int, int]:
        """Free amounts of the pool minus all promises, by column."""
        free = dict(self.pool.free())
        for queue in self.promises.queues():
            add_amounts(free, self.promises.usage(queue).items(), -1)
        return free

    # ------------------------------------------------------------ one row

    def _charge(self, row: int, queue: str, unit: str, end: int) -> None:
        held = ChargedAmounts(queue, unit, self._requests(row), int(self._pods.serial[row]), end)
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

    def _requests(self, row: int) -> Amounts:
        return self.pool.requests_of(int(self._pods.class_id[row]))

    def total(self, rows: Iterable[int]) -> Amounts:
        """The sum of the rows' requests, sorted by column."""
        rows = tuple(rows)
        if len(rows) == 1:
            return tuple(sorted(self._requests(rows[0])))
        class_ids = self._pods.class_id
        total: dict[int, int] = {}
        for class_id, count in Counter(int(class_ids[row]) for row in rows).items():
            add_amounts(total, self.pool.requests_of(class_id), count)
        return tuple(sorted(total.items()))


def _added(one: Amounts, other: Amounts) -> Amounts:
    total = dict(one)
    add_amounts(total, other)
    return tuple(total.items())


def _end(start: float, duration: float) -> int:
    """Expected end in microseconds of a pod; ``start`` and ``duration`` are in seconds."""
    return NEVER if duration == inf else micros(start) + micros(duration)
