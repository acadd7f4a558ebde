"""Where a pod's unit stands: what the dispatcher knows, as values that outlive it."""

from collections.abc import Mapping
from typing import Final

import msgspec

from stretto.control.dispatcher.views import UnitViews
from stretto.control.reporting.held_back import limit_message
from stretto.state.rows.lifecycle import UnitState
from stretto.state.work.units import NO_GROUP, Cure, Unit, Units


class UnitFacts(msgspec.Struct, frozen=True):
    """One unit, as it stood."""

    #: ``Kind/namespace/name``, or the pod's uid for a single pod.
    key: str
    #: What made it: ``PodGroup``, ``Owner`` or ``Pod``.
    kind: str
    #: Queue it waits in.
    queue: str
    #: Where it is, in words: ``queued``, ``unschedulable``, ...
    state: str
    #: Pods that must start together; ``None`` while its PodGroup is unknown.
    min_member: int | None
    #: Pods that have a node.
    placed: int
    #: Pods that want one.
    waiting: int
    #: Highest priority of its pods.
    priority: int
    #: Attempts that failed since the last success.
    attempts: int
    #: Place in its queue, from 1; 0 where it is in none.
    position: int
    #: Units in that queue.
    queue_length: int
    #: Seconds (of the run) before which it is not tried again.
    not_before: float
    #: ``Cure`` bits that wake it.
    cures: int
    #: Why it was given up; empty while it was not.
    failure: str = ""
    #: Whether the whole of it has been on nodes once.
    scheduled: bool = False
    #: Shard that has it now; -1 for none.
    shard: int = -1
    #: Which limit of which queue keeps it waiting, in a sentence; empty where none does.
    quota: str = ""

    @property
    def is_gang(self) -> bool:
        """Whether several pods must start together."""
        return self.min_member is None or self.min_member > 1

    @property
    def still_needed(self) -> int:
        """Pods that must still be placed together for it to stand."""
        if self.min_member is None or self.scheduled:
            return 0
        return max(0, self.min_member - self.placed)


def positions(units: Units) -> dict[Unit, tuple[int, int]]:
    """Place of each queued unit in its queue, from 1, with the length of the queue."""
    queues: dict[str, list[Unit]] = {}
    for unit in units:
        if unit.state is UnitState.QUEUED:
            queues.setdefault(unit.queue, []).append(unit)
    found: dict[Unit, tuple[int, int]] = {}
    for members in queues.values():
        members.sort(key=lambda unit: unit.rank)
        found |= {unit: (i, len(members)) for i, unit in enumerate(members, 1)}
    return found


def facts_of(
    unit: Unit, place: tuple[int, int], start: float = 0.0, failure: str = "", quota: str = ""
) -> UnitFacts:
    """A unit as values; times count from ``start``."""
    return UnitFacts(
        key=unit.key,
        kind=unit.kind.value,
        queue=unit.queue,
        state=unit.state.name.lower(),
        min_member=None if unit.min_member >= NO_GROUP else unit.min_member,
        placed=len(unit.bound),
        waiting=len(unit.pending),
        priority=unit.priority,
        attempts=unit.attempts,
        position=place[0],
        queue_length=place[1],
        not_before=max(0.0, unit.not_before - start),
        cures=unit.cures,
        failure=failure,
        scheduled=unit.scheduled,
        quota=quota,
        shard=unit.shard if unit.state is UnitState.DISPATCHED else -1,
    )


def quota_message(views: UnitViews | None, unit: Unit) -> str:
    """Which limits of its queues keep a unit waiting, in a sentence; empty where none does."""
    return limit_message(views.limits(unit)) if views is not None else ""


CURE_WORDS: Final[Mapping[Cure, str]] = {
    Cure.NODE_ADDED: "a node joins",
    Cure.NODE_GREW: "a node grows",
    Cure.NODE_LABELS: "labels of a node change",
    Cure.NODE_TAINTS: "taints of a node change, or it is uncordoned",
    Cure.POD_LEFT: "a pod leaves its node",
    Cure.POD_PLACED: "a pod comes to a node",
    Cure.POD_LABELS: "labels of a pod change",
    Cure.POD_CHANGED: "the pod itself is changed",
    Cure.GROUP_CHANGED: "its PodGroup changes",
    Cure.VOLUME_CHANGED: "a volume comes or changes",
    Cure.QUEUE_CHANGED: "its queue changes",
    Cure.NODE_LEFT: "a node leaves",
    Cure.NAMESPACE_CHANGED: "labels of a namespace change",
}
"""Events that wake a waiting pod, in words."""


def event_names(cures: int) -> tuple[str, ...]:
    """The events of some ``Cure`` bits, in words."""
    return tuple(words for bit, words in CURE_WORDS.items() if cures & bit)
