"""Preemption data of pods: priority, preemption attributes, start time, eviction state.

Running pods often share a body, so results are cached by body.
"""

from collections.abc import Iterable
from typing import Final

import msgspec
import numpy as np

from stretto.api.types.core import PriorityClass
from stretto.api.types.heads import PodHead, decode_pod_head
from stretto.base.clock import timestamp_or_none
from stretto.base.errors import InputError
from stretto.state.classes.preemption_attributes import (
    DEFAULT_ATTRIBUTES,
    PriorityClassAnnotations,
    priority_class_annotations,
)
from stretto.state.classes.template_key import SHARED_BODIES
from stretto.state.cluster.cluster import Cluster
from stretto.state.work.evictions import EvictionState, PendingEviction
from stretto.state.work.units import Cure
from stretto.stores.store import EventType, Record, WatchEvent

_CLASS: Final = msgspec.json.Decoder(PriorityClass)


class PodPriorities:
    """Reads priorities and preemption attributes of pods."""

    def __init__(self, cluster: Cluster) -> None:
        """Read for one cluster."""
        self._cluster = cluster
        #: Number of PriorityClass changes so far.
        self.changes: int = 0
        self._by_body: dict[tuple[str, bytes], int] = {}

    def priority(self, record: Record, head: PodHead) -> int:
        """A pod's resolved priority.

        Raises:
            InputError: the priority does not fit into 32 bits.
        """
        cluster, priority = self._cluster, head.spec.priority
        if priority is None:
            priority = cluster.priorities.get(
                head.spec.priority_class_name, cluster.config.default_priority
            )
        where = f"pod {record.namespace}/{record.name}: priority"
        return checked_priority(priority, where)

    def running_priority(self, record: Record) -> tuple[int, int]:
        """Priority and preemption attributes of a running pod whose head is not decoded."""
        key = (record.namespace, record.body)
        cached = self._by_body.get(key)
        if cached is not None:
            return cached, DEFAULT_ATTRIBUTES
        head = decode_pod_head(record.body)
        priority = self.priority(record, head)
        attributes = self._cluster.preemption_attributes.number_of(head)
        if attributes == DEFAULT_ATTRIBUTES:
            if len(self._by_body) >= SHARED_BODIES:
                self._by_body.clear()
            self._by_body[key] = priority
        return priority, attributes

    def classes(self, events: Iterable[WatchEvent]) -> None:
        """Apply PriorityClass events."""
        cluster = self._cluster
        for event in events:
            self.changes += 1
            name = event.record.name
            key = f"priorityclass {name}"
            cluster.abnormal.pop(key, None)
            if event.type is EventType.DELETED:  # pods that name it keep their priority
                cluster.priorities.pop(name, None)
                cluster.preemption_attributes.classes.pop(name, None)
                continue
            try:
                self._put_class(name, _CLASS.decode(event.record.body), key)
            except (msgspec.DecodeError, InputError, RecursionError) as error:
                cluster.abnormal[key] = str(error)

    def _put_class(self, name: str, found: PriorityClass, where: str) -> None:
        """Store a PriorityClass and invalidate the caches of pods that name it."""
        self._cluster.priorities[name] = checked_priority(found.value, where)
        annotations = priority_class_annotations(
            found.preemption_policy, found.metadata.annotations
        )
        known = self._cluster.preemption_attributes.classes
        if annotations != known.get(name, PriorityClassAnnotations()):
            known[name] = annotations
            self._by_body.clear()


def checked_priority(value: int, where: str) -> int:
    """Check that a priority fits into its column; Kubernetes has the same limit."""
    if not -(1 << 31) <= value < 1 << 31:
        raise InputError(where, value, "a number of 32 bits")
    return value


_RUNNING: Final = "Running"
"""Phase of a pod that runs."""
START_TIME: Final = b'"startTime"'
"""Text in the JSON of pods whose node has started them."""


def record_eviction_state(cluster: Cluster, row: int, record: Record, head: PodHead | None) -> None:
    """Record the start time, the phase and the eviction state of a pod on a node."""
    pods = cluster.pods
    if head is not None:
        pods.running[row] = head.status.phase == _RUNNING
        if head.status.start_time:
            pods.started[row] = _clock_time(cluster, head.status.start_time)
    if record.deleting and pods.eviction_state[row] == EvictionState.NONE:
        eviction = PendingEviction(
            int(pods.serial[row]), int(pods.slot[row]), None, "", acknowledged=True
        )
        cluster.evictions.begin(row, eviction)
        pods.log.add(row)
        if cluster.classes.counted[pods.class_id[row]]:
            cluster.changes.add_cures(Cure.POD_LABELS)
    elif record.deleting:
        cluster.evictions.in_progress[row].acknowledge()


def record_preemption_attributes(cluster: Cluster, row: int, head: PodHead) -> None:
    """Update the preemption attributes of a pod whose labels or annotations may have changed."""
    pods, table = cluster.pods, cluster.preemption_attributes
    number, before = table.number_of(head), int(pods.preemption_attributes[row])
    if number == before:
        return
    table.use(number)
    pods.preemption_attributes[row] = number
    table.release(before)
    pods.log.add(row)
    cluster.changes.add_cures(Cure.POD_LABELS)


def _clock_time(cluster: Cluster, text: str) -> float:
    """Convert a wall time to the engine's clock; an unreadable time is ignored."""
    seconds = timestamp_or_none(text)
    return float(np.inf) if seconds is None else seconds - cluster.wall_offset
