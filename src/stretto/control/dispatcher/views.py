"""Read-only views of the dispatcher: positions, counts, limits and reservations.

Metrics and ``explain`` use them. Only ``counts`` is cheap enough to be read often.
"""

from collections.abc import Mapping
from math import inf
from typing import Final, NamedTuple

from stretto.control.dispatcher.groups import Groups
from stretto.control.dispatcher.membership import group_unit
from stretto.control.dispatcher.reclaimer import Reclaimer
from stretto.control.dispatcher.states.containers import UnitStates
from stretto.control.dispatcher.usage_report import QueueFacts, queue_facts
from stretto.state.queues.usage import QueueUsage
from stretto.state.rows.lifecycle import UnitState
from stretto.state.work.evictions import ReclaimOutcome
from stretto.state.work.units import Unit

LATEST: Final = 1e12
"""Clock time in seconds beyond which a start counts as not expected."""
_WAITS_FOR_RESERVATION: Final = frozenset(
    {UnitState.QUEUED, UnitState.UNSCHEDULABLE, UnitState.BACKOFF}
)


class QueuePosition(NamedTuple):
    """Position of a unit in its queue."""

    #: Name of the queue.
    queue: str
    #: Position of the unit, from 1; 0 if it is not queued.
    position: int
    #: Number of units in the queue.
    length: int


class ReachedLimit(NamedTuple):
    """A limit of a queue that blocks a unit."""

    #: Queue with the limit: the unit's own or an ancestor.
    queue: str
    #: The resource; empty for the limit on running units.
    resource: str
    #: Usage of the queue, in the unit of the resource, or the number of its running units.
    held: int
    #: Request of the unit.
    requested: int
    #: The limit; -1 if the queue starts nothing because it drains or gives capacity back.
    most: int


class UnitReservation(NamedTuple):
    """The reservations of a backfilling queue that concern a unit."""

    #: Key of the unit that is first in order among those with a reservation.
    first: str
    #: Expected start as clock time in seconds; infinity if none is expected.
    first_start: float
    #: Expected start of the unit itself; ``None`` if it has no reservation.
    own_start: float | None


class UnitViews:
    """Reads the unit states."""

    def __init__(self, places: UnitStates, groups: Groups, reclaimer: Reclaimer) -> None:
        """View these states, groups and reclaims."""
        self._reclaimer = reclaimer
        self._places = places
        self._groups = groups

    def position(self, unit: Unit) -> QueuePosition:
        """Position of a unit in its queue; takes time linear in the queue."""
        order = self._places.queues.get(unit.queue).order
        if unit.state is not UnitState.QUEUED:
            return QueuePosition(unit.queue, 0, order.live)
        before = sum(other.rank < unit.rank for other in order)
        return QueuePosition(unit.queue, before + 1, order.live)

    def counts(self) -> dict[UnitState, int]:
        """Number of units by state, without units that wait for nothing."""
        places = self._places
        return {
            UnitState.FORMING: places.forming,
            UnitState.QUEUED: len(places.queues),
            UnitState.DISPATCHED: sum(places.shards.units),
            UnitState.BACKOFF: places.delayed,
            UnitState.UNSCHEDULABLE: len(places.unschedulable),
            UnitState.FAILED: len(places.given_up),
        }

    def queue_lengths(self) -> dict[str, int]:
        """Number of units by queue."""
        return {queue.name: queue.order.live for queue in self._places.queues}

    @property
    def charges(self) -> QueueUsage | None:
        """Charges of the queues, pod by pod; ``None`` if no policy counts usage."""
        return self._places.usage

    def reclaim_of(self, unit: Unit) -> ReclaimOutcome | None:
        """Result of the last reclaim search for a unit; ``None`` for no search."""
        return self._reclaimer.outcome(unit)

    def queues(self) -> list[QueueFacts]:
        """Facts of every queue, parents first."""
        return queue_facts(self._places)

    def group_deadline(self, key: str) -> float:
        """Deadline of a PodGroup ``namespace/name`` as clock time; infinity if unknown."""
        group = self._groups.get(group_unit(key))
        if group is None:
            return inf
        unit = self._places.units.by_identity.get(group_unit(key))
        if unit is None or not unit.has_default_deadline:
            return group.seen + group.wait
        return inf if unit.waits_for_capacity else unit.deadline

    def failure(self, unit: Unit) -> str:
        """Reason why a unit has failed; empty if it has not."""
        failure = self._places.given_up.get(unit) if unit.state is UnitState.FAILED else None
        return "" if failure is None else failure.message

    def group_fault(self, key: str) -> str:
        """Reason why a PodGroup is inconsistent or unreadable; empty if it is valid."""
        group = self._groups.get(group_unit(key))
        return "" if group is None else group.fault

    def usage(self) -> Mapping[str, Mapping[int, int]]:
        """Usage of each queue's claims, by column; empty if no policy counts usage."""
        usage = self._places.usage
        if usage is None:
            return {}
        return {queue: usage.claims.usage(queue) for queue in usage.claims.queues()}

    def limits(self, unit: Unit) -> tuple[ReachedLimit, ...]:
        """The limits that block a unit, those of its own queue first."""
        usage = self._places.usage
        if usage is None or not unit.pending or usage.may_start(unit):
            return ()
        demand, found = usage.demand(unit), []
        for branch in usage.tree.leaf(unit.queue).path:
            if branch.is_closed:
                found.append(ReachedLimit(branch.name, "", branch.running, 1, -1))
            for column, amount in demand.least:
                held, most = branch.used.get(column, 0), branch.limit.get(column)
                if most is not None and held + amount > most:
                    name, held = usage.pool.names(column, held)
                    more, limit = usage.pool.names(column, amount), usage.pool.names(column, most)
                    found.append(ReachedLimit(branch.name, name, held, more[1], limit[1]))
            if demand.fresh and branch.running + 1 > branch.most_units:
                found.append(
                    ReachedLimit(branch.name, "", branch.running, 1, int(branch.most_units))
                )
        return tuple(found)

    def lower_priority(self, limit: ReachedLimit, unit: Unit) -> int:
        """Number of running pods under a limit whose priority is lower than that of a unit."""
        usage = self._places.usage
        branch = None if usage is None else usage.tree.find(limit.queue)
        if usage is None or branch is None:
            return 0
        priority = self._places.pods.priority
        return sum(int(priority[row]) < unit.priority for row in usage.rows_under(branch))

    def incomplete_beside(self, unit: Unit) -> list[Unit]:
        """Other gangs that have nodes for too few pods, if this gang does too.

        They may block it.
        """
        found = self._places.incomplete
        if unit not in found:
            return []
        return [
            other
            for other in found
            if other is not unit
            and other.state is UnitState.UNSCHEDULABLE
            and len(other.bound) < other.min_member
        ]

    def reservation(self, unit: Unit) -> UnitReservation | None:
        """The reservations that concern a waiting unit; ``None`` for none."""
        if unit.state not in _WAITS_FOR_RESERVATION:
            return None
        queue = self._places.queues.get(unit.queue)
        if not queue.blockers or not queue.reserved:
            return None
        first, start = next(iter(queue.reserved.items()))
        own = queue.reserved.get(unit.key)
        if own is None and unit.state is not UnitState.QUEUED:
            return None
        return UnitReservation(first, start if start < LATEST else inf, own)

    @property
    def has_limits(self) -> bool:
        """True if any queue limits what may start."""
        usage = self._places.usage
        return usage is not None and usage.tree.any_limits

    def outstanding(self) -> Mapping[int, int]:
        """Unanswered pods of each live shard."""
        shards = self._places.shards
        return {number: shards.pods[number] for number in shards.numbers()}

    def unschedulable(self) -> Mapping[int, int]:
        """Number of unschedulable units by the class that must fit."""
        return self._places.unschedulable.counts()
