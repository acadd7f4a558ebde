"""Storage: what scheduling reads of claims, volumes, classes, drivers and attachments."""

import msgspec

from stretto.api.wire.meta import LabelSelector, NodeSelector, ObjectMeta, ObjectReference, Wire
from stretto.api.wire.quantity import Quantity, check
from stretto.api.wire.resources import NO_AMOUNTS, ResourceList, ResourceRequirements

# ---------------------------------------------------------------- claims


class PersistentVolumeClaimSpec(Wire, frozen=True):
    """What a claim wants."""

    #: ``ReadWriteOnce``, ``ReadOnlyMany``, ``ReadWriteMany``, ``ReadWriteOncePod``.
    access_modes: tuple[str, ...] = ()
    #: Size, under ``requests.storage``.
    resources: ResourceRequirements = ResourceRequirements()
    #: Class; empty text means no class, absent means the default class.
    storage_class_name: str | None = None
    #: The volume it is bound to, or insists on.
    volume_name: str = ""
    #: Labels that a volume must have.
    selector: LabelSelector | None = None
    #: ``Filesystem`` (when absent) or ``Block``.
    volume_mode: str | None = None
    #: VolumeAttributesClass that its volume must have; absent or empty for none.
    volume_attributes_class_name: str | None = None


class PersistentVolumeClaimStatus(Wire, frozen=True):
    """What became of a claim."""

    #: ``Pending``, ``Bound`` or ``Lost``.
    phase: str = ""
    #: Size that was granted.
    capacity: ResourceList = NO_AMOUNTS

    def __post_init__(self) -> None:
        check(self.capacity, "capacity")


class PersistentVolumeClaim(Wire, frozen=True):
    """A wish for a volume."""

    #: Identity.
    metadata: ObjectMeta
    #: The wish.
    spec: PersistentVolumeClaimSpec = PersistentVolumeClaimSpec()
    #: Its fulfilment.
    status: PersistentVolumeClaimStatus = PersistentVolumeClaimStatus()


# ---------------------------------------------------------------- volumes


class CsiVolume(Wire, frozen=True):
    """A volume that a driver serves."""

    #: The driver.
    driver: str
    #: The driver's name for the volume.
    volume_handle: str = ""


class LocalVolume(Wire, frozen=True):
    """A disk of one node."""

    #: Where it is on the node.
    path: str = ""


class VolumeNodeAffinity(Wire, frozen=True):
    """The nodes that can reach a volume."""

    #: The nodes; absent means all.
    required: NodeSelector | None = None


class PersistentVolumeSpec(Wire, frozen=True):
    """A volume that exists."""

    #: Size, under ``storage``.
    capacity: ResourceList = NO_AMOUNTS
    #: Ways to mount it.
    access_modes: tuple[str, ...] = ()
    #: Its class; empty for none.
    storage_class_name: str = ""
    #: The claim it belongs or is kept for.
    claim_ref: ObjectReference | None = None
    #: The nodes that can reach it.
    node_affinity: VolumeNodeAffinity | None = None
    #: ``Filesystem`` (when absent) or ``Block``.
    volume_mode: str | None = None
    #: VolumeAttributesClass that it was made or changed to; absent or empty for none.
    volume_attributes_class_name: str | None = None
    #: Served by a driver.
    csi: CsiVolume | None = None
    #: A disk of one node.
    local: LocalVolume | None = None


class PersistentVolumeStatus(Wire, frozen=True):
    """The state of a volume."""

    #: ``Available``, ``Bound``, ``Released``, ``Failed`` or ``Pending``.
    phase: str = ""


class PersistentVolume(Wire, frozen=True):
    """A volume."""

    #: Identity.
    metadata: ObjectMeta
    #: What it is.
    spec: PersistentVolumeSpec = PersistentVolumeSpec()
    #: Whether it is taken.
    status: PersistentVolumeStatus = PersistentVolumeStatus()

    def __post_init__(self) -> None:
        check(self.spec.capacity, "spec.capacity")


# ---------------------------------------------------------------- classes and drivers


class TopologyRequirement(Wire, frozen=True):
    """Values that a node's label may have."""

    #: The label.
    key: str
    #: Any of these.
    values: tuple[str, ...] = ()


class TopologyTerm(Wire, frozen=True):
    """Labels that a node must have together."""

    #: The rules.
    match_label_expressions: tuple[TopologyRequirement, ...] = ()


class StorageClass(Wire, frozen=True):
    """How volumes are made when a claim asks for one."""

    #: Identity.
    metadata: ObjectMeta
    #: The driver that makes them.
    provisioner: str = ""
    #: ``Immediate`` (when absent) or ``WaitForFirstConsumer``.
    volume_binding_mode: str | None = None
    #: What becomes of a volume whose claim goes: ``Delete`` or ``Retain``.
    reclaim_policy: str | None = None
    #: Where volumes can be made; none means anywhere.
    allowed_topologies: tuple[TopologyTerm, ...] = ()


class CsiNodeDriverLimit(Wire, frozen=True):
    """How much of a driver a node can take."""

    #: Volumes at most; absent means no limit.
    count: int | None = None


class CsiNodeDriver(Wire, frozen=True):
    """One driver on one node."""

    #: The driver.
    name: str
    #: The driver's name for the node.
    node_id: str = msgspec.field(name="nodeID", default="")
    #: Node labels that the driver's topology is told in.
    topology_keys: tuple[str, ...] = ()
    #: Limits.
    allocatable: CsiNodeDriverLimit | None = None


class CsiNodeSpec(Wire, frozen=True):
    """The drivers on a node."""

    #: One entry a driver.
    drivers: tuple[CsiNodeDriver, ...] = ()


class CsiNode(Wire, frozen=True):
    """What storage drivers say of the node of the same name."""

    #: Identity.
    metadata: ObjectMeta
    #: The drivers.
    spec: CsiNodeSpec = CsiNodeSpec()


class CsiDriverSpec(Wire, frozen=True):
    """What a driver can do."""

    #: Whether it tells its capacity, so that scheduling can respect it.
    storage_capacity: bool = False
    #: Whether volumes must be attached to nodes before use; absent means yes.
    attach_required: bool | None = None


class CsiDriver(Wire, frozen=True):
    """A storage driver."""

    #: Identity.
    metadata: ObjectMeta
    #: What it can do.
    spec: CsiDriverSpec = CsiDriverSpec()


class CsiStorageCapacity(Wire, frozen=True):
    """What a driver can still make of one class in one place."""

    #: Identity.
    metadata: ObjectMeta
    #: The class.
    storage_class_name: str = ""
    #: The place, by node labels; absent means nowhere.
    node_topology: LabelSelector | None = None
    #: What is left; absent means not known.
    capacity: Quantity | None = None
    #: The largest single volume, where that is less.
    maximum_volume_size: Quantity | None = None

    def __post_init__(self) -> None:
        told = {"capacity": self.capacity, "maximumVolumeSize": self.maximum_volume_size}
        for name, quantity in told.items():
            if quantity is not None:
                check({name: quantity}, "")


class AttachedSource(Wire, frozen=True):
    """What is attached."""

    #: The volume.
    persistent_volume_name: str | None = None


class VolumeAttachmentSpec(Wire, frozen=True):
    """Which volume shall be attached where."""

    #: The driver.
    attacher: str = ""
    #: The node.
    node_name: str = ""
    #: The volume.
    source: AttachedSource = AttachedSource()


class VolumeAttachmentStatus(Wire, frozen=True):
    """Whether it is."""

    #: Done.
    attached: bool = False


class VolumeAttachment(Wire, frozen=True):
    """One volume on one node."""

    #: Identity.
    metadata: ObjectMeta
    #: The wish.
    spec: VolumeAttachmentSpec = VolumeAttachmentSpec()
    #: Its fulfilment.
    status: VolumeAttachmentStatus = VolumeAttachmentStatus()
