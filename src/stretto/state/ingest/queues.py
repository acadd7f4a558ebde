"""Application of Queue events; an unreadable Queue fails alone."""

from collections.abc import Iterable
from typing import Final

import msgspec
import numpy as np

from stretto.api.types.godel import Queue
from stretto.api.types.heads import GROUP_NOTE, MetaHead, decode_pod_head
from stretto.api.types.workload_groups import FORMS
from stretto.base.errors import InputError
from stretto.state.cluster.cluster import Cluster
from stretto.state.rows.lifecycle import PodState
from stretto.state.work.changes import PodArrival, QueueChange
from stretto.state.work.units import Cure
from stretto.stores.store import EventType, Record, WatchEvent

_ON_NODES: Final = (int(PodState.ASSUMED), int(PodState.BOUND))
_LIKELY: Final = (b"pod-group", b"stretto.dev/queue", b'"schedulingGroup"', b"/group-name")
"""Parts of the marks: most pods contain none of them."""
_MARKS: Final = (
    GROUP_NOTE.encode(),
    b"stretto.dev/queue",
    b'"schedulingGroup"',
    *(key.encode() for form in FORMS.values() for key in form.keys),
)
"""Texts in the JSON of pods that name a group or a queue."""
_QUEUE: Final = msgspec.json.Decoder(Queue)


def names_unit(body: bytes) -> bool:
    """Return whether the JSON of a pod names a PodGroup of any scheduler, or a queue."""
    if not any(part in body for part in _LIKELY):
        return False
    return any(mark in body for mark in _MARKS)


def census(cluster: Cluster, records: Iterable[Record]) -> list[int]:
    """Announce all pods on nodes that count for a queue to the dispatcher.

    Our pods count for the queue that they name, or else for the default queue. Pods of other
    schedulers count only for a queue that they name. The rows determine which pods are on nodes,
    because a list may be older.

    Returns:
        Rows of pods on nodes without a sufficiently recent record; the caller must read those
        individually.
    """
    pods, arrivals = cluster.pods, cluster.changes.arrivals
    ours = tuple(f'"{name}"'.encode() for name in cluster.config.scheduler_names)
    there = np.flatnonzero(np.isin(pods.state[: pods.length], _ON_NODES))
    unread = {pods.uid[row]: row for row in there.tolist()}
    for record in records:
        row = unread.get(record.uid)
        if row is None or record.version < pods.version[row]:
            continue
        del unread[record.uid]
        if names_unit(record.body):
            meta = decode_pod_head(record.body).metadata
        elif any(name in record.body for name in ours):
            meta = MetaHead(record.name, "", record.namespace, record.uid)
        else:
            continue
        arrivals.append(PodArrival(row, meta, False, record.uid))
    return list(unread.values())


def apply_queues(cluster: Cluster, events: Iterable[WatchEvent]) -> None:
    """Apply events of Queues; an unreadable Queue keeps its last readable version."""
    for event in events:
        record = event.record
        name, key = record.name, f"queue {record.name}"
        if event.type is EventType.DELETED:
            cluster.abnormal.pop(key, None)
            cluster.queues.pop(name, None)
            cluster.changes.queues.append(QueueChange(name, None))
            cluster.changes.add_cures(Cure.QUEUE_CHANGED)
            continue
        try:
            queue = _QUEUE.decode(record.body)
        except (msgspec.DecodeError, InputError, RecursionError) as error:
            cluster.abnormal[key] = f"{key}: {error}"
            continue
        cluster.abnormal.pop(key, None)
        meta = msgspec.structs.replace(
            queue.metadata,
            name=name,
            uid=record.uid,
            deletion_timestamp=record.deleting or queue.metadata.deletion_timestamp,
        )
        queue = msgspec.structs.replace(queue, metadata=meta)
        before = cluster.queues.get(name)
        cluster.queues[name] = queue
        if before is None or before.spec != queue.spec or before.metadata != queue.metadata:
            cluster.changes.queues.append(QueueChange(name, queue))
            cluster.changes.add_cures(Cure.QUEUE_CHANGED)
