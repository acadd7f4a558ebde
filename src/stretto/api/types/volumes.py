"""The volumes of a pod: the sources that scheduling reads."""

import msgspec

from stretto.api.types.storage import PersistentVolumeClaimSpec
from stretto.api.wire.meta import ObjectMeta, Wire


class VolumeClaimTemplate(Wire, frozen=True):
    """Template of a PVC that is created and deleted with the pod."""

    #: Desired state of the PVC.
    spec: PersistentVolumeClaimSpec
    #: Labels and annotations of the PVC.
    metadata: ObjectMeta | None = None


class ClaimSource(Wire, frozen=True):
    """A volume from a PVC of the same namespace."""

    #: Name of the PVC.
    claim_name: str
    #: True if the volume is mounted read-only.
    read_only: bool = False


class EphemeralSource(Wire, frozen=True):
    """A volume from a PVC that is created for the pod, named ``<pod>-<volume>``."""

    #: Template of the PVC.
    volume_claim_template: VolumeClaimTemplate | None = None


class GceDisk(Wire, frozen=True):
    """A Google disk in the pod's spec; two writers on one node conflict."""

    #: The disk.
    pd_name: str
    #: True if the disk is mounted read-only; readers do not conflict.
    read_only: bool = False


class AwsDisk(Wire, frozen=True):
    """An Amazon disk in the pod's spec; two pods on one node conflict."""

    #: The disk.
    volume_id: str = msgspec.field(name="volumeID")
    #: True if the disk is mounted read-only; readers conflict too.
    read_only: bool = False


class IscsiDisk(Wire, frozen=True):
    """An iSCSI disk in the pod's spec; two pods with one name conflict unless both only read."""

    #: Qualified name of the target.
    iqn: str
    #: Address of the target.
    target_portal: str = ""
    #: Logical unit number at the target.
    lun: int = 0
    #: True if the disk is mounted read-only; readers do not conflict.
    read_only: bool = False


class RbdDisk(Wire, frozen=True):
    """A Ceph image in the pod's spec; two pods with one image conflict unless both only read."""

    #: Monitors; lists with a common monitor belong to the same cluster.
    monitors: tuple[str, ...] = ()
    #: The image.
    image: str = ""
    #: Pool; absent means ``rbd``.
    pool: str = ""
    #: True if the image is mounted read-only; readers do not conflict.
    read_only: bool = False


class InlineCsi(Wire, frozen=True):
    """An inline volume that a CSI driver creates for the pod."""

    #: The driver.
    driver: str


class ImageSource(Wire, frozen=True):
    """A volume with the files of an image."""

    #: The image.
    reference: str = ""


class Volume(Wire, frozen=True):
    """One volume of a pod; sources that scheduling does not read have no field."""

    #: Name within the pod.
    name: str = ""
    #: Source: a PVC.
    persistent_volume_claim: ClaimSource | None = None
    #: Source: a PVC created for the pod.
    ephemeral: EphemeralSource | None = None
    #: Source: a Google disk.
    gce_persistent_disk: GceDisk | None = None
    #: Source: an Amazon disk.
    aws_elastic_block_store: AwsDisk | None = None
    #: Source: an iSCSI disk.
    iscsi: IscsiDisk | None = None
    #: Source: a Ceph image.
    rbd: RbdDisk | None = None
    #: Source: a CSI driver, for the pod only.
    csi: InlineCsi | None = None
    #: Source: the files of an image.
    image: ImageSource | None = None
