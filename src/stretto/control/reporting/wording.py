"""Conditions and events of pods in the format of Kubernetes, as JSON."""

from collections.abc import Iterable
from typing import Any, Final

import msgspec

from stretto.api.wire.kinds import POD
from stretto.base.clock import timestamp
from stretto.reconcile.counted_events import CountedEvent
from stretto.reconcile.events import EventLevel, EventText, event_fields, event_name
from stretto.state.work.evictions import EvictionCause, StartedEvictions
from stretto.state.work.units import NO_GROUP, Unit
from stretto.stores.store import Patch, Record

SCHEDULED: Final = "PodScheduled"
"""Type of the condition that reports whether a pod has a node."""
UNSCHEDULABLE: Final = "Unschedulable"
"""Reason of the condition while the pod fits no node."""
QUEUE_LIMIT: Final = "QueueLimit"
"""Reason of the condition while a queue limit blocks the pod."""
QUEUED: Final = "Queued"
"""Reason of the condition after a limit blocked the pod and the pod is queued again."""
GATED: Final = "SchedulingGated"
"""Reason of the condition while a gate blocks the pod."""
GATED_MESSAGE: Final = "Scheduling is blocked due to non-empty scheduling gates"
"""Message of the condition while a gate blocks the pod."""
FAILED: Final = "FailedScheduling"
"""Reason of the event about a pending pod."""
DONE: Final = "Scheduled"
"""Reason of the event about a pod that got a node."""
MOVED: Final = "Rescheduled"
"""Reason of the event about a pod that is evicted to free capacity."""
NODE_OVER_COMMITTED: Final = "NodeOverCommitted"
"""Reason of the event about a pod that is evicted from an over-committed node."""
EVICTED: Final = {
    EvictionCause.PREEMPTION: "Preempted",
    EvictionCause.RECLAIM: "Reclaimed",
    EvictionCause.GANG: "GangReleased",
}
"""Reasons of the events about evicted pods; controllers write those of the other causes."""
NOT_VALID: Final = "NotAsItShouldBe"
"""Reason of the event about an invalid object."""


class PodReport(msgspec.Struct, frozen=True, gc=False):
    """The report about one pod."""

    #: True if the pod has a node.
    scheduled: bool
    #: Reason in CamelCase; empty for a pod that has a node.
    reason: str = ""
    #: Message for users.
    message: str = ""
    #: Reason of its event; empty for ``Scheduled`` or ``FailedScheduling``.
    event: str = ""


HAS_NODE: Final = PodReport(scheduled=True)
"""The report about a pod that has a node."""


class _ReportedCondition(msgspec.Struct, frozen=True, rename="camel"):
    """The compared fields of a condition."""

    #: Type of the condition.
    type: str = ""
    #: ``True``, ``False`` or ``Unknown``.
    status: str = ""
    #: Reason.
    reason: str | None = None
    #: Message.
    message: str | None = None
    #: Time at which the status last changed.
    last_transition_time: str | None = None


class _ReportedStatus(msgspec.Struct, frozen=True):
    """A pod's conditions."""

    #: The conditions as raw JSON.
    conditions: tuple[msgspec.Raw, ...] | None = None


class _ReportedPod(msgspec.Struct, frozen=True):
    """A pod's status."""

    #: Status of the pod.
    status: _ReportedStatus = _ReportedStatus()


_POD: Final = msgspec.json.Decoder(_ReportedPod)
_CONDITION: Final = msgspec.json.Decoder(_ReportedCondition)


def condition_patch(record: Record, word: PodReport, now: float) -> Patch | None:
    """Patch that writes a report to a pod's condition; ``None`` if the condition already has it.

    Other conditions are unchanged. ``now`` is wall-clock time.
    """
    try:
        conditions = _POD.decode(record.body).status.conditions or ()
        present = [(_CONDITION.decode(raw), raw) for raw in conditions]
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        present = []
    mine = next((each for each, _ in present if each.type == SCHEDULED), None)
    status = "True" if word.scheduled else "False"
    same = mine is not None and (mine.status, mine.reason or "", mine.message or "") == (
        status,
        word.reason,
        word.message,
    )
    if same:
        return None
    changed = mine is None or mine.status != status or not mine.last_transition_time
    since = timestamp(now) if changed or mine is None else mine.last_transition_time
    body: dict[str, Any] = {"type": SCHEDULED, "status": status, "lastTransitionTime": since}
    body["lastProbeTime"] = None
    if word.reason:
        body |= {"reason": word.reason, "message": word.message}
    others: list[Any] = [raw for each, raw in present if each.type != SCHEDULED]
    patch = {"status": {"conditions": [*others, body]}}
    return Patch(record.namespace, record.name, patch, record.version, record.uid)


def scheduled_event(pod: Record, wall: float) -> CountedEvent:
    """Event about a bound pod, with kube-scheduler's text. ``wall`` is wall-clock time."""
    message = f"Successfully assigned {pod.namespace}/{pod.name} to {pod.node}"
    return pod_event(pod, PodReport(scheduled=True, message=message), wall)


def eviction_reports(evictions: Iterable[StartedEvictions]) -> list[tuple[Record, PodReport]]:
    """Reports about evicted pods; their records contain identity and node."""
    found = []
    for eviction in evictions:
        for victim in eviction.victims if eviction.cause in EVICTED else ():
            namespace, _, name = victim.key.partition("/")
            message = f"Evicted from {victim.node}: {eviction.reason}"
            record = Record(POD, namespace, name, victim.uid, 0, b"", victim.node)
            found.append((record, PodReport(True, message=message, event=EVICTED[eviction.cause])))
    return found


def pod_event(record: Record, word: PodReport, wall: float, times: int = 1) -> CountedEvent:
    """Event about a pod, for the ``times``-th time. ``wall`` is wall-clock time in seconds."""
    reason = word.event or (DONE if word.scheduled else FAILED)
    level = EventLevel.NORMAL if word.scheduled or word.event else EventLevel.WARNING
    text = EventText(level, reason, word.message)
    return CountedEvent(event_name(record, reason), record, text, wall, times)


def complaint_event(record: Record, message: str, reporter: str, now: float) -> bytes:
    """The event about an invalid object. ``now`` is wall-clock time."""
    return _event(record, (NOT_VALID, message), "Warning", (reporter, now))


def move_event(record: Record, message: str, reporter: str, now: float) -> bytes:
    """The event about a moved pod. ``now`` is wall-clock time."""
    return _event(record, (MOVED, message), "Normal", (reporter, now))


def overcommit_event(record: Record, message: str, reporter: str, now: float) -> bytes:
    """The event about a pod evicted from an over-committed node. ``now`` is wall-clock time."""
    return _event(record, (NODE_OVER_COMMITTED, message), "Warning", (reporter, now))


def node_event(record: Record, about: tuple[str, str], reporter: str, now: float) -> bytes:
    """The event about a node, with reason and message. ``now`` is wall-clock time."""
    return _event(record, about, "Warning", (reporter, now))


def _event(record: Record, about: tuple[str, str], kind: str, source: tuple[str, float]) -> bytes:
    """An event with reason, message, type, reporter and time."""
    (reason, message), (reporter, now) = about, source
    name = event_name(record, reason if reason != NOT_VALID else message)
    text = EventText(EventLevel(kind), reason, message)
    return msgspec.json.encode(event_fields(record, name, text, reporter, timestamp(now)))


def incomplete_reason(unit: Unit) -> str:
    """Reason why an incomplete unit is pending."""
    name = unit.key.partition("/")[2]
    if unit.min_member == NO_GROUP:
        return f"PodGroup {name} does not exist"
    return f"only {unit.size} of the {unit.min_member} pods of {name} exist"


def short_gang_reason(unit: Unit, available: int, total: int) -> str:
    """Reason why a gang is pending whose pods fit individually."""
    name = unit.key.partition("/")[2]
    return (
        f"{available}/{total} nodes are available: {name} needs capacity for "
        f"{unit.still_needed} pods together."
    )
