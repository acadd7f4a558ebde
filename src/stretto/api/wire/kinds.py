"""Every kind of object that Stretto knows, in one literal table.

A kind says how an object is named on the wire; which struct reads it is said in ``codec``, which
stands above the structs.
"""

from typing import Final

import msgspec

from stretto.base.errors import UnknownNameError


class Kind(msgspec.Struct, frozen=True, gc=False, cache_hash=True):
    """One kind of object: what to write in ``apiVersion`` and ``kind``, and where it lives."""

    #: API group; empty for Kubernetes' core.
    group: str
    #: Version within the group.
    version: str
    #: Name in the singular, CamelCase, as in a manifest.
    kind: str
    #: Name in the plural, lower case, as in a URL.
    plural: str
    #: Whether objects live in a namespace.
    namespaced: bool = True

    @property
    def api_version(self) -> str:
        """What a manifest writes in ``apiVersion``."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def word(self) -> str:
        """One word that no other kind has: ``Pod``, or ``PodGroup.scheduling.k8s.io``."""
        return self.kind if _BY_NAME[self.kind.lower()] is self else f"{self.kind}.{self.group}"

    @property
    def resource(self) -> str:
        """The plural with its group, as kubectl and error messages write it."""
        return f"{self.plural}.{self.group}" if self.group else self.plural


_STORAGE: Final = "storage.k8s.io"
_GODEL: Final = "scheduling.godel.kubewharf.io"

POD: Final = Kind("", "v1", "Pod", "pods")
NODE: Final = Kind("", "v1", "Node", "nodes", namespaced=False)
NAMESPACE: Final = Kind("", "v1", "Namespace", "namespaces", namespaced=False)
EVENT: Final = Kind("", "v1", "Event", "events")
BINDING: Final = Kind("", "v1", "Binding", "bindings")
SERVICE: Final = Kind("", "v1", "Service", "services")
CONFIG_MAP: Final = Kind("", "v1", "ConfigMap", "configmaps")
REPLICATION_CONTROLLER: Final = Kind("", "v1", "ReplicationController", "replicationcontrollers")
PERSISTENT_VOLUME_CLAIM: Final = Kind("", "v1", "PersistentVolumeClaim", "persistentvolumeclaims")
PERSISTENT_VOLUME: Final = Kind("", "v1", "PersistentVolume", "persistentvolumes", namespaced=False)
DEPLOYMENT: Final = Kind("apps", "v1", "Deployment", "deployments")
REPLICA_SET: Final = Kind("apps", "v1", "ReplicaSet", "replicasets")
STATEFUL_SET: Final = Kind("apps", "v1", "StatefulSet", "statefulsets")
DAEMON_SET: Final = Kind("apps", "v1", "DaemonSet", "daemonsets")
JOB: Final = Kind("batch", "v1", "Job", "jobs")
LEASE: Final = Kind("coordination.k8s.io", "v1", "Lease", "leases")
POD_DISRUPTION_BUDGET: Final = Kind("policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets")
PRIORITY_CLASS: Final = Kind(
    "scheduling.k8s.io", "v1", "PriorityClass", "priorityclasses", namespaced=False
)
STORAGE_CLASS: Final = Kind(_STORAGE, "v1", "StorageClass", "storageclasses", namespaced=False)
CSI_NODE: Final = Kind(_STORAGE, "v1", "CSINode", "csinodes", namespaced=False)
CSI_DRIVER: Final = Kind(_STORAGE, "v1", "CSIDriver", "csidrivers", namespaced=False)
CSI_STORAGE_CAPACITY: Final = Kind(_STORAGE, "v1", "CSIStorageCapacity", "csistoragecapacities")
VOLUME_ATTACHMENT: Final = Kind(
    _STORAGE, "v1", "VolumeAttachment", "volumeattachments", namespaced=False
)
WORKLOAD_POD_GROUP: Final = Kind("scheduling.k8s.io", "v1alpha2", "PodGroup", "podgroups")
POD_GROUP: Final = Kind(_GODEL, "v1alpha1", "PodGroup", "podgroups")
SCHEDULER: Final = Kind(_GODEL, "v1alpha1", "Scheduler", "schedulers", namespaced=False)
MOVEMENT: Final = Kind(_GODEL, "v1alpha1", "Movement", "movements", namespaced=False)
RESERVATION: Final = Kind(_GODEL, "v1alpha1", "Reservation", "reservations")
QUEUE: Final = Kind("scheduling.stretto.dev", "v1alpha1", "Queue", "queues", namespaced=False)
CUSTOM_NODE_RESOURCE: Final = Kind(
    "node.katalyst.kubewharf.io",
    "v1alpha1",
    "CustomNodeResource",
    "customnoderesources",
    namespaced=False,
)
NM_NODE: Final = Kind("node.godel.kubewharf.io", "v1alpha1", "NMNode", "nmnodes", namespaced=False)

KINDS: Final[tuple[Kind, ...]] = (
    POD,
    NODE,
    NAMESPACE,
    EVENT,
    BINDING,
    SERVICE,
    CONFIG_MAP,
    REPLICATION_CONTROLLER,
    PERSISTENT_VOLUME_CLAIM,
    PERSISTENT_VOLUME,
    DEPLOYMENT,
    REPLICA_SET,
    STATEFUL_SET,
    DAEMON_SET,
    JOB,
    LEASE,
    POD_DISRUPTION_BUDGET,
    PRIORITY_CLASS,
    STORAGE_CLASS,
    CSI_NODE,
    CSI_DRIVER,
    CSI_STORAGE_CAPACITY,
    VOLUME_ATTACHMENT,
    WORKLOAD_POD_GROUP,
    POD_GROUP,
    SCHEDULER,
    MOVEMENT,
    RESERVATION,
    QUEUE,
    CUSTOM_NODE_RESOURCE,
    NM_NODE,
)
"""All of them, core first."""

_SHORT: Final[dict[str, Kind]] = {
    "po": POD,
    "no": NODE,
    "ns": NAMESPACE,
    "ev": EVENT,
    "svc": SERVICE,
    "cm": CONFIG_MAP,
    "rc": REPLICATION_CONTROLLER,
    "pvc": PERSISTENT_VOLUME_CLAIM,
    "pv": PERSISTENT_VOLUME,
    "deploy": DEPLOYMENT,
    "rs": REPLICA_SET,
    "sts": STATEFUL_SET,
    "ds": DAEMON_SET,
    "pdb": POD_DISRUPTION_BUDGET,
    "pc": PRIORITY_CLASS,
    "sc": STORAGE_CLASS,
    "pg": POD_GROUP,
    "kcnr": CUSTOM_NODE_RESOURCE,
}
"""The short names that kubectl and the CRDs define."""

_BY_TYPE: Final = {(kind.api_version, kind.kind): kind for kind in KINDS}
_BY_NAME: Final = {
    **{kind.kind.lower(): kind for kind in KINDS},
    **{kind.plural: kind for kind in KINDS},
    **{kind.resource: kind for kind in KINDS},
    **_SHORT,
}


def kind_of(api_version: str, kind: str) -> Kind:
    """The kind that a manifest's ``apiVersion`` and ``kind`` name; an unknown one is refused."""
    found = _BY_TYPE.get((api_version, kind))
    if found is None:
        known = [f"{each.api_version} {each.kind}" for each in KINDS]
        raise UnknownNameError("kind", f"{api_version} {kind}".strip(), known)
    return found


def kind_named(name: str) -> Kind:
    """The kind that a user names: ``pod``, ``Pods``, ``po`` or ``podgroups.<group>``."""
    found = _BY_NAME.get(name.lower())
    if found is None:
        raise UnknownNameError("kind", name, sorted({each.plural for each in KINDS}))
    return found
