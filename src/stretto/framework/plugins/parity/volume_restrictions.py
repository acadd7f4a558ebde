"""VolumeRestrictions: inline disks with a single writer, and PVCs for one pod only.

A ReadWriteOncePod PVC that is in use on any node refuses every node. In a dry run, upstream counts
a removed pod's PVCs by name, without the namespace.
"""

from collections.abc import Iterable, Sequence
from typing import Final, TypeAlias

import numpy as np

from stretto.api.types.volumes import GceDisk, IscsiDisk, RbdDisk, Volume
from stretto.framework.contract.rule import FilterPlugin, NodeCheck, NodeDryRun
from stretto.framework.model.pod_facts import SchedulingFacts
from stretto.framework.model.snapshot import ParitySnapshot
from stretto.framework.model.status import (
    SKIP,
    SUCCESS,
    NodeStatuses,
    PluginStatus,
    refuse_each,
    unresolvable,
    unschedulable,
)
from stretto.framework.plugins.volumes import VolumeRestrictionsRule

DISK: Final = unschedulable("node(s) had no available disk")
IN_USE: Final = unschedulable(
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode"
    " already in-use by another pod"
)
ONE_POD: Final = "ReadWriteOncePod"

Disk: TypeAlias = GceDisk | IscsiDisk | RbdDisk
"""Disk types that several pods may read."""


class VolumeRestrictionsPlugin(FilterPlugin, declares=VolumeRestrictionsRule):
    """Refuses nodes on which a disk is used."""

    def prefilter(self, pod: SchedulingFacts, snapshot: ParitySnapshot) -> NodeCheck | PluginStatus:
        """Evaluate the pod's disks and its ReadWriteOncePod PVCs; skipped if neither conflicts."""
        disks = [each for each in pod.pod.spec.volumes if is_disk(each)]
        alone: set[str] = set()
        for name, own in pod.shape.pvcs:
            if own:
                continue
            pvc = snapshot.objects.pvcs.get((pod.namespace, name))
            if pvc is None:
                return unresolvable(f'persistentvolumeclaim "{name}" not found')
            if ONE_POD in pvc.spec.access_modes:
                alone.add(name)
        uses = sum((pod.namespace, name) in snapshot.pvc_users for name in alone)
        if not disks and not uses:
            return SKIP
        return RestrictionCheck(disks, frozenset(alone), uses, snapshot)


def is_disk(volume: Volume) -> bool:
    """Return whether a volume names a disk that can conflict."""
    disks = (volume.gce_persistent_disk, volume.aws_elastic_block_store, volume.iscsi, volume.rbd)
    return any(each is not None for each in disks)


class RestrictionCheck(NodeCheck):
    """The disks and PVCs of one pod against all nodes."""

    def __init__(
        self, disks: list[Volume], alone: frozenset[str], uses: int, snapshot: ParitySnapshot
    ) -> None:
        """Check these disks and PVCs."""
        #: Disks that the pod names.
        self.disks = disks
        #: Names of its ReadWriteOncePod PVCs.
        self.alone = alone
        #: Number of these PVCs that are in use.
        self.uses = uses
        self._snapshot = snapshot

    def verdict(self) -> NodeStatuses | None:
        """Statuses of nodes on which a disk is used; of all nodes if a PVC is in use."""
        count = self._snapshot.nodes.count
        taken = np.zeros(count, np.bool_)
        if self.disks:
            pods_on = self._snapshot.pods_on
            taken[:] = [any(map(self.in_the_way, pods)) for pods in pods_on]
        used = np.full(count, self.uses > 0)
        return refuse_each(count, [(taken, DISK), (used, IN_USE)])

    def trial(self, node: int) -> NodeDryRun:
        """A dry run over the disks and PVCs of the pods that stay."""
        return RestrictionDryRun(self, self._snapshot.pods_on[node])

    def allows_without(
        self, node: int, pod: SchedulingFacts, evicted: Sequence[SchedulingFacts]
    ) -> bool:
        """Return whether the pods that stay leave the disks and PVCs free.

        Upstream's dry run counts users by the PVC's name alone, and two users of one PVC as one.
        With its result, pods would be evicted without effect.
        """
        snapshot, gone = self._snapshot, set(map(id, evicted))
        staying = (each for each in snapshot.pods_on[node] if id(each) not in gone)
        if self.disks and any(map(self.in_the_way, staying)):
            return False
        space = pod.namespace
        freed = [n for each in evicted if each.namespace == space for n, _ in each.shape.pvcs]
        return all(freed.count(n) >= snapshot.pvc_users.get((space, n), 0) for n in self.alone)

    def in_the_way(self, pod: SchedulingFacts) -> bool:
        """Return whether a pod uses one of the disks."""
        theirs = pod.pod.spec.volumes
        return any(disks_conflict(mine, each) for mine in self.disks for each in theirs)


class RestrictionDryRun(NodeDryRun):
    """The disks and PVCs on one node."""

    def __init__(self, check: RestrictionCheck, pods: Iterable[SchedulingFacts]) -> None:
        """Start with all pods on the node."""
        self._check = check
        self._conflicts = sum(map(check.in_the_way, pods))
        self._uses = check.uses

    def remove(self, pod: SchedulingFacts) -> None:
        """Remove a pod from the node."""
        self._count(pod, -1)

    def add(self, pod: SchedulingFacts) -> None:
        """Add a pod to the node."""
        self._count(pod, 1)

    def status(self) -> PluginStatus:
        """Current status."""
        if self._conflicts:
            return DISK
        return IN_USE if self._uses > 0 else SUCCESS

    def _count(self, pod: SchedulingFacts, by: int) -> None:
        self._conflicts += by * self._check.in_the_way(pod)
        mine = (name for name, own in pod.shape.pvcs if not own)
        self._uses += by * sum(name in self._check.alone for name in mine)


def disks_conflict(one: Volume, other: Volume) -> bool:
    """Return whether two volumes name a disk that they cannot share on a node."""
    gce, gce_too = one.gce_persistent_disk, other.gce_persistent_disk
    same = gce is not None and gce_too is not None and gce.pd_name == gce_too.pd_name
    if same and not _both_read(gce, gce_too):
        return True
    aws, aws_too = one.aws_elastic_block_store, other.aws_elastic_block_store
    if aws is not None and aws_too is not None and aws.volume_id == aws_too.volume_id:
        return True
    iscsi, iscsi_too = one.iscsi, other.iscsi
    same = iscsi is not None and iscsi_too is not None and iscsi.iqn == iscsi_too.iqn
    if same and not _both_read(iscsi, iscsi_too):
        return True
    rbd, rbd_too = one.rbd, other.rbd
    return rbd is not None and rbd_too is not None and _same_image(rbd, rbd_too)


def _both_read(one: Disk | None, other: Disk | None) -> bool:
    """Return whether both disks are read-only."""
    return one is not None and other is not None and one.read_only and other.read_only


def _same_image(one: RbdDisk, other: RbdDisk) -> bool:
    if (one.pool, one.image) != (other.pool, other.image) or _both_read(one, other):
        return False
    return not set(one.monitors).isdisjoint(other.monitors)
