"""Paths of the fields that a recording keeps, for kinds whose objects are kept in part.

Dots separate the members of a path. ``[]`` after a member selects each item of a list; ``[+]`` does
the same and drops items with at most one remaining field. The last member may be ``*``, which keeps
all other members, or end in ``:metadata``, which keeps the metadata that a recording keeps of any
object.
"""

from typing import Final

_CONTAINER: Final = ("name", "image", "resources", "ports", "restartPolicy")
_POD_SPEC: Final = (
    "nodeName",
    "schedulerName",
    "priority",
    "priorityClassName",
    "preemptionPolicy",
    "nodeSelector",
    "affinity",
    "tolerations",
    "topologySpreadConstraints",
    "overhead",
    "resources",
    "schedulingGates",
    "schedulingGroup",
    "resourceClaims",
    "hostNetwork",
    "restartPolicy",
    *(f"containers[].{name}" for name in _CONTAINER),
    *(f"initContainers[].{name}" for name in _CONTAINER),
    "volumes[+].name",
    "volumes[+].persistentVolumeClaim",
    "volumes[+].ephemeral.volumeClaimTemplate.*",
    "volumes[+].ephemeral.volumeClaimTemplate.metadata:metadata",
    "volumes[+].gcePersistentDisk",
    "volumes[+].awsElasticBlockStore",
    *(f"volumes[+].iscsi.{name}" for name in ("iqn", "targetPortal", "lun", "readOnly")),
    *(f"volumes[+].rbd.{name}" for name in ("monitors", "image", "pool", "readOnly")),
)


def under(path: str, names: tuple[str, ...]) -> tuple[str, ...]:
    """Return paths below another path."""
    return tuple(f"{path}.{name}" for name in names)


POD: Final = (
    *under("spec", _POD_SPEC),
    *under("status", ("phase", "startTime", "nominatedNodeName")),
)
NODE: Final = (
    *under("spec", ("unschedulable", "taints")),
    *under("status", ("allocatable", "capacity")),
)
SELECTOR: Final = ("spec.selector",)
"""Selectors of Services and owners of pods."""
CSI_DRIVER: Final = under("spec", ("storageCapacity", "attachRequired"))
STORAGE_CLASS: Final = (
    "provisioner",
    "volumeBindingMode",
    "reclaimPolicy",
    "allowedTopologies",
)
PERSISTENT_VOLUME: Final = (
    "spec.capacity",
    "spec.accessModes",
    "spec.storageClassName",
    "spec.claimRef",
    "spec.nodeAffinity",
    "spec.volumeMode",
    "spec.volumeAttributesClassName",
    "spec.local",
    "spec.csi.driver",
    "spec.csi.volumeHandle",
    "status.phase",
)
"""A PersistentVolume without secrets and attributes for the driver."""
VOLUME_ATTACHMENT: Final = (
    "spec.attacher",
    "spec.nodeName",
    "spec.source.persistentVolumeName",
)
"""A VolumeAttachment without an inline volume, which may contain secrets."""
RESERVATION: Final = (
    "*",
    "spec.*",
    "spec.template.metadata:metadata",
    *under("spec.template.spec", _POD_SPEC),
)
