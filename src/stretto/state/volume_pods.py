"""Pods that name claims or disks: their records are kept, for volumes are no part of a class."""

from collections.abc import Sequence
from typing import Final

from stretto.api.heads import NO_BYTES
from stretto.state import whole
from stretto.state.cluster import Cluster
from stretto.state.likeness import SHARED_BODIES
from stretto.stores.store import Event, EventType

_DELETED: Final = EventType.DELETED


class VolumePods:
    """Keeps the records of pods with volumes."""

    def __init__(self, cluster: Cluster) -> None:
        """Keep them for one cluster."""
        self._cluster = cluster
        self._shared: dict[bytes, bool] = {}

    def keep(self, events: Sequence[Event]) -> None:
        """Remember what these events say of such pods; call it once they were applied."""
        cluster, records = self._cluster, self._cluster.records
        mine = [
            event
            for event in events
            if (event.type is not _DELETED and not event.bind and self._names_some(event))
            or (records and event.record.uid in records)
        ]
        if not mine:
            return
        whole.keep_bodies(cluster, mine)
        pods = cluster.pods
        for event in mine:
            row = pods.row(event.record.uid)
            if row is not None and not pods.volumes[row]:
                pods.volumes[row] = 1
                pods.log.add(row)

    def _names_some(self, event: Event) -> bool:
        """Whether a pod names a claim or a disk."""
        if event.head is not None:
            raw = event.head.spec.volumes
            return raw is not NO_BYTES and _names_disk(bytes(raw))
        body = event.record.body
        known = self._shared.get(body)
        if known is None:
            if len(self._shared) >= SHARED_BODIES:
                self._shared.clear()
            known = self._shared[body] = _names_disk(body)
        return known


def _names_disk(text: bytes) -> bool:
    """Whether a text names a source of volumes that rules look at; no loop, for every pod asks."""
    return (
        b'"persistentVolumeClaim"' in text
        or b'"ephemeral"' in text
        or b'"gcePersistentDisk"' in text
        or b'"awsElasticBlockStore"' in text
        or b'"iscsi"' in text
        or b'"rbd"' in text
    )
