"""When queues get back what they lent: asks for victims, and follows what becomes of them.

What is under way counts as if it had happened: for the queue that waits, and for those that give.
Until a unit for which others leave has started, or has been tried without them in vain, the queues
whose pods had to leave start nothing that they are not owed themselves: else the pods that come in
place of the victims would take the room again.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import islice
from math import inf
from typing import Final, NamedTuple, Protocol

from stretto.control.dispatcher.unit_moves import UnitStates
from stretto.control.queues.reclaim import (
    ReclaimablePod,
    ReclaimRequest,
    RunningGang,
    choose_victims,
)
from stretto.control.queues.usage import QueueUsage
from stretto.state.queries.pool import Amounts
from stretto.state.rows.lifecycle import PodState, UnitState
from stretto.state.work.evictions import EvictionCause, EvictionOrder
from stretto.state.work.units import NO_GROUP, Unit

EVERY: Final = 1.0
"""Seconds between two looks for queues that are owed something."""
PATIENCE: Final = 120.0
"""Seconds for which a unit waits for its victims; then others are asked."""
CHANCE: Final = 5.0
"""Seconds for a place once the victims have left; then the others may have what is not taken."""
FIRST_PAUSE: Final = 5.0
"""Seconds before a unit for which nothing was found, or that found no place, asks again."""
LONGEST_PAUSE: Final = 300.0
"""The longest such pause."""
AT_ONCE: Final = 32
"""Decisions of one look: whoever is left has its turn at the next."""

_WAITING: Final = frozenset(
    {UnitState.UNSCHEDULABLE, UnitState.QUEUED, UnitState.DISPATCHED, UnitState.BACKOFF}
)
_ON_NODES: Final = frozenset({int(PodState.ASSUMED), int(PodState.BOUND)})


class ReclaimNodes(Protocol):
    """What the dispatcher may ask of nodes."""

    def sync(self) -> None:
        """A round of questions begins."""

    def room(self, class_id: int, /) -> int:
        """An upper bound of how many pods of a class fit now."""

    def may_evict(self, row: int, now: float) -> bool:
        """Whether a pod may be asked to leave."""

    def may_evict_all(self, rows: Sequence[int]) -> bool:
        """Whether pods that may be asked one by one may be asked together."""

    def fits(self, slot: int, classes: Sequence[int], going: Collection[int]) -> bool:
        """Whether pods of these classes fit a slot once these rows have gone."""

    def would_fit(self, row: int, slot: int, going: Collection[int], /) -> bool:
        """Whether volumes and other pods would let a pod onto a slot once these rows have gone."""


class ReclaimInFlight(NamedTuple):
    """Victims that were asked to leave for a unit."""

    #: The unit.
    unit: Unit
    #: Its queue when it asked.
    queue: str
    #: What it is owed, and is to come.
    amounts: Amounts
    #: The victims.
    victims: tuple[ReclaimablePod, ...]
    #: Their serials.
    serials: tuple[int, ...]
    #: Clock time after which it is over.
    until: float
    #: Pods of the unit that were on nodes when it asked.
    placed: int = 0
    #: Clock time at which the last victim was seen to have left.
    left: float = inf


class Reclaimer:
    """Looks for queues that are owed something, and for who is to leave."""

    def __init__(self, places: UnitStates) -> None:
        """Nothing is under way."""
        #: Reclaims under way.
        self.flights: dict[Unit, ReclaimInFlight] = {}
        #: Orders given so far, and pods in them: ``orders``, ``pods``.
        self.counts: Counter[str] = Counter()
        #: Whether pods of a unit have left us and have no node yet: in one process none has.
        self.is_handed_over: Callable[[Unit], bool] = lambda _: False
        self._places = places
        self._pauses: dict[Unit, tuple[float, float]] = {}
        self._look_at = -inf
        #: Somebody may be owed something though nothing is under way.
        self._more = False

    def orders(self, floor: ReclaimNodes, now: float) -> list[EvictionOrder]:
        """Who is to leave, and why: for the lane of evictions."""
        usage = self._places.usage
        if usage is None:
            return []
        self._land(usage, now)
        if not usage.tree.any_guarantees:
            self._more = False
            return []
        self._more = now < self._look_at
        if self._more:
            return []
        self._look_at = now + EVERY
        floor.sync()
        found: list[EvictionOrder] = []
        for unit in islice(self._waiting(usage, now), AT_ONCE):
            self._more = True
            order = self._decide(usage, unit, floor, now)
            if order is not None:
                found.append(order)
        return found

    @property
    def usage(self) -> QueueUsage | None:
        """What queues hold; ``None`` where nobody counts."""
        return self._places.usage

    @property
    def is_busy(self) -> bool:
        """Whether somebody is to leave, or it has yet to be looked who is owed something."""
        return bool(self.flights) or self._more

    def next_due(self) -> float:
        """When to look without an event; infinity while nobody waits for anything."""
        if self.flights or self._more:
            return self._look_at
        return max(self._look_at, min((at for at, _ in self._pauses.values()), default=inf))

    # ------------------------------------------------------------ who asks

    def _waiting(self, usage: QueueUsage, now: float) -> Iterator[Unit]:
        """The first units of each queue that wait and that a guarantee may help."""
        firsts = self._places.sleepers.firsts(AT_ONCE)
        for queue in self._places.queues if usage.tree.any_limits else ():
            if queue.order.live and usage.tree.leaf(queue.name).is_below_guarantee:
                head = queue.order.peek()
                if head is not None and not usage.may_start(head):
                    firsts.setdefault(queue.name, []).append(head)
        self._pauses = {u: p for u, p in self._pauses.items() if u.state in _WAITING}
        for name, units in firsts.items():
            leaf = usage.tree.leaf(name)
            if not leaf.is_below_guarantee or leaf.is_closed:
                continue
            for unit in units:
                paused = self._pauses.get(unit, (-inf, 0.0))[0] > now
                if unit not in self.flights and not paused:
                    yield unit

    def _decide(
        self, usage: QueueUsage, unit: Unit, floor: ReclaimNodes, now: float
    ) -> EvictionOrder | None:
        asked = self._asked(usage, unit, floor)
        ground = _CurrentFacts(self._places, usage, floor, self.flights.values(), now)
        ground.alone = unit.pending[0] if unit.still_needed <= 1 else None
        victims = choose_victims(usage.tree, asked, ground) if asked is not None else ()
        pause = min(2 * self._pauses.get(unit, (0.0, FIRST_PAUSE / 2))[1], LONGEST_PAUSE)
        self._pauses[unit] = (now + pause, pause)
        rows = tuple(each.row for each in victims)
        if asked is None or not victims or not floor.may_evict_all(rows):
            return None
        serials = tuple(int(self._places.pods.serial[row]) for row in rows)
        until, placed = now + PATIENCE, len(unit.bound)
        flight = ReclaimInFlight(unit, unit.queue, asked.amounts, victims, serials, until, placed)
        self.flights[unit] = flight
        for name in {each.queue for each in victims}:
            usage.tree.hold(name, 1)
        self.counts["orders"] += 1
        self.counts["pods"] += len(rows)
        reason = f"queue {unit.queue} takes back what it is guaranteed, for {unit.key}"
        return EvictionOrder(rows, serials, EvictionCause.RECLAIM, reason)

    def _asked(self, usage: QueueUsage, unit: Unit, floor: ReclaimNodes) -> ReclaimRequest | None:
        """What a unit lacks; ``None`` where more units than may run are what is in its way."""
        room, asked = usage.tree.room(unit.queue), usage.demand(unit)
        if room is not None and (room.closed or (asked.fresh and room.units < 1)):
            return None
        rows = unit.pending[: max(unit.still_needed, 1)]
        classes: list[int] = []
        for class_id, count in Counter(int(self._places.pods.class_id[r]) for r in rows).items():
            classes += [class_id] * max(0, count - floor.room(class_id))
        return ReclaimRequest(unit.queue, unit.key, tuple(classes), asked.least)

    # ------------------------------------------------------------ what becomes of it

    def _land(self, usage: QueueUsage, now: float) -> None:
        """End what is over: the unit has started, or has waited long enough."""
        for unit, flight in list(self.flights.items()):
            owed = usage.tree.leaf(flight.queue).guarantee
            if self.is_handed_over(unit) and now < flight.until:
                continue  # others would take its room before it is there
            if unit.state not in _WAITING or unit.queue != flight.queue or not owed:
                self._pauses.pop(unit, None)
            elif len(unit.bound) > flight.placed and not self._is_leaving(flight):
                self._pauses.pop(unit, None)  # it was not in vain: the next of its pods may ask
            elif self._goes_on(flight, now):
                continue
            del self.flights[unit]
            for queue in {each.queue for each in flight.victims}:
                usage.tree.hold(queue, -1)

    def _goes_on(self, flight: ReclaimInFlight, now: float) -> bool:
        """Whether victims are still to leave, or the unit has its chance without them."""
        if now >= flight.until:
            return False
        if self._is_leaving(flight):
            return True
        flight = self.flights[flight.unit] = flight._replace(left=min(flight.left, now))
        return now < flight.left + CHANCE or flight.unit.state is not UnitState.UNSCHEDULABLE

    def _is_leaving(self, flight: ReclaimInFlight) -> bool:
        """Whether a victim is still there."""
        pods = self._places.pods
        return any(
            pods.serial[each.row] == serial and int(pods.state[each.row]) in _ON_NODES
            for each, serial in zip(flight.victims, flight.serials, strict=True)
        )


class _CurrentFacts:
    """Pods and nodes as they are at one moment, for one decision."""

    def __init__(
        self,
        places: UnitStates,
        usage: QueueUsage,
        floor: ReclaimNodes,
        flights: Iterable[ReclaimInFlight],
        now: float,
    ) -> None:
        #: The pod that asks, where it is one: several may need one another, and are asked about
        #: by what they take.
        self.alone: int | None = None
        self._places = places
        self._usage = usage
        self._floor = floor
        self._in_flight = list(flights)
        self._now = now
        self._units: dict[str, Unit] = {}
        #: Rows that others have asked to leave, some perhaps a moment ago.
        self._going: set[int] = {
            each.row
            for flight in self._in_flight
            for each, serial in zip(flight.victims, flight.serials, strict=True)
            if places.pods.serial[each.row] == serial
        }

    def running(self, queue: str) -> Iterator[ReclaimablePod]:
        """Pods of a queue's own units that may be asked to leave."""
        pods, held, now = self._places.pods, self._usage.held(), self._now
        for row in list(self._usage.rows_of(queue)):
            if row in self._going or not self._floor.may_evict(row, now):
                continue
            unit, charged = self._places.units.of_row(row), held[row]
            if unit is not None:
                self._units[charged.unit] = unit
            yield ReclaimablePod(
                row,
                int(pods.slot[row]),
                queue,
                charged.unit,
                charged.amounts,
                int(pods.priority[row]),
                float(pods.started[row]),
            )

    def team(self, unit: str) -> RunningGang | None:
        """The gang of a unit; ``None`` where its pods are useful one by one."""
        found = self._units.get(unit)
        if found is None or not 1 < found.min_member < NO_GROUP:
            return None
        leaving, going = self._places.pods.eviction_state, self._going
        stay = (row for row in found.bound if not leaving[row] and row not in going)
        return RunningGang(found.min_member, frozenset(stay), not found.away)

    def pending(self) -> Iterator[tuple[str, Amounts, int]]:
        """What other reclaims bring to queues and take from them."""
        pods = self._places.pods
        for flight in self._in_flight:
            if flight.unit.state in _WAITING:
                yield flight.queue, flight.amounts, 1
            for each, serial in zip(flight.victims, flight.serials, strict=True):
                if pods.serial[each.row] == serial and int(pods.state[each.row]) in _ON_NODES:
                    yield each.queue, each.amounts, -1

    def fits(self, slot: int, classes: Sequence[int], going: Iterable[int]) -> bool:
        """Whether pods of these classes fit a slot once these rows have gone."""
        gone = frozenset(going)
        return self._floor.fits(slot, classes, gone) and (
            self.alone is None or self._floor.would_fit(self.alone, slot, gone)
        )
