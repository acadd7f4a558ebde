"""What preemption must know of a pod as it comes and changes: priority, traits, start, leaving.

Running pods often share their body, so what is read from one is kept by it.
"""

from collections.abc import Iterable
from typing import Final

import msgspec
import numpy as np

from stretto.api.types.core import PriorityClass
from stretto.api.types.heads import PodHead, decode_pod_head
from stretto.base.clock import parse_timestamp
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
    """Reads priorities and traits of pods."""

    def __init__(self, cluster: Cluster) -> None:
        """Read for one cluster."""
        self._cluster = cluster
        #: How many changes of PriorityClasses were read so far.
        self.changes: int = 0
        self._kept: dict[tuple[str, bytes], int] = {}

    def priority(self, record: Record, head: PodHead) -> int:
        """A pod's resolved priority.

        Raises:
            InputError: it does not fit 32 bits.
        """
        cluster, priority = self._cluster, head.spec.priority
        if priority is None:
            priority = cluster.priorities.get(
                head.spec.priority_class_name, cluster.config.default_priority
            )
        where = f"pod {record.namespace}/{record.name}: priority"
        return checked_priority(priority, where)

    def running_priority(self, record: Record) -> tuple[int, int]:
        """Priority and traits of a running pod that was not decoded otherwise."""
        key = (record.namespace, record.body)
        kept = self._kept.get(key)
        if kept is not None:
            return kept, DEFAULT_ATTRIBUTES
        head = decode_pod_head(record.body)
        priority = self.priority(record, head)
        traits = self._cluster.preemption_attributes.number_of(head)
        if traits == DEFAULT_ATTRIBUTES:
            if len(self._kept) >= SHARED_BODIES:
                self._kept.clear()
            self._kept[key] = priority
        return priority, traits

    def classes(self, events: Iterable[WatchEvent]) -> None:
        """Apply PriorityClass events."""
        cluster = self._cluster
        for event in events:
            self.changes += 1
            name = event.record.name
            key = f"priorityclass {name}"
            cluster.abnormal.pop(key, None)
            if event.type is EventType.DELETED:  # pods that name it keep what they have
                cluster.priorities.pop(name, None)
                cluster.preemption_attributes.classes.pop(name, None)
                continue
            try:
                self._put_class(name, _CLASS.decode(event.record.body), key)
            except (msgspec.DecodeError, InputError, RecursionError) as error:
                cluster.abnormal[key] = str(error)

    def _put_class(self, name: str, found: PriorityClass, where: str) -> None:
        """A PriorityClass came or changed; what is kept of pods that name it may be wrong."""
        self._cluster.priorities[name] = checked_priority(found.value, where)
        notes = priority_class_annotations(found.preemption_policy, found.metadata.annotations)
        known = self._cluster.preemption_attributes.classes
        if notes != known.get(name, PriorityClassAnnotations()):
            known[name] = notes
            self._kept.clear()


def checked_priority(value: int, where: str) -> int:
    """A priority that fits its column, as Kubernetes bounds it too."""
    if not -(1 << 31) <= value < 1 << 31:
        raise InputError(where, value, "a number of 32 bits")
    return value


def record_eviction_state(cluster: Cluster, row: int, record: Record, head: PodHead | None) -> None:
    """A pod was seen on a node: since when it runs, and whether it is leaving."""
    pods = cluster.pods
    if head is not None and head.status.start_time:
        pods.started[row] = _clock_time(cluster, head.status.start_time)
    if record.deleting and pods.eviction_state[row] == EvictionState.NONE:
        leaving = PendingEviction(
            int(pods.serial[row]), int(pods.slot[row]), None, "", acknowledged=True
        )
        cluster.evictions.begin(row, leaving)
        pods.log.add(row)
        if cluster.classes.counted[pods.class_id[row]]:
            cluster.changes.cures |= Cure.POD_LABELS
    elif record.deleting:
        cluster.evictions.in_progress[row].acknowledged = True


def record_preemption_attributes(cluster: Cluster, row: int, head: PodHead) -> None:
    """Labels or notes of a known pod may be others now."""
    pods, table = cluster.pods, cluster.preemption_attributes
    number, before = table.number_of(head), int(pods.preemption_attributes[row])
    if number == before:
        return
    table.use(number)
    pods.preemption_attributes[row] = number
    table.leave(before)
    pods.log.add(row)
    cluster.changes.cures |= Cure.POD_LABELS


def _clock_time(cluster: Cluster, text: str) -> float:
    """A wall time as the engine's clock would have shown it; unreadable ones say nothing."""
    try:
        return parse_timestamp(text) - cluster.wall_offset
    except InputError:
        return float(np.inf)
