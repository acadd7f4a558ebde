"""Evicts borrowing pods for queues below their guarantee, and tracks those evictions.

Evictions in flight count as done, for the queue that waits and for the queues that lose pods. Until
the unit has started, or has failed to start after its victims were evicted, the queues that lost
pods start only work covered by their own guarantee. Otherwise new pods of those queues would take
the freed capacity.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import islice
from math import inf
from typing import Final, NamedTuple, Protocol

from stretto.control.dispatcher.states.containers import UnitStates
from stretto.control.queues.reclaim import (
    ReclaimablePod,
    ReclaimRequest,
    RunningGang,
    choose_victims,
)
from stretto.state.queries.pool import Amounts
from stretto.state.queues.usage import QueueUsage
from stretto.state.rows.lifecycle import PodState, UnitState
from stretto.state.work.evictions import EvictionCause, EvictionOrder
from stretto.state.work.units import NO_GROUP, Unit

SEARCH_INTERVAL: Final = 1.0
"""Seconds between searches for queues below their guarantee."""
TIMEOUT: Final = 120.0
"""Seconds until a reclaim is abandoned; then other victims are chosen."""
PROTECTION: Final = 5.0
"""Seconds for which freed capacity is protected for the unit."""
FIRST_RETRY: Final = 5.0
"""Seconds before the first retry of a unit without victims or without a node."""
LONGEST_RETRY: Final = 300.0
"""Upper bound of the doubling retry delay, in seconds."""
SEARCH_LIMIT: Final = 32
"""Maximum number of decisions per search; further units follow at the next one."""

_WAITING: Final = frozenset(
    {UnitState.UNSCHEDULABLE, UnitState.QUEUED, UnitState.DISPATCHED, UnitState.BACKOFF}
)
_ON_NODES: Final = frozenset({int(PodState.ASSUMED), int(PodState.BOUND)})


class ReclaimNodes(Protocol):
    """What the dispatcher reads of nodes."""

    def sync(self) -> None:
        """Update the snapshot before a series of queries."""

    def room(self, class_id: int, /) -> int:
        """Upper bound of the pods of a class that fit now."""

    def may_evict(self, row: int, now: float) -> bool:
        """Whether a pod may be evicted."""

    def may_evict_all(self, rows: Sequence[int]) -> bool:
        """Whether pods that may each be evicted may be evicted together."""

    def fits(self, slot: int, classes: Sequence[int], evicted: Collection[int]) -> bool:
        """Whether pods of these classes fit a slot without the evicted rows."""

    def would_fit(self, row: int, slot: int, evicted: Collection[int], /) -> bool:
        """Whether volume and inter-pod rules admit a pod to a slot without the evicted rows."""


class ReclaimInFlight(NamedTuple):
    """A reclaim in flight: a unit and its victims."""

    #: The unit.
    unit: Unit
    #: Its queue at the decision.
    queue: str
    #: The amounts that it claims.
    amounts: Amounts
    #: The victims.
    victims: tuple[ReclaimablePod, ...]
    #: Their serials.
    serials: tuple[int, ...]
    #: Clock time at which it is abandoned.
    until: float
    #: Number of placed pods of the unit at the decision.
    placed: int = 0
    #: Clock time at which all victims were evicted.
    left: float = inf


class Reclaimer:
    """Finds queues below their guarantee and chooses victims in borrowing queues."""

    def __init__(self, places: UnitStates) -> None:
        """Start without reclaims."""
        #: Reclaims in flight.
        self.in_flight: dict[Unit, ReclaimInFlight] = {}
        #: Number of orders and of their pods so far: ``orders``, ``pods``.
        self.counts: Counter[str] = Counter()
        #: Whether another process has pods of a unit that have no node yet; never in one process.
        self._is_handed_over: Callable[[Unit], bool] = lambda _: False
        self._places = places
        self._retries: dict[Unit, tuple[float, float]] = {}
        self._look_at = -inf
        #: Whether a unit may be served although no reclaim is in flight.
        self._more = False

    def defer_while(self, is_handed_over: Callable[[Unit], bool]) -> None:
        """Defer reclaims of units whose pods another process is placing."""
        self._is_handed_over = is_handed_over

    def orders(self, view: ReclaimNodes, now: float) -> list[EvictionOrder]:
        """Evictions with their reasons, for the lane of evictions."""
        usage = self._places.usage
        if usage is None:
            return []
        self._finish_reclaims(usage, now)
        if not usage.tree.any_guarantees:
            self._more = False
            return []
        self._more = now < self._look_at
        if self._more:
            return []
        self._look_at = now + SEARCH_INTERVAL
        view.sync()
        found: list[EvictionOrder] = []
        for unit in islice(self._waiting(usage, now), SEARCH_LIMIT):
            self._more = True
            order = self._decide(usage, unit, view, now)
            if order is not None:
                found.append(order)
        return found

    @property
    def usage(self) -> QueueUsage | None:
        """Usage of queues; ``None`` if no policy counts usage."""
        return self._places.usage

    @property
    def is_busy(self) -> bool:
        """Whether a reclaim is in flight or a search is due."""
        return bool(self.in_flight) or self._more

    def next_due(self) -> float:
        """Clock time of the next search without an event; infinity for none."""
        if self.in_flight or self._more:
            return self._look_at
        return max(self._look_at, min((at for at, _ in self._retries.values()), default=inf))

    # ------------------------------------------------------------ candidates

    def _waiting(self, usage: QueueUsage, now: float) -> Iterator[Unit]:
        """The first pending units of each queue that a guarantee may help."""
        firsts = self._places.unschedulable.firsts(SEARCH_LIMIT)
        for queue in self._places.queues if usage.tree.any_limits else ():
            if queue.order.live and usage.tree.leaf(queue.name).is_below_guarantee:
                head = queue.order.peek()
                if head is not None and not usage.may_start(head):
                    firsts.setdefault(queue.name, []).append(head)
        self._retries = {u: p for u, p in self._retries.items() if u.state in _WAITING}
        for name, units in firsts.items():
            leaf = usage.tree.leaf(name)
            if not leaf.is_below_guarantee or leaf.is_closed:
                continue
            for unit in units:
                paused = self._retries.get(unit, (-inf, 0.0))[0] > now
                if unit not in self.in_flight and not paused:
                    yield unit

    def _decide(
        self, usage: QueueUsage, unit: Unit, view: ReclaimNodes, now: float
    ) -> EvictionOrder | None:
        request = self._request(usage, unit, view)
        facts = _CurrentFacts(self._places, usage, view, self.in_flight.values(), now)
        facts.alone = unit.pending[0] if unit.still_needed <= 1 else None
        victims = choose_victims(usage.tree, request, facts) if request is not None else ()
        delay = min(2 * self._retries.get(unit, (0.0, FIRST_RETRY / 2))[1], LONGEST_RETRY)
        self._retries[unit] = (now + delay, delay)
        rows = tuple(each.row for each in victims)

        if request is None or not victims or not view.may_evict_all(rows):
            return None
        serials = tuple(int(self._places.pods.serial[row]) for row in rows)
        until, placed = now + TIMEOUT, len(unit.bound)
        reclaim = ReclaimInFlight(
            unit, unit.queue, request.amounts, victims, serials, until, placed
        )
        self.in_flight[unit] = reclaim
        for name in {each.queue for each in victims}:
            usage.tree.count_reclaim(name, 1)
        self.counts["orders"] += 1
        self.counts["pods"] += len(rows)
        reason = f"queue {unit.queue} reclaims its guarantee for {unit.key}"
        return EvictionOrder(rows, serials, EvictionCause.RECLAIM, reason)

    def _request(self, usage: QueueUsage, unit: Unit, view: ReclaimNodes) -> ReclaimRequest | None:
        """What a unit lacks; ``None`` if the limit on running units holds it back."""
        headroom, demand = usage.tree.headroom(unit.queue), usage.demand(unit)
        if headroom is not None and (headroom.closed or (demand.fresh and headroom.units < 1)):
            return None
        rows = unit.pending[: max(unit.still_needed, 1)]
        classes: list[int] = []
        for class_id, count in Counter(int(self._places.pods.class_id[r]) for r in rows).items():
            classes += [class_id] * max(0, count - view.room(class_id))
        return ReclaimRequest(unit.queue, unit.key, tuple(classes), demand.least)

    # ------------------------------------------------------------ progress

    def _finish_reclaims(self, usage: QueueUsage, now: float) -> None:
        """Remove reclaims whose unit has started or that have timed out."""
        for unit, reclaim in list(self.in_flight.items()):
            guarantee = usage.tree.leaf(reclaim.queue).guarantee
            if self._is_handed_over(unit) and now < reclaim.until:
                continue  # otherwise others would take the capacity before its pods arrive
            if unit.state not in _WAITING or unit.queue != reclaim.queue or not guarantee:
                self._retries.pop(unit, None)
            elif len(unit.bound) > reclaim.placed and not self._has_running_victim(reclaim):
                self._retries.pop(unit, None)  # one pod was placed: the next may reclaim
            elif self._is_in_progress(reclaim, now):
                continue
            del self.in_flight[unit]
            for queue in {each.queue for each in reclaim.victims}:
                usage.tree.count_reclaim(queue, -1)

    def _is_in_progress(self, reclaim: ReclaimInFlight, now: float) -> bool:
        """Whether victims are still running, or the unit may still use the freed capacity."""
        if now >= reclaim.until:
            return False
        if self._has_running_victim(reclaim):
            return True
        reclaim = self.in_flight[reclaim.unit] = reclaim._replace(left=min(reclaim.left, now))
        return now < reclaim.left + PROTECTION or reclaim.unit.state is not UnitState.UNSCHEDULABLE

    def _has_running_victim(self, reclaim: ReclaimInFlight) -> bool:
        """Whether any victim still holds its node."""
        pods = self._places.pods
        return any(
            pods.serial[each.row] == serial and int(pods.state[each.row]) in _ON_NODES
            for each, serial in zip(reclaim.victims, reclaim.serials, strict=True)
        )


class _CurrentFacts:
    """Pods and nodes at one moment, for one decision."""

    def __init__(
        self,
        places: UnitStates,
        usage: QueueUsage,
        view: ReclaimNodes,
        reclaims: Iterable[ReclaimInFlight],
        now: float,
    ) -> None:
        #: Row of the reclaiming pod if it is single; pods of a gang are checked by resources only.
        self.alone: int | None = None
        self._places = places
        self._usage = usage
        self._view = view
        self._in_flight = list(reclaims)
        self._now = now
        self._units: dict[str, Unit] = {}
        #: Victims of other reclaims.
        self._evicted: set[int] = {
            each.row
            for reclaim in self._in_flight
            for each, serial in zip(reclaim.victims, reclaim.serials, strict=True)
            if places.pods.serial[each.row] == serial
        }

    def running(self, queue: str) -> Iterator[ReclaimablePod]:
        """Evictable pods of a queue's own units."""
        pods, held, now = self._places.pods, self._usage.held(), self._now
        for row in list(self._usage.rows_of(queue)):
            if row in self._evicted or not self._view.may_evict(row, now):
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
        """The gang of a unit; ``None`` if its pods are useful individually."""
        found = self._units.get(unit)
        if found is None or not 1 < found.min_member < NO_GROUP:
            return None
        in_eviction, evicted = self._places.pods.eviction_state, self._evicted
        stay = (row for row in found.bound if not in_eviction[row] and row not in evicted)
        return RunningGang(found.min_member, frozenset(stay), not found.away)

    def pending(self) -> Iterator[tuple[str, Amounts, int]]:
        """Amounts that other reclaims add to queues (1) and take from them (-1)."""
        pods = self._places.pods
        for reclaim in self._in_flight:
            if reclaim.unit.state in _WAITING:
                yield reclaim.queue, reclaim.amounts, 1
            for each, serial in zip(reclaim.victims, reclaim.serials, strict=True):
                if pods.serial[each.row] == serial and int(pods.state[each.row]) in _ON_NODES:
                    yield each.queue, each.amounts, -1

    def fits(self, slot: int, classes: Sequence[int], evicted: Iterable[int]) -> bool:
        """Whether pods of these classes fit a slot without the evicted rows."""
        without = frozenset(evicted)
        return self._view.fits(slot, classes, without) and (
            self.alone is None or self._view.would_fit(self.alone, slot, without)
        )
