"""The rules of cluster kinds."""

from collections.abc import Mapping
from typing import Final

from stretto.api.checks.fields.shapes import KindRule, PartRule
from stretto.api.checks.kinds.cluster import access, network, scaling, scheduling, storage
from stretto.api.checks.kinds.core.balancers import check_ingress_status

_NETWORK: Final = "networking.k8s.io"
_RBAC: Final = "rbac.authorization.k8s.io"
_STORAGE: Final = "storage.k8s.io"

CLUSTER_RULES: Final[Mapping[tuple[str, str], KindRule]] = {
    ("autoscaling", "HorizontalPodAutoscaler"): scaling.check_autoscaler,
    ("policy", "PodDisruptionBudget"): scaling.check_budget,
    ("coordination.k8s.io", "Lease"): scheduling.check_lease,
    ("scheduling.k8s.io", "PriorityClass"): scheduling.check_priority_class,
    ("node.k8s.io", "RuntimeClass"): scheduling.check_runtime_class,
    ("discovery.k8s.io", "EndpointSlice"): network.check_endpoint_slice,
    (_NETWORK, "Ingress"): network.check_ingress,
    (_NETWORK, "IPAddress"): network.check_address,
    (_NETWORK, "IngressClass"): network.check_ingress_class,
    (_NETWORK, "NetworkPolicy"): network.check_network_policy,
    (_NETWORK, "ServiceCIDR"): network.check_service_network,
    (_STORAGE, "StorageClass"): storage.check_storage_class,
    (_STORAGE, "CSIDriver"): storage.check_driver,
    (_STORAGE, "CSINode"): storage.check_csi_node,
    (_STORAGE, "VolumeAttachment"): storage.check_attachment,
    (_STORAGE, "CSIStorageCapacity"): storage.check_capacity,
    (_STORAGE, "VolumeAttributesClass"): storage.check_attributes_class,
    (_RBAC, "Role"): access.check_role,
    (_RBAC, "ClusterRole"): access.check_cluster_role,
    (_RBAC, "RoleBinding"): access.check_role_binding,
    (_RBAC, "ClusterRoleBinding"): access.check_cluster_role_binding,
}
"""Rules by group and kind."""
CLUSTER_PARTS: Final[Mapping[tuple[str, str, str], PartRule]] = {
    (_NETWORK, "Ingress", "status"): check_ingress_status,
    ("autoscaling", "HorizontalPodAutoscaler", "status"): scaling.check_autoscaler_status,
    ("policy", "PodDisruptionBudget", "status"): scaling.check_budget_status,
}
"""Rules by group, kind and subresource."""
