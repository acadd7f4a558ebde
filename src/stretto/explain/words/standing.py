"""Scheduling state of a pod's unit as plain values that outlive the dispatcher."""

from collections.abc import Mapping, Sequence
from math import inf
from typing import Final

import msgspec

from stretto.base.clock import SecondsOf, seconds_since
from stretto.control.dispatcher.views import ReachedLimit, UnitViews
from stretto.control.reporting.held_back import limit_message
from stretto.state.rows.lifecycle import UnitState
from stretto.state.work.units import NO_GROUP, Cure, Unit, Units


class BlockingLimit(msgspec.Struct, frozen=True):
    """A limit of a queue that blocks a unit, and the value with which the unit would start."""

    #: Queue with the limit: the unit's own or an ancestor.
    queue: str
    #: The resource; empty for the number of running units.
    resource: str
    #: Limit in exact units.
    limit: int
    #: The smallest limit that lets the unit start now.
    enough: int
    #: Number of running pods under the limit with a lower priority; a limit does not evict them.
    lower: int = 0
    #: True if the unit requests more than the limit, so that the end of other pods does not help.
    is_too_low: bool = False


class UnitFacts(msgspec.Struct, frozen=True):
    """One unit at one instant."""

    #: ``Kind/namespace/name``, or the uid of a single pod.
    key: str
    #: Kind of the unit: ``PodGroup``, ``Owner`` or ``Pod``.
    kind: str
    #: Queue of the unit.
    queue: str
    #: Unit state: ``queued``, ``unschedulable``, ...
    state: str
    #: Number of pods that must start together; ``None`` if its PodGroup does not exist.
    min_member: int | None
    #: Number of pods that have a node.
    placed: int
    #: Number of pods without a node.
    waiting: int
    #: Highest priority of the pods.
    priority: int
    #: Number of failed attempts since the last success.
    attempts: int
    #: Position in the queue, from 1; 0 if the unit is not queued.
    position: int
    #: Number of units in that queue.
    queue_length: int
    #: Earliest time of the next attempt, in seconds since the start of the run.
    not_before: float
    #: ``Cure`` bits of the events that trigger a retry.
    cures: int
    #: True for a complete gang that waits for capacity without a time-out.
    waits_without_timeout: bool = False
    #: Reason why the unit failed; empty if it did not.
    failure: str = ""
    #: True if the unit has been placed completely once.
    scheduled: bool = False
    #: Number of the shard that is placing the unit; -1 for none.
    shard: int = -1
    #: Queue limits that block the unit, as a sentence; empty for none.
    quota: str = ""
    #: The limits as values; empty if a queue starts no units at all.
    limits: tuple[BlockingLimit, ...] = ()
    #: If this gang lost pods: other gangs that lost pods, because they may block each other.
    beside: tuple[str, ...] = ()
    #: Sentences about reservations of the queue that concern the unit; empty for none.
    reserved: str = ""
    #: Result of the last reclaim search for the queue; empty for none.
    reclaim: str = ""

    @property
    def is_gang(self) -> bool:
        """True if several pods must start together."""
        return self.min_member is None or self.min_member > 1

    @property
    def still_needed(self) -> int:
        """Number of pods that must still be placed to reach ``min_member``."""
        if self.min_member is None or self.scheduled:
            return 0
        return max(0, self.min_member - self.placed)


def positions(units: Units) -> dict[Unit, tuple[int, int]]:
    """Position of each queued unit in its queue, from 1, and the length of the queue."""
    queues: dict[str, list[Unit]] = {}
    for unit in units:
        if unit.state is UnitState.QUEUED:
            queues.setdefault(unit.queue, []).append(unit)
    found: dict[Unit, tuple[int, int]] = {}
    for members in queues.values():
        members.sort(key=lambda unit: unit.rank)
        found |= {unit: (i, len(members)) for i, unit in enumerate(members, 1)}
    return found


CLOCK_SECONDS: Final = seconds_since(0.0)
"""Identity: clock times stay clock times."""


def facts_of(
    unit: Unit,
    place: tuple[int, int],
    seconds_of: SecondsOf = CLOCK_SECONDS,
    failure: str = "",
    views: UnitViews | None = None,
) -> UnitFacts:
    """Convert a unit to values; ``seconds_of`` maps clock times to seconds of the run.

    The dispatcher's ``views`` add queue limits and reservations.
    """
    reached = views.limits(unit) if views is not None else ()
    return UnitFacts(
        key=unit.key,
        kind=unit.kind.value,
        queue=unit.queue,
        state=unit.state.name.lower(),
        min_member=None if unit.min_member >= NO_GROUP else unit.min_member,
        placed=len(unit.bound),
        waiting=len(unit.pending),
        waits_without_timeout=unit.is_gang and unit.waits_for_capacity,
        priority=unit.priority,
        attempts=unit.attempts,
        position=place[0],
        queue_length=place[1],
        not_before=max(0.0, seconds_of(unit.not_before)),
        cures=unit.cures,
        failure=failure,
        scheduled=unit.scheduled,
        quota=limit_message(reached),
        limits=_blocking(reached, unit, views),
        beside=_beside(unit, views),
        reserved=reservation_message(views, unit, seconds_of) if views is not None else "",
        reclaim=reclaim_message(views, unit),
        shard=unit.shard if unit.state is UnitState.DISPATCHED else -1,
    )


def _blocking(
    reached: Sequence[ReachedLimit], unit: Unit, views: UnitViews | None
) -> tuple[BlockingLimit, ...]:
    """Reached limits as values; empty if a queue starts no units at all."""
    if views is None or any(each.most < 0 for each in reached):
        return ()
    return tuple(
        BlockingLimit(
            each.queue,
            each.resource,
            each.most,
            each.held + each.requested,
            views.lower_priority(each, unit),
            each.requested > each.most,
        )
        for each in reached
    )


def _beside(unit: Unit, views: UnitViews | None) -> tuple[str, ...]:
    """The other incomplete gangs, each with the number of its pods that have nodes."""
    found = views.incomplete_beside(unit) if views is not None else []
    return tuple(f"{each.key} ({len(each.bound)} of {each.min_member} pods)" for each in found)


def reservation_message(views: UnitViews, unit: Unit, seconds_of: SecondsOf) -> str:
    """Sentences about reservations of its queue that concern a unit; empty for none."""
    found = views.reservation(unit)
    if found is None:
        return ""
    first = f"Capacity is reserved for {found.first}, {_expected(found.first_start, seconds_of)}."
    if found.own_start is None:
        return f"{first} It may start before only if that is not delayed."
    own = f"It has a reservation of its own, {_expected(found.own_start, seconds_of)}."
    return own if found.first == unit.key else f"{first} {own}"


def _expected(at: float, seconds_of: SecondsOf) -> str:
    if at == inf:
        return "without an expected start"
    return f"from {seconds_of(at):.1f} s of the run on"


def reclaim_message(views: UnitViews | None, unit: Unit) -> str:
    """Result of the last reclaim search for a unit's queue, as a sentence; empty for none."""
    found = views.reclaim_of(unit) if views is not None else None
    return "" if found is None else f"Reclaim: {found.value}."


RETRY_EVENTS: Final[Mapping[Cure, tuple[str, ...]]] = {
    Cure.NODE_ADDED: ("a node", "is added"),
    Cure.NODE_GREW: ("a node", "grows"),
    Cure.NODE_LABELS: ("a node", "changes its labels"),
    Cure.NODE_TAINTS: ("a node", "changes its taints", "is uncordoned"),
    Cure.NODE_LEFT: ("a node", "is removed"),
    Cure.POD_LEFT: ("a pod", "is removed from its node"),
    Cure.POD_PLACED: ("a pod", "is placed"),
    Cure.POD_LABELS: ("a pod", "changes its labels"),
    Cure.POD_CHANGED: ("this pod", "changes"),
    Cure.GROUP_CHANGED: ("its PodGroup", "changes"),
    Cure.VOLUME_CHANGED: ("a volume", "is added or changes"),
    Cure.QUEUE_CHANGED: ("its queue", "changes"),
    Cure.POD_EVICTABLE: ("a pod", "becomes evictable"),
    Cure.NAMESPACE_CHANGED: ("a namespace", "changes its labels"),
}
"""Subject and verbs of each event that triggers a retry."""


def retry_condition(cures: int) -> str:
    """Clause that lists the events of some ``Cure`` bits; empty for none.

    >>> retry_condition(int(Cure.NODE_ADDED | Cure.NODE_GREW | Cure.POD_LEFT))
    'when a node is added or grows; or when a pod is removed from its node'
    """
    verbs: dict[str, list[str]] = {}
    for bit, (subject, *each) in RETRY_EVENTS.items():
        if cures & bit:
            verbs.setdefault(subject, []).extend(each)
    clauses = [f"when {subject} {joined(each, 'or')}" for subject, each in verbs.items()]
    last = ["or " * (len(clauses) > 1) + clause for clause in clauses[-1:]]
    return "; ".join([*clauses[:-1], *last])


def joined(words: Sequence[str], conjunction: str) -> str:
    """Words as a list in a sentence.

    >>> joined(["a", "b", "c"], "or")
    'a, b or c'
    """
    return f" {conjunction} ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))
