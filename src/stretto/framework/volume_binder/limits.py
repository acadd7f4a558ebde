"""Volumes in use by node and driver, cached for NodeVolumeLimits.

The counts are computed on first use and then updated for the nodes whose pods, attachments, PVCs or
volumes have changed. They are valid while no node changes (``usage_of``).
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Final, NamedTuple

import numpy as np

from stretto.api.types.storage import (
    CsiNode,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
    class_name,
)
from stretto.framework.model.nodes import NodeColumns
from stretto.framework.model.pod_facts import SchedulingFacts
from stretto.framework.model.snapshot import ParitySnapshot
from stretto.framework.model.status import IntArray
from stretto.state.objects import Identity

_NO_LIMIT: Final = np.iinfo(np.int64).max

Drivers = dict[str, str]
"""Driver by volume."""


class NodeVolumeReaders(NamedTuple):
    """The plugin's functions that read a node."""

    #: Limit by driver.
    limits: Callable[[ParitySnapshot, int], dict[str, int]]
    #: Attached volumes.
    attached: Callable[[ParitySnapshot, int], Drivers]
    #: Volumes of a pod, and an error.
    volumes: Callable[[SchedulingFacts, ParitySnapshot], tuple[Drivers, str]]


class NodeVolumes(NamedTuple):
    """The volumes of one node with limits."""

    #: Volumes of each of its pods.
    by_pod: dict[SchedulingFacts, Drivers]
    #: Volumes of its pods.
    there: Drivers
    #: Volumes of its pods, and volumes that are attached for another reason.
    everything: Drivers


class VolumeUsage:
    """Counts and limits of every node."""

    def __init__(self, snapshot: ParitySnapshot, readers: NodeVolumeReaders) -> None:
        """Start empty."""
        #: int64[n] by driver: number of volumes in use.
        self.counts: dict[str, IntArray] = {}
        #: int64[n] by driver: limit of the node; -1 for none.
        self.limits: dict[str, IntArray] = {}
        #: Nodes by volume of a pod there.
        self.holders: dict[str, set[int]] = {}
        #: Errors by node.
        self.broken: dict[int, str] = {}
        self._snapshot = snapshot
        self._nodes: NodeColumns = snapshot.nodes
        self._readers = readers
        self._at = -1
        self._known: dict[int, NodeVolumes] = {}
        self._rows_by_pvc: dict[tuple[str, str], set[int]] = {}
        # PVCs at the time when a node was last read for them.
        self._pvcs: dict[tuple[str, str], PersistentVolumeClaim] = {}
        self._by_volume: dict[str, set[int]] = {}
        self._attached_at: dict[str, int] = {}

    def sync(self) -> None:
        """Read changed nodes again."""
        stale = self._snapshot.volumes_moved
        objects = self._snapshot.objects
        changed = objects.changes_since(self._at) if self._at >= 0 else None
        self._at = objects.head
        if changed is None or any(each[0] == StorageClass.__name__ for each in changed):
            nodes = set(range(self._nodes.count))
            for each in objects.of(VolumeAttachment):  # only to store their nodes
                if isinstance(each, VolumeAttachment):
                    self._of_attachment(each.metadata.name)
        else:
            nodes = {node for each in dict.fromkeys(changed) for node in self._of(each)}
        for node in nodes:
            self._read(node, {})
        for node in stale - nodes:  # on nodes with pod changes, the other pods are known
            before = self._known.get(node)
            self._read(node, {} if before is None else before.by_pod)
        stale.clear()

    def _of(self, identity: Identity) -> Iterable[int]:
        """Nodes that depend on an object."""
        kind, namespace, name = identity
        if kind == PersistentVolumeClaim.__name__:
            key = namespace, name
            before, after = self._pvcs.get(key), self._snapshot.objects.pvcs.get(key)
            if before is not None and after is not None and _is_same_count(before, after):
                return ()
            return self._rows_by_pvc.get(key, ())
        if kind == PersistentVolume.__name__:
            return self._by_volume.get(name, ())
        if kind == CsiNode.__name__:
            at = self._nodes.index.get(name)
            return () if at is None else (at,)
        return self._of_attachment(name) if kind == VolumeAttachment.__name__ else ()

    def _of_attachment(self, name: str) -> Iterable[int]:
        """Current node of an attachment, and its node at the last read.

        The current node is stored for the next call.
        """
        item = self._snapshot.objects.find((VolumeAttachment.__name__, "", name))
        before = self._attached_at.pop(name, None)
        after = None
        if isinstance(item, VolumeAttachment):
            after = self._nodes.index.get(item.spec.node_name)
        if after is not None:
            self._attached_at[name] = after
        return [node for node in (before, after) if node is not None]

    def _read(self, node: int, by_pod: Mapping[SchedulingFacts, Drivers]) -> None:
        """Read one node again; some of its pods may be known."""
        snapshot, readers = self._snapshot, self._readers
        limits = readers.limits(snapshot, node)
        for driver in {*limits, *(d for d, column in self.limits.items() if column[node] >= 0)}:
            self._column(self.limits, driver, -1)[node] = limits.get(driver, -1)
        before = self._known.pop(node, None)
        if before is not None:
            self._count(node, before.everything, -1)
            for volume in before.there:
                self.holders[volume].discard(node)
            self.broken.pop(node, None)
        if not limits:
            return
        there: Drivers = {}
        read: dict[SchedulingFacts, Drivers] = {}
        for pod in snapshot.pods_on[node]:
            if not pod.pod.spec.volumes:
                continue
            mine = by_pod.get(pod)
            if mine is None:
                self._record_pvcs(pod, node)
                mine, broken = readers.volumes(pod, snapshot)
                if broken:
                    self.broken[node] = broken
                    self._known[node] = NodeVolumes({}, {}, {})
                    return
            read[pod] = mine
            there |= mine
        everything = readers.attached(snapshot, node) | there
        self._known[node] = NodeVolumes(read, there, everything)
        self._count(node, everything, 1)
        for volume in there:
            self.holders.setdefault(volume, set()).add(node)

    def _record_pvcs(self, pod: SchedulingFacts, node: int) -> None:
        """Store the objects whose change makes a node stale."""
        for name, _ in pod.pvc_names():
            key = pod.namespace, name
            self._rows_by_pvc.setdefault(key, set()).add(node)
            pvc = self._snapshot.objects.pvcs.get(key)
            if pvc is None:
                self._pvcs.pop(key, None)
                continue
            self._pvcs[key] = pvc
            if pvc.spec.volume_name:
                self._by_volume.setdefault(pvc.spec.volume_name, set()).add(node)

    def _count(self, node: int, volumes: Drivers, by: int) -> None:
        for driver in volumes.values():
            self._column(self.counts, driver, 0)[node] += by

    def _column(self, columns: dict[str, IntArray], driver: str, empty: int) -> IntArray:
        found = columns.get(driver)
        if found is None:
            found = columns[driver] = np.full(self._nodes.count, empty, np.int64)
        return found


def _is_same_count(one: PersistentVolumeClaim, other: PersistentVolumeClaim) -> bool:
    """Return whether two versions of a PVC have the same volume, driver and owner."""
    return (
        one.spec == other.spec
        and class_name(one) == class_name(other)
        and one.metadata.owner_references == other.metadata.owner_references
    )


def usage_of(snapshot: ParitySnapshot, readers: NodeVolumeReaders) -> VolumeUsage:
    """Return the updated counts of a snapshot."""
    found = snapshot.nodes.kept("usage of volumes", lambda: VolumeUsage(snapshot, readers))
    found.sync()
    return found


def capacity_within_limits(usage: VolumeUsage, new: Counter[str]) -> IntArray | None:
    """int64[n]: number of pods with these volumes that each node accepts; ``None`` for no limit.

    Args:
        usage: volumes in use, up to date.
        new: number of volumes of one pod by driver, all of them unattached.
    """
    found = None
    for driver, many in new.items():
        limits = usage.limits.get(driver)
        if limits is None or not many:
            continue
        left = np.where(limits >= 0, (limits - usage.counts.get(driver, 0)) // many, _NO_LIMIT)
        found = left if found is None else np.minimum(found, left)
    return found
