"""NodeVolumeLimits: a node attaches a limited number of volumes per driver.

Distinct volumes count: those of running pods, those attached otherwise, and the pod's own; a PVC
without a volume counts by its class. Inline disks of two clouds count for their CSI drivers.
"""

import re
from collections import Counter
from typing import ClassVar, Final

import numpy as np

from stretto.api.types.storage import PersistentVolumeClaim, class_name
from stretto.api.types.volumes import Volume
from stretto.framework.contract.rule import FilterPlugin, FixedCheck, NodeCheck, NodeDryRun, Scope
from stretto.framework.model.pod_facts import SchedulingFacts
from stretto.framework.model.snapshot import ParitySnapshot
from stretto.framework.model.status import (
    SKIP,
    SUCCESS,
    IntArray,
    NodeStatuses,
    PluginStatus,
    StatusCode,
    refuse,
    refuse_nodes,
    unresolvable,
    unschedulable,
)
from stretto.framework.plugins.volumes import NodeVolumeLimitsRule
from stretto.framework.volume_binder.limits import (
    Drivers,
    NodeVolumeReaders,
    capacity_within_limits,
    usage_of,
)
from stretto.framework.volume_binder.ownership import ownership_refusal

TOO_MANY: Final = unschedulable("node(s) exceed max volume count")
EBS: Final = "ebs.csi.aws.com"
GCE: Final = "pd.csi.storage.gke.io"
MIGRATED: Final = {
    "kubernetes.io/aws-ebs": EBS,
    "kubernetes.io/gce-pd": GCE,
    "kubernetes.io/azure-disk": "disk.csi.azure.com",
    "kubernetes.io/cinder": "cinder.csi.openstack.org",
    "kubernetes.io/portworx-volume": "pxd.portworx.com",
}
"""In-tree provisioners whose volumes CSI drivers serve now."""
NOT_COUNTED: Final = frozenset({"kubernetes.io/azure-file", "kubernetes.io/vsphere-volume"})
"""In-tree provisioners that upstream does not count."""
_ZONED_DISK: Final = re.compile("aws://[^/]*/+(vol-[^/]*)/*")
"""An EBS volume id with its zone: the same disk as the bare id."""


class NodeVolumeLimitsPlugin(FilterPlugin, declares=NodeVolumeLimitsRule):
    """Refuses nodes that would exceed the volume limit of a driver."""

    SCOPE: ClassVar[Scope] = Scope.SLOT

    def prefilter(self, pod: SchedulingFacts, snapshot: ParitySnapshot) -> NodeCheck | PluginStatus:
        """Statuses of full nodes.

        Skipped without PVCs and without inline disks of the two clouds.
        """
        disks = [each for each in pod.pod.spec.volumes if migrated(each) is not None]
        if not pod.shape.pvcs and not disks:
            return SKIP
        status = pvcs_status(pod, snapshot)
        if status.code is not StatusCode.SUCCESS:
            return FixedCheck(refuse(np.ones(snapshot.nodes.count, np.bool_), status))
        return LimitCheck(pod, snapshot)


def migrated(volume: Volume) -> tuple[str, str] | None:
    """Driver and name of an inline disk that is now served by a CSI driver."""
    if volume.gce_persistent_disk is not None:
        return GCE, volume.gce_persistent_disk.pd_name
    if volume.aws_elastic_block_store is not None:
        name = volume.aws_elastic_block_store.volume_id
        zoned = _ZONED_DISK.fullmatch(name)
        return EBS, name if zoned is None else zoned[1]
    return None


def pvcs_status(pod: SchedulingFacts, snapshot: ParitySnapshot) -> PluginStatus:
    """Status of the PVCs of a new pod: an error if they cannot be counted."""
    for name, own in pod.pvc_names():
        pvc = snapshot.objects.pvcs.get((pod.namespace, name))
        if pvc is None:
            where = f"looking up PVC {pod.namespace}/{name}"
            return unresolvable(f'{where}: persistentvolumeclaim "{name}" not found')
        if own and (refusal := ownership_refusal(pvc, pod)):
            return PluginStatus(StatusCode.ERROR, (refusal,))
    return SUCCESS


def volumes_of(pod: SchedulingFacts, snapshot: ParitySnapshot) -> tuple[Drivers, str]:
    """The volumes of a pod with their drivers, and an error; empty for none."""
    found: Drivers = {}
    for volume in pod.pod.spec.volumes:
        disk = migrated(volume)
        if disk is not None:
            found[f"{disk[0]}/{disk[1]}"] = disk[0]
    for name, own in pod.pvc_names():
        pvc = snapshot.objects.pvcs.get((pod.namespace, name))
        if pvc is None:
            continue
        if own and (refusal := ownership_refusal(pvc, pod)):
            return found, refusal
        driver, handle = driver_of(pvc, snapshot)
        if driver and handle:
            found[f"{driver}/{handle}"] = driver
    return found, ""


def driver_of(pvc: PersistentVolumeClaim, snapshot: ParitySnapshot) -> tuple[str, str]:
    """Driver and volume of a PVC: bound, or to be provisioned by its class; empty for none."""
    objects = snapshot.objects
    volume = objects.volumes.get(pvc.spec.volume_name)
    if volume is not None:
        csi = volume.spec.csi
        return ("", "") if csi is None else (csi.driver, csi.volume_handle)
    found = objects.classes.get(class_name(pvc))
    if found is None or found.provisioner in NOT_COUNTED:
        return "", ""
    handle = f"to be made for {pvc.metadata.namespace}/{pvc.metadata.name}"
    return MIGRATED.get(found.provisioner, found.provisioner), handle


class LimitCheck(NodeCheck):
    """The volumes of one pod against all nodes."""

    def __init__(self, pod: SchedulingFacts, snapshot: ParitySnapshot) -> None:
        """Count the pod's volumes."""
        self._snapshot = snapshot
        self._new, _ = volumes_of(pod, snapshot)

    def verdict(self) -> NodeStatuses | None:
        """Statuses of nodes that would exceed a limit."""
        if not self._new:
            return None
        usage, count = usage_of(self._snapshot, COUNTED), self._snapshot.nodes.count
        full = np.zeros(count, np.bool_)
        for driver in set(self._new.values()) & usage.limits.keys():
            mine = [volume for volume, d in self._new.items() if d == driver]
            new = np.full(count, len(mine))
            for volume in mine:
                new[list(usage.holders.get(volume, ()))] -= 1
            there = usage.counts.get(driver, 0)
            limits = usage.limits[driver]
            full |= (new > 0) & (limits >= 0) & (there + new > limits)
        if not usage.broken:
            return refuse(full, TOO_MANY)
        statuses = dict.fromkeys(np.flatnonzero(full).tolist(), TOO_MANY)
        statuses |= {
            node: PluginStatus(StatusCode.ERROR, (why,)) for node, why in usage.broken.items()
        }
        return refuse_nodes(count, statuses.items())

    def trial(self, node: int) -> NodeDryRun:
        """A dry run over the volumes of the pods that stay."""
        return LimitDryRun(self, node, list(self._snapshot.pods_on[node]))

    def judge(self, node: int, pods: list[SchedulingFacts]) -> PluginStatus:
        """Status of a node with these pods: whether it has capacity for the new volumes."""
        limits = limits_of(self._snapshot, node)
        if not limits or not self._new:
            return SUCCESS
        there: Drivers = {}
        for pod in pods:
            if not pod.pod.spec.volumes:
                continue
            mine, broken = volumes_of(pod, self._snapshot)
            if broken:
                return PluginStatus(StatusCode.ERROR, (broken,))
            there |= mine
        everything = attached_to(self._snapshot, node) | there
        for driver, limit in limits.items():
            new = sum(d == driver and v not in there for v, d in self._new.items())
            if new and sum(d == driver for d in everything.values()) + new > limit:
                return TOO_MANY
        return SUCCESS


def limits_of(snapshot: ParitySnapshot, node: int) -> dict[str, int]:
    """The volume limits of a node by driver."""
    found = snapshot.objects.csi_nodes.get(snapshot.nodes.names[node])
    drivers = found.spec.drivers if found is not None else ()
    return {
        each.name: each.allocatable.count
        for each in drivers
        if each.allocatable is not None and each.allocatable.count is not None
    }


def attached_to(snapshot: ParitySnapshot, node: int) -> Drivers:
    """Volumes that are attached to a node."""
    objects = snapshot.objects
    found: Drivers = {}
    for each in objects.attachments.get(snapshot.nodes.names[node], {}).values():
        volume = objects.volumes.get(each.spec.source.persistent_volume_name or "")
        if each.spec.attacher and volume is not None and volume.spec.csi is not None:
            name = f"{each.spec.attacher}/{volume.spec.csi.volume_handle}"
            found[name] = each.spec.attacher
    return found


COUNTED: Final = NodeVolumeReaders(limits_of, attached_to, volumes_of)
"""The functions that read a node."""


def pods_within_limits(pod: SchedulingFacts, snapshot: ParitySnapshot) -> IntArray | None:
    """int64[n]: number of pods with these volumes that a node fits; ``None`` for no limit."""
    new, _ = volumes_of(pod, snapshot)
    return capacity_within_limits(usage_of(snapshot, COUNTED), Counter(new.values()))


class LimitDryRun(NodeDryRun):
    """The volumes on one node."""

    def __init__(self, check: LimitCheck, node: int, pods: list[SchedulingFacts]) -> None:
        """Start with all pods on the node."""
        self._check = check
        self._node = node
        self._pods = pods

    def remove(self, pod: SchedulingFacts) -> None:
        """Remove a pod from the node."""
        self._pods.remove(pod)

    def add(self, pod: SchedulingFacts) -> None:
        """Add a pod to the node."""
        self._pods.append(pod)

    def status(self) -> PluginStatus:
        """Status for the current volumes."""
        return self._check.judge(self._node, self._pods)
