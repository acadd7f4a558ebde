"""Storage: fields that scheduling reads of PVCs, volumes, classes, drivers and attachments."""

from typing import Final, NamedTuple

import msgspec

from stretto.api.wire.meta import LabelSelector, NodeSelector, ObjectMeta, ObjectReference, Wire
from stretto.api.wire.quantity import Quantity, check, nano
from stretto.api.wire.resources import NO_AMOUNTS, ResourceList, ResourceRequirements

CLASS_ANNOTATION: Final = "volume.beta.kubernetes.io/storage-class"
"""Older annotation of PVCs and volumes that contains their class."""
BOUND_BY: Final = "pv.kubernetes.io/bound-by-controller"
"""Annotation of an object that the volume controller or a scheduler bound."""
SELECTED_NODE: Final = "volume.kubernetes.io/selected-node"
"""Annotation of a PVC: the node for which a volume is provisioned."""
BIND_COMPLETED: Final = "pv.kubernetes.io/bind-completed"
"""Annotation of a PVC with a volume."""
WAIT: Final = "WaitForFirstConsumer"
"""Mode of a StorageClass whose PVCs wait for a pod."""
NO_PROVISIONER: Final = "kubernetes.io/no-provisioner"
"""Provisioner of a StorageClass that creates no volumes."""
FILESYSTEM: Final = "Filesystem"
"""Default mode of volumes and PVCs."""
STORAGE: Final = "storage"
"""Resource of the size of volumes and PVCs."""

# ---------------------------------------------------------------- claims


class PersistentVolumeClaimSpec(Wire, frozen=True):
    """Desired state of a PVC."""

    #: ``ReadWriteOnce``, ``ReadOnlyMany``, ``ReadWriteMany``, ``ReadWriteOncePod``.
    access_modes: tuple[str, ...] = ()
    #: Requested size, under ``requests.storage``.
    resources: ResourceRequirements = ResourceRequirements()
    #: Storage class; empty means no class, absent means the default class.
    storage_class_name: str | None = None
    #: The volume to which it is bound or restricted.
    volume_name: str = ""
    #: Selector of volumes.
    selector: LabelSelector | None = None
    #: ``Filesystem`` (when absent) or ``Block``.
    volume_mode: str | None = None
    #: VolumeAttributesClass of the volume; absent or empty for none.
    volume_attributes_class_name: str | None = None


class PersistentVolumeClaimStatus(Wire, frozen=True):
    """Observed state of a PVC."""

    #: ``Pending``, ``Bound`` or ``Lost``.
    phase: str = ""
    #: Granted size.
    capacity: ResourceList = NO_AMOUNTS

    def __post_init__(self) -> None:
        check(self.capacity, "capacity")


class PersistentVolumeClaim(Wire, frozen=True):
    """A request for a volume."""

    #: Identity.
    metadata: ObjectMeta
    #: Desired state.
    spec: PersistentVolumeClaimSpec = PersistentVolumeClaimSpec()
    #: Observed state.
    status: PersistentVolumeClaimStatus = PersistentVolumeClaimStatus()


# ---------------------------------------------------------------- volumes


class CsiVolume(Wire, frozen=True):
    """A volume of a CSI driver."""

    #: The driver.
    driver: str
    #: Handle of the volume at the driver.
    volume_handle: str = ""


class LocalVolume(Wire, frozen=True):
    """A disk of one node."""

    #: Path on the node.
    path: str = ""


class VolumeNodeAffinity(Wire, frozen=True):
    """Nodes that can access a volume."""

    #: Selector of the nodes; absent means all.
    required: NodeSelector | None = None


class PersistentVolumeSpec(Wire, frozen=True):
    """Properties of an existing volume."""

    #: Size, under ``storage``.
    capacity: ResourceList = NO_AMOUNTS
    #: Supported access modes.
    access_modes: tuple[str, ...] = ()
    #: Storage class; empty for none.
    storage_class_name: str = ""
    #: The PVC to which it is bound or reserved.
    claim_ref: ObjectReference | None = None
    #: Nodes that can access it.
    node_affinity: VolumeNodeAffinity | None = None
    #: ``Filesystem`` (when absent) or ``Block``.
    volume_mode: str | None = None
    #: Its VolumeAttributesClass; absent or empty for none.
    volume_attributes_class_name: str | None = None
    #: Source: a CSI driver.
    csi: CsiVolume | None = None
    #: Source: a disk of one node.
    local: LocalVolume | None = None


class PersistentVolumeStatus(Wire, frozen=True):
    """Observed state of a volume."""

    #: ``Available``, ``Bound``, ``Released``, ``Failed`` or ``Pending``.
    phase: str = ""


class PersistentVolume(Wire, frozen=True):
    """A persistent volume."""

    #: Identity.
    metadata: ObjectMeta
    #: Properties.
    spec: PersistentVolumeSpec = PersistentVolumeSpec()
    #: Observed state.
    status: PersistentVolumeStatus = PersistentVolumeStatus()

    def __post_init__(self) -> None:
        check(self.spec.capacity, "spec.capacity")


# ---------------------------------------------------------------- classes and drivers


class TopologyRequirement(Wire, frozen=True):
    """Allowed values of a node label."""

    #: The label.
    key: str
    #: Alternatives.
    values: tuple[str, ...] = ()


class TopologyTerm(Wire, frozen=True):
    """A conjunction of rules on node labels."""

    #: The rules.
    match_label_expressions: tuple[TopologyRequirement, ...] = ()


class StorageClass(Wire, frozen=True):
    """Parameters with which volumes are provisioned for PVCs."""

    #: Identity.
    metadata: ObjectMeta
    #: The driver.
    provisioner: str = ""
    #: ``Immediate`` (when absent) or ``WaitForFirstConsumer``.
    volume_binding_mode: str | None = None
    #: Treatment of a volume after deletion of its PVC: ``Delete`` or ``Retain``.
    reclaim_policy: str | None = None
    #: Topologies in which volumes can be provisioned; none means anywhere.
    allowed_topologies: tuple[TopologyTerm, ...] = ()


class CsiNodeDriverLimit(Wire, frozen=True):
    """Limit of a driver on a node."""

    #: Maximum number of volumes; absent means no limit.
    count: int | None = None


class CsiNodeDriver(Wire, frozen=True):
    """One driver on one node."""

    #: The driver.
    name: str
    #: Identifier of the node at the driver.
    node_id: str = msgspec.field(name="nodeID", default="")
    #: Node labels with the topology of the driver.
    topology_keys: tuple[str, ...] = ()
    #: Limits.
    allocatable: CsiNodeDriverLimit | None = None


class CsiNodeSpec(Wire, frozen=True):
    """The drivers on a node."""

    #: One entry per driver.
    drivers: tuple[CsiNodeDriver, ...] = ()


class CsiNode(Wire, frozen=True):
    """Storage drivers on the node of the same name."""

    #: Identity.
    metadata: ObjectMeta
    #: The drivers.
    spec: CsiNodeSpec = CsiNodeSpec()


class CsiDriverSpec(Wire, frozen=True):
    """Capabilities of a driver."""

    #: True if the driver publishes its capacity for scheduling.
    storage_capacity: bool = False
    #: True if volumes must be attached before use; absent means yes.
    attach_required: bool | None = None


class CsiDriver(Wire, frozen=True):
    """A CSI driver."""

    #: Identity.
    metadata: ObjectMeta
    #: Capabilities.
    spec: CsiDriverSpec = CsiDriverSpec()


class CsiStorageCapacity(Wire, frozen=True):
    """Remaining capacity of a driver for one class and topology."""

    #: Identity.
    metadata: ObjectMeta
    #: The class.
    storage_class_name: str = ""
    #: The topology, by node labels; absent means nowhere.
    node_topology: LabelSelector | None = None
    #: Remaining capacity; absent means unknown.
    capacity: Quantity | None = None
    #: Maximum size of a single volume, if smaller.
    maximum_volume_size: Quantity | None = None

    def __post_init__(self) -> None:
        reported = {"capacity": self.capacity, "maximumVolumeSize": self.maximum_volume_size}
        for name, quantity in reported.items():
            if quantity is not None:
                check({name: quantity}, "")


class AttachedSource(Wire, frozen=True):
    """Source of an attachment."""

    #: The volume.
    persistent_volume_name: str | None = None


class VolumeAttachmentSpec(Wire, frozen=True):
    """Desired attachment of a volume to a node."""

    #: The driver.
    attacher: str = ""
    #: The node.
    node_name: str = ""
    #: The volume.
    source: AttachedSource = AttachedSource()


class VolumeAttachmentStatus(Wire, frozen=True):
    """Observed state of an attachment."""

    #: True if the volume is attached.
    attached: bool = False


class VolumeAttachment(Wire, frozen=True):
    """Attachment of one volume to one node."""

    #: Identity.
    metadata: ObjectMeta
    #: Desired state.
    spec: VolumeAttachmentSpec = VolumeAttachmentSpec()
    #: Observed state.
    status: VolumeAttachmentStatus = VolumeAttachmentStatus()


def class_name(pvc: PersistentVolumeClaim) -> str:
    """The storage class of a PVC; empty for none."""
    found = pvc.metadata.annotations.get(CLASS_ANNOTATION)
    return found if found is not None else pvc.spec.storage_class_name or ""


def volume_class_name(volume: PersistentVolume) -> str:
    """The storage class of a PV; empty for none."""
    return volume.metadata.annotations.get(CLASS_ANNOTATION, volume.spec.storage_class_name)


class VolumeType(NamedTuple):
    """Properties that a volume and its PVC must have in common."""

    #: StorageClass; empty for none.
    storage_class: str
    #: ``Filesystem`` or ``Block``.
    volume_mode: str
    #: VolumeAttributesClass; empty for none.
    attributes_class: str


def volume_type(volume: PersistentVolume) -> VolumeType:
    """The type of a volume."""
    spec = volume.spec
    attributes = spec.volume_attributes_class_name or ""
    return VolumeType(volume_class_name(volume), spec.volume_mode or FILESYSTEM, attributes)


def requested_type(pvc: PersistentVolumeClaim) -> VolumeType:
    """The type of volume that a PVC requests."""
    spec = pvc.spec
    attributes = spec.volume_attributes_class_name or ""
    return VolumeType(class_name(pvc), spec.volume_mode or FILESYSTEM, attributes)


def volume_size(volume: PersistentVolume) -> int:
    """Size of a volume, in billionths of a byte."""
    stated = volume.spec.capacity.get(STORAGE)
    return 0 if stated is None else nano(stated, STORAGE)


def requested_size(pvc: PersistentVolumeClaim) -> int:
    """Size that a PVC requests, in billionths of a byte."""
    requested = pvc.spec.resources.requests.get(STORAGE)
    return 0 if requested is None else nano(requested, STORAGE)
