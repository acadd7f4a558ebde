"""The names of kinds: group, version, kind and plural, with constants for kinds in the code.

A ``Kind`` is a small value that stores use as a key. All other facts about a kind (struct, short
names, printer columns, rights, ...) are in its entry in ``stretto.api.kinds``.
"""

from typing import Final

import msgspec

DEFAULT_NAMESPACE: Final = "default"
"""Namespace of namespaced objects without a namespace, as in Kubernetes."""


class Kind(msgspec.Struct, frozen=True, gc=False, cache_hash=True):
    """The name of one kind of object on the wire, and its scope."""

    #: API group; empty for the core group of Kubernetes.
    group: str
    #: Version within the group.
    version: str
    #: Name in the singular, CamelCase, as in a manifest.
    kind: str
    #: Name in the plural, lower case, as in a URL.
    plural: str
    #: True if objects live in a namespace.
    namespaced: bool = True

    @property
    def api_version(self) -> str:
        """The ``apiVersion`` of a manifest."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def resource(self) -> str:
        """The plural with its group, as in kubectl and in error messages."""
        return f"{self.plural}.{self.group}" if self.group else self.plural


_STORAGE: Final = "storage.k8s.io"
_GODEL: Final = "scheduling.godel.kubewharf.io"

POD: Final = Kind("", "v1", "Pod", "pods")
POD_METRICS: Final = Kind("metrics.k8s.io", "v1beta1", "PodMetrics", "pods")
NODE: Final = Kind("", "v1", "Node", "nodes", namespaced=False)
NAMESPACE: Final = Kind("", "v1", "Namespace", "namespaces", namespaced=False)
EVENT: Final = Kind("", "v1", "Event", "events")
BINDING: Final = Kind("", "v1", "Binding", "bindings")
SERVICE: Final = Kind("", "v1", "Service", "services")
LIMIT_RANGE: Final = Kind("", "v1", "LimitRange", "limitranges")
RESOURCE_QUOTA: Final = Kind("", "v1", "ResourceQuota", "resourcequotas")
RUNTIME_CLASS: Final = Kind("node.k8s.io", "v1", "RuntimeClass", "runtimeclasses", namespaced=False)
CONFIG_MAP: Final = Kind("", "v1", "ConfigMap", "configmaps")
REPLICATION_CONTROLLER: Final = Kind("", "v1", "ReplicationController", "replicationcontrollers")
PERSISTENT_VOLUME_CLAIM: Final = Kind("", "v1", "PersistentVolumeClaim", "persistentvolumeclaims")
PERSISTENT_VOLUME: Final = Kind("", "v1", "PersistentVolume", "persistentvolumes", namespaced=False)
DEPLOYMENT: Final = Kind("apps", "v1", "Deployment", "deployments")
REPLICA_SET: Final = Kind("apps", "v1", "ReplicaSet", "replicasets")
STATEFUL_SET: Final = Kind("apps", "v1", "StatefulSet", "statefulsets")
DAEMON_SET: Final = Kind("apps", "v1", "DaemonSet", "daemonsets")
JOB: Final = Kind("batch", "v1", "Job", "jobs")
HORIZONTAL_POD_AUTOSCALER: Final = Kind(
    "autoscaling", "v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers"
)
CUSTOM_RESOURCE_DEFINITION: Final = Kind(
    "apiextensions.k8s.io",
    "v1",
    "CustomResourceDefinition",
    "customresourcedefinitions",
    namespaced=False,
)
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
PLUGINS_POD_GROUP: Final = Kind("scheduling.x-k8s.io", "v1alpha1", "PodGroup", "podgroups")
VOLCANO_POD_GROUP: Final = Kind("scheduling.volcano.sh", "v1beta1", "PodGroup", "podgroups")
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
SERVICE_ACCOUNT: Final = Kind("", "v1", "ServiceAccount", "serviceaccounts")
SCALING_POLICY: Final = Kind(
    "autoscaling.stretto.dev", "v1alpha1", "ScalingPolicy", "scalingpolicies"
)
VERTICAL_POD_AUTOSCALER: Final = Kind(
    "autoscaling.k8s.io", "v1", "VerticalPodAutoscaler", "verticalpodautoscalers"
)
VERTICAL_CHECKPOINT: Final = Kind(
    "autoscaling.k8s.io",
    "v1",
    "VerticalPodAutoscalerCheckpoint",
    "verticalpodautoscalercheckpoints",
)
NODE_OVERCOMMIT_CONFIG: Final = Kind(
    "overcommit.katalyst.kubewharf.io",
    "v1alpha1",
    "NodeOvercommitConfig",
    "nodeovercommitconfigs",
    namespaced=False,
)
TIDE_NODE_POOL: Final = Kind(
    "tide.katalyst.kubewharf.io", "v1alpha1", "TideNodePool", "tidenodepools", namespaced=False
)
NM_NODE: Final = Kind("node.godel.kubewharf.io", "v1alpha1", "NMNode", "nmnodes", namespaced=False)
