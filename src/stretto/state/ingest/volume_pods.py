"""Records of pods with PVCs or disks, kept because volumes are not part of a class."""

from collections.abc import Iterable, Sequence
from typing import Final

from stretto.api.types.heads import NO_BYTES, PodHead
from stretto.state.classes.template_key import SHARED_BODIES
from stretto.state.cluster.cluster import Cluster
from stretto.state.ingest import whole_objects
from stretto.stores.store import EventType, WatchEvent

_DELETED: Final = EventType.DELETED


class VolumePods:
    """Keeps the records of pods with volumes."""

    def __init__(self, cluster: Cluster) -> None:
        """Keep the records of one cluster."""
        self._cluster = cluster
        self._shared: dict[bytes, bool] = {}
        # Shared heads without volumes, by identity; kept alive so that the identity stays unique.
        self._unrelated: dict[int, PodHead] = {}

    def keep(self, events: Sequence[WatchEvent]) -> None:
        """Store the records of pods with volumes; call it after the events were applied."""
        cluster, records = self._cluster, self._cluster.records
        if not records and not any(map(self._names_volumes, self._unread(events))):
            return
        mine = [
            event
            for event in events
            if (event.type is not _DELETED and not event.bind and self._names_volumes(event))
            or (records and event.record.uid in records)
        ]
        if not mine:
            return
        whole_objects.store_bodies(cluster, mine)
        pods = cluster.pods
        for event in mine:
            row = pods.row(event.record.uid)
            if row is not None and not pods.volumes[row]:
                pods.volumes[row] = 1
                pods.log.add(row)

    def _unread(self, events: Sequence[WatchEvent]) -> Iterable[WatchEvent]:
        """One event per unchecked shared head, and all events without a shared head."""
        by_head = {id(event.head): event for event in events if not event.bind}
        bare, unrelated = by_head.pop(id(None), None), self._unrelated
        for key in [key for key in by_head if key not in unrelated]:
            event = by_head[key]
            yield event  # the caller stops at the first event with volumes
            if event.head is not None and not event.head.metadata.name:
                if len(self._unrelated) >= SHARED_BODIES:
                    self._unrelated.clear()
                self._unrelated[key] = event.head
        if bare is not None:
            yield from (event for event in events if event.head is None and not event.bind)

    def _names_volumes(self, event: WatchEvent) -> bool:
        """Return whether a pod names a PVC or a disk."""
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
    """Return whether a body names a volume source that rules read.

    It has no loop, because it runs for every pod.
    """
    return (
        b'"persistentVolumeClaim"' in text
        or b'"ephemeral"' in text
        or b'"gcePersistentDisk"' in text
        or b'"awsElasticBlockStore"' in text
        or b'"iscsi"' in text
        or b'"rbd"' in text
    )
