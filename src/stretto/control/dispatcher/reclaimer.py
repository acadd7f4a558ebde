"""Evicts borrowing pods for queues below their guarantee, and tracks those evictions.

Evictions in flight count as completed, for the queue that reclaims and for the queues that lose
pods. The queues that lost pods start only work within their own guarantee until the unit has
started, or has failed to start after its victims were evicted. Otherwise new pods of these queues
would take the freed capacity.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from math import inf
from typing import Final, NamedTuple, Protocol

from stretto.control.dispatcher.states.containers import UnitStates
from stretto.control.queues.limits import LimitVictims
from stretto.state.queries.pool import Amounts
from stretto.state.queues.guarantees import EvictionRight, GuaranteeBalance, ReclaimRight
from stretto.state.queues.usage import QueueUsage
from stretto.state.rows.lifecycle import ON_NODES, UnitState
from stretto.state.rows.pods import NO_SLOT
from stretto.state.rows.resources import PODS
from stretto.state.work.evictions import (
    EvictionCause,
    EvictionOrder,
    EvictionState,
    PlannedPlace,
    ReclaimOutcome,
    unit_name,
)
from stretto.state.work.units import Unit

SEARCH_INTERVAL: Final = 1.0
"""Seconds between searches for queues below their guarantee."""
TIMEOUT: Final = 120.0
"""Seconds until a reclaim is abandoned and other victims are chosen."""
PROTECTION: Final = 5.0
"""Seconds for which freed capacity is protected for the unit."""
FIRST_RETRY: Final = 5.0
"""Seconds before the first retry of a unit without victims or without a node."""
LONGEST_RETRY: Final = 300.0
"""Upper bound of the doubling retry delay, in seconds."""
SEARCH_LIMIT: Final = 32
"""Maximum number of decisions per search; further units follow in the next search."""

_WAITING: Final = frozenset(
    {UnitState.UNSCHEDULABLE, UnitState.QUEUED, UnitState.DISPATCHED, UnitState.BACKOFF}
)


class ReclaimSearch(Protocol):
    """Finds places and victims for units within their guarantee."""

    def begin(self) -> None:
        """Update the snapshot before a series of searches."""

    def leaving(self) -> Iterable[int]:
        """Rows that are being evicted or deleted."""
        ...

    def places(
        self, unit: Unit, right: EvictionRight, ahead: Sequence[PlannedPlace]
    ) -> Sequence[PlannedPlace]:
        """Places for the pods that a unit needs, with their victims; empty for none."""
        ...

    def may_evict(self, unit: Unit, row: int, right: EvictionRight, now: float) -> bool:
        """Return whether a unit may evict a pod, on any node."""
        ...


class ReclaimPlan(NamedTuple):
    """A unit, the places for its pods, and the evictions that it needs."""

    #: Places of the pods that start together.
    places: tuple[PlannedPlace, ...]
    #: Rows to evict.
    victims: tuple[int, ...]
    #: Rows whose eviction is already in progress and whose capacity the unit uses.
    awaited: tuple[int, ...]


class ReclaimInFlight(NamedTuple):
    """A reclaim in flight: a unit and the pods whose end it awaits."""

    #: The unit.
    unit: Unit
    #: Queue of the unit at the decision.
    queue: str
    #: Amounts that it claims.
    amounts: Amounts
    #: Places of its pods.
    places: tuple[PlannedPlace, ...]
    #: (row, serial) of its victims, and of pods whose eviction was already in progress.
    leaving: tuple[tuple[int, int], ...]
    #: The queues of these pods.
    donors: frozenset[str]
    #: Clock time at which it is abandoned, in seconds.
    until: float
    #: Number of placed pods of the unit at the decision.
    placed: int = 0
    #: Clock time at which all victims were evicted, in seconds.
    left: float = inf


class Reclaimer:
    """Finds queues below their guarantee and chooses victims in borrowing queues."""

    def __init__(self, places: UnitStates) -> None:
        """Start without reclaims."""
        #: Reclaims in flight.
        self.in_flight: dict[Unit, ReclaimInFlight] = {}
        #: Number of orders and of their pods so far: ``orders``, ``pods``.
        self.counts: Counter[str] = Counter()
        #: Predicate on a unit: another process has its pods, and they have no node yet; always
        #: false in one process.
        self._is_handed_over: Callable[[Unit], bool] = lambda _: False
        self._places = places
        #: (clock time of the next search, delay before it) of units without victims or a node.
        self._retries: dict[Unit, tuple[float, float]] = {}
        self._outcomes: dict[Unit, ReclaimOutcome] = {}
        #: Number of rebuilds of the tree at the last search.
        self._epoch = -1
        self._look_at = -inf
        #: True if a unit may be served although no reclaim is in flight.
        self._more = False

    def defer_while(self, is_handed_over: Callable[[Unit], bool]) -> None:
        """Defer reclaims of units whose pods another process is placing."""
        self._is_handed_over = is_handed_over

    def orders(self, search: ReclaimSearch, now: float) -> list[EvictionOrder]:
        """Evictions with their reasons, for the eviction lane."""
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
        search.begin()
        found: list[EvictionOrder] = []
        decisions = 0
        for group in self._waiting(usage, now):
            for unit in group:
                self._more = True
                plan = self._decide(usage, unit, search, now)
                decisions += 1
                if plan is None:
                    break  # the other units of the group have the same needs
                found += self._begin(usage, unit, plan, now)
            if decisions >= SEARCH_LIMIT:
                break
        return found

    @property
    def usage(self) -> QueueUsage | None:
        """Usage of queues; ``None`` if no policy counts usage."""
        return self._places.usage

    @property
    def is_busy(self) -> bool:
        """True if a reclaim is in flight or a search is due."""
        return bool(self.in_flight) or self._more

    def outcome(self, unit: Unit) -> ReclaimOutcome | None:
        """The result of the last search for a unit; ``None`` if there was none."""
        return ReclaimOutcome.WAITING if unit in self.in_flight else self._outcomes.get(unit)

    def next_due(self) -> float:
        """Clock time of the next search without an event; infinity for none."""
        if self.in_flight or self._more:
            return self._look_at
        return max(self._look_at, min((at for at, _ in self._retries.values()), default=inf))

    # ------------------------------------------------------------ candidates

    def _waiting(self, usage: QueueUsage, now: float) -> Iterator[Iterator[Unit]]:
        """Pending units that a guarantee may help; equal units are one group.

        A group ends when the search for one of its units fails.
        """
        tree = usage.tree
        if tree.epoch != self._epoch:
            self._epoch = tree.epoch
            self._retries.clear()
        self._retries = {u: p for u, p in self._retries.items() if u.state in _WAITING}
        self._outcomes = {u: o for u, o in self._outcomes.items() if u in self._retries}
        heads = list[Iterator[Unit]]()
        for queue in self._places.queues if tree.any_limits else ():
            if queue.order.live and tree.leaf(queue.name).guarantee:
                head = queue.order.peek()
                if head is not None and not usage.may_start(head):
                    heads.append(iter((head,)))
        guaranteed = {name for name in self._names() if self._may_reclaim(usage, name)}
        for group in (*self._places.unschedulable.equal_units(guaranteed), *heads):
            yield self._ready(group, now)

    def _names(self) -> Iterator[str]:
        return (queue.name for queue in self._places.queues)

    def _may_reclaim(self, usage: QueueUsage, name: str) -> bool:
        leaf = usage.tree.leaf(name)
        return bool(leaf.guarantee) and not leaf.is_closed

    def _ready(self, group: Iterator[Unit], now: float) -> Iterator[Unit]:
        """The units of a group until the first one whose retry is not due."""
        for unit in group:
            if unit in self.in_flight:
                continue
            if self._retries.get(unit, (-inf, 0.0))[0] > now:
                return
            yield unit

    def _decide(
        self, usage: QueueUsage, unit: Unit, search: ReclaimSearch, now: float
    ) -> ReclaimPlan | None:
        """Return the evictions for a unit; ``None`` if none help, or if it fits without any."""
        plan = self._plan(usage, unit, search, now)
        if isinstance(plan, ReclaimOutcome):
            self._outcomes[unit] = plan
        delay = min(2 * self._retries.get(unit, (0.0, FIRST_RETRY / 2))[1], LONGEST_RETRY)
        self._retries[unit] = (now + delay, delay)
        return None if isinstance(plan, ReclaimOutcome) else plan

    def _plan(
        self, usage: QueueUsage, unit: Unit, search: ReclaimSearch, now: float
    ) -> ReclaimPlan | ReclaimOutcome:
        """Return places and victims of a unit, or the reason why its guarantee does not help."""
        headroom, demand = usage.tree.headroom(unit.queue), usage.demand(unit)
        if headroom is not None and (headroom.closed or (demand.fresh and headroom.units < 1)):
            return ReclaimOutcome.MOST_UNITS
        balance = self._balance(usage, search)
        right = balance.entitlement(unit.queue, demand.least)
        if right is None:
            return ReclaimOutcome.ABOVE_GUARANTEE
        short = balance.shortfall(unit.queue, demand.least)
        if any(branch not in right.path[1:] for branch in short):
            return ReclaimOutcome.LIMITED
        ahead = [place for each in self.in_flight.values() for place in self._ahead(each)]
        for whole in (False, True):
            terms = ReclaimRight(right, balance, whole)
            places = tuple(search.places(unit, terms, ahead))
            victims = tuple(row for each in places for row in each.victims)
            if places and short:
                may_evict = lambda row, terms=terms: search.may_evict(unit, row, terms, now)
                limits = LimitVictims(self._places.pods, self._places.units, balance, may_evict)
                more = limits.choose(short, victims)
                places, victims = (places, victims + more) if more is not None else ((), ())
            if places:
                awaited = {row for each in places for row in each.awaited}
                if not victims and not awaited:
                    return ReclaimOutcome.FITS
                return ReclaimPlan(places, victims, tuple(sorted(awaited)))
        others = {column for column, _ in demand.least} - right.columns - {PODS}
        return ReclaimOutcome.UNNAMED_RESOURCE if others else ReclaimOutcome.NO_VICTIMS

    def _balance(self, usage: QueueUsage, search: ReclaimSearch) -> GuaranteeBalance:
        """Usage of queues with the reclaims in flight: their evictions and their claims."""
        serials = self._places.pods.serial
        going = {
            row
            for reclaim in self.in_flight.values()
            for row, serial in reclaim.leaving
            if serials[row] == serial
        }
        balance = GuaranteeBalance(usage, going.union(search.leaving()))
        for reclaim in self.in_flight.values():
            if reclaim.unit.state in _WAITING:
                balance.move(reclaim.queue, reclaim.amounts, 1)
        return balance

    def _ahead(self, reclaim: ReclaimInFlight) -> Iterator[PlannedPlace]:
        """Places for which a reclaim in flight still waits."""
        pods = self._places.pods
        for place in reclaim.places:
            if pods.serial[place.row] == place.serial and pods.slot[place.row] == NO_SLOT:
                state = pods.eviction_state
                rows = (row for row in place.victims if state[row] == EvictionState.NONE)
                yield place._replace(victims=tuple(row for row in rows if self._runs(row, reclaim)))

    def _runs(self, row: int, reclaim: ReclaimInFlight) -> bool:
        """Return whether a victim still has its node."""
        pods = self._places.pods
        same = any(row == r and pods.serial[r] == serial for r, serial in reclaim.leaving)
        return same and int(pods.state[row]) in ON_NODES

    def _begin(
        self, usage: QueueUsage, unit: Unit, plan: ReclaimPlan, now: float
    ) -> list[EvictionOrder]:
        """Record a reclaim; returns the order for its evictions, if it needs any."""
        serial, held = self._places.pods.serial, usage.held()
        serials = tuple(int(serial[row]) for row in plan.victims)
        rows = (*plan.victims, *plan.awaited)
        leaving = tuple((row, int(serial[row])) for row in rows)
        donors = frozenset(held[row].queue for row in rows if row in held) - {unit.queue}
        amounts, until = usage.demand(unit).least, now + TIMEOUT
        self.in_flight[unit] = ReclaimInFlight(
            unit, unit.queue, amounts, plan.places, leaving, donors, until, len(unit.bound)
        )
        for name in donors:
            usage.tree.count_reclaim(name, 1)
        if not plan.victims:
            return []
        self.counts["orders"] += 1
        self.counts["pods"] += len(plan.victims)
        reason = (
            f"queue {unit.queue} reclaims its guarantee for {unit_name(unit, self._places.pods)}"
        )
        beneficiaries = tuple(place.row for place in plan.places)
        return [
            EvictionOrder(
                plan.victims, serials, EvictionCause.RECLAIM, reason, beneficiaries=beneficiaries
            )
        ]

    # ------------------------------------------------------------ progress

    def _finish_reclaims(self, usage: QueueUsage, now: float) -> None:
        """Remove reclaims whose unit has started or that have timed out."""
        for unit, reclaim in list(self.in_flight.items()):
            guarantee = usage.tree.leaf(reclaim.queue).guarantee
            if self._is_handed_over(unit) and now < reclaim.until:
                continue  # otherwise other pods would take the capacity before its pods arrive
            if unit.state not in _WAITING or unit.queue != reclaim.queue or not guarantee:
                self._retries.pop(unit, None)
            elif len(unit.bound) > reclaim.placed and not self._has_running_victim(reclaim):
                self._retries.pop(unit, None)  # one pod was placed: the next unit may reclaim
            elif self._is_in_progress(reclaim, now):
                continue
            del self.in_flight[unit]
            for queue in reclaim.donors:
                usage.tree.count_reclaim(queue, -1)

    def _is_in_progress(self, reclaim: ReclaimInFlight, now: float) -> bool:
        """True if victims are still running, or the unit may still use the freed capacity."""
        if now >= reclaim.until:
            return False
        if self._has_running_victim(reclaim):
            return True
        reclaim = self.in_flight[reclaim.unit] = reclaim._replace(left=min(reclaim.left, now))
        return now < reclaim.left + PROTECTION or reclaim.unit.state is not UnitState.UNSCHEDULABLE

    def _has_running_victim(self, reclaim: ReclaimInFlight) -> bool:
        """Return whether any victim still has its node."""
        pods = self._places.pods
        return any(
            pods.serial[row] == serial and int(pods.state[row]) in ON_NODES
            for row, serial in reclaim.leaving
        )
