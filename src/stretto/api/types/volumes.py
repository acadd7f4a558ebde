"""The volumes of a pod: the sources that scheduling reads."""

import msgspec

from stretto.api.types.storage import PersistentVolumeClaimSpec
from stretto.api.wire.meta import ObjectMeta, Wire


class VolumeClaimTemplate(Wire, frozen=True):
    """A claim that is made with the pod and dies with it."""

    #: What the claim wants.
    spec: PersistentVolumeClaimSpec
    #: Labels and annotations of the claim to be.
    metadata: ObjectMeta | None = None


class ClaimSource(Wire, frozen=True):
    """A volume from a claim of the same namespace."""

    #: The claim's name.
    claim_name: str
    #: Mounted for reading only.
    read_only: bool = False


class EphemeralSource(Wire, frozen=True):
    """A volume from a claim that is made for the pod: named ``<pod>-<volume>``."""

    #: The claim to make.
    volume_claim_template: VolumeClaimTemplate | None = None


class GceDisk(Wire, frozen=True):
    """A Google disk named in the pod itself; two writers on one node conflict."""

    #: The disk.
    pd_name: str
    #: Readers do not conflict with one another.
    read_only: bool = False


class AwsDisk(Wire, frozen=True):
    """An Amazon disk named in the pod itself; two pods on one node conflict."""

    #: The disk.
    volume_id: str = msgspec.field(name="volumeID")
    #: Mounted for reading only; conflicts all the same.
    read_only: bool = False


class IscsiDisk(Wire, frozen=True):
    """An iSCSI disk named in the pod itself; the same name conflicts unless all only read."""

    #: Qualified name of the target.
    iqn: str
    #: Address of the target.
    target_portal: str = ""
    #: Unit number at the target.
    lun: int = 0
    #: Readers do not conflict with one another.
    read_only: bool = False


class RbdDisk(Wire, frozen=True):
    """A Ceph image named in the pod itself; the same image conflicts unless all only read."""

    #: Monitors; two lists that share one speak of the same cluster.
    monitors: tuple[str, ...] = ()
    #: The image.
    image: str = ""
    #: Pool; absent means ``rbd``.
    pool: str = ""
    #: Readers do not conflict with one another.
    read_only: bool = False


class InlineCsi(Wire, frozen=True):
    """A volume that a driver makes for the pod alone."""

    #: The driver.
    driver: str


class ImageSource(Wire, frozen=True):
    """An image whose files are the volume."""

    #: The image.
    reference: str = ""


class Volume(Wire, frozen=True):
    """One volume of a pod; sources that scheduling does not read are not typed."""

    #: Name within the pod.
    name: str = ""
    #: From a claim.
    persistent_volume_claim: ClaimSource | None = None
    #: From a claim made for the pod.
    ephemeral: EphemeralSource | None = None
    #: A Google disk.
    gce_persistent_disk: GceDisk | None = None
    #: An Amazon disk.
    aws_elastic_block_store: AwsDisk | None = None
    #: An iSCSI disk.
    iscsi: IscsiDisk | None = None
    #: A Ceph image.
    rbd: RbdDisk | None = None
    #: Made by a driver for the pod.
    csi: InlineCsi | None = None
    #: The files of an image.
    image: ImageSource | None = None
