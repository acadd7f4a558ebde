"""The rules of every kind in one table: of the object, and of the writes of its subresources."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from stretto.api.checks.fields.errors import Errors
from stretto.api.checks.kinds.cluster import access, network, scaling, scheduling, storage
from stretto.api.checks.kinds.core import bounds, config, events, nodes, services, volumes
from stretto.api.checks.kinds.extension import (
    aggregation,
    definitions,
    devices,
    policies,
    webhooks,
)
from stretto.api.checks.kinds.pods import pod, updates
from stretto.api.checks.kinds.workloads import jobs, replicas, stateful

Json = dict[str, Any]

KindRule = Callable[[Json, Json | None], Errors]
"""The refused fields of a new or changed object, given the old one."""
PartRule = Callable[[Json, Json], Errors]
"""The refused fields of an object after a write of a subresource, given the old one."""

_RBAC: Final = "rbac.authorization.k8s.io"
_STORAGE: Final = "storage.k8s.io"
_NETWORK: Final = "networking.k8s.io"
_ADMISSION: Final = "admissionregistration.k8s.io"
_FLOW: Final = "flowcontrol.apiserver.k8s.io"
_DEVICES: Final = "resource.k8s.io"
_CERTIFICATES: Final = "certificates.k8s.io"

RULES: Final[Mapping[tuple[str, str], KindRule]] = {
    ("", "Pod"): pod.check_pod,
    ("", "ConfigMap"): config.check_config_map,
    ("", "Secret"): config.check_secret,
    ("", "Service"): services.check_service,
    ("", "Endpoints"): services.check_endpoints,
    ("", "Event"): events.check_event,
    ("", "Node"): nodes.check_node,
    ("", "Namespace"): nodes.check_namespace,
    ("", "PersistentVolume"): volumes.check_volume,
    ("", "PersistentVolumeClaim"): volumes.check_claim,
    ("", "LimitRange"): bounds.check_limit_range,
    ("", "ResourceQuota"): bounds.check_quota,
    ("", "ReplicationController"): replicas.check_replication_controller,
    ("", "PodTemplate"): stateful.check_pod_template,
    ("apps", "Deployment"): replicas.check_deployment,
    ("apps", "ReplicaSet"): replicas.check_replica_set,
    ("apps", "DaemonSet"): replicas.check_daemon_set,
    ("apps", "StatefulSet"): stateful.check_stateful_set,
    ("apps", "ControllerRevision"): stateful.check_revision,
    ("batch", "Job"): jobs.check_job,
    ("batch", "CronJob"): jobs.check_cron_job,
    ("autoscaling", "HorizontalPodAutoscaler"): scaling.check_autoscaler,
    ("policy", "PodDisruptionBudget"): scaling.check_budget,
    ("coordination.k8s.io", "Lease"): scheduling.check_lease,
    ("scheduling.k8s.io", "PriorityClass"): scheduling.check_priority_class,
    ("node.k8s.io", "RuntimeClass"): scheduling.check_runtime_class,
    ("events.k8s.io", "Event"): events.check_new_event,
    ("discovery.k8s.io", "EndpointSlice"): network.check_endpoint_slice,
    (_NETWORK, "Ingress"): network.check_ingress,
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
    (_ADMISSION, "ValidatingWebhookConfiguration"): webhooks.check_webhooks,
    (_ADMISSION, "MutatingWebhookConfiguration"): webhooks.check_webhooks,
    (_ADMISSION, "ValidatingAdmissionPolicy"): policies.check_policy,
    (_ADMISSION, "ValidatingAdmissionPolicyBinding"): policies.check_policy_binding,
    (_ADMISSION, "MutatingAdmissionPolicy"): policies.check_mutating_policy,
    (_ADMISSION, "MutatingAdmissionPolicyBinding"): policies.check_mutating_binding,
    ("apiregistration.k8s.io", "APIService"): aggregation.check_api_service,
    ("apiextensions.k8s.io", "CustomResourceDefinition"): definitions.check_definition,
    (_FLOW, "FlowSchema"): aggregation.check_flow_schema,
    (_FLOW, "PriorityLevelConfiguration"): aggregation.check_priority_level,
    (_CERTIFICATES, "CertificateSigningRequest"): aggregation.check_signing_request,
    (_DEVICES, "ResourceClaim"): devices.check_claim,
    (_DEVICES, "ResourceClaimTemplate"): devices.check_claim_template,
    (_DEVICES, "DeviceClass"): devices.check_class,
    (_DEVICES, "ResourceSlice"): devices.check_slice,
}
"""Rules by group and kind."""

PARTS: Final[Mapping[tuple[str, str, str], PartRule]] = {
    ("", "Pod", "ephemeralcontainers"): updates.check_ephemeral_update,
    ("", "Pod", "resize"): updates.check_resize,
    ("", "Namespace", "finalize"): nodes.check_finalize,
    ("", "Namespace", "status"): nodes.check_namespace_status,
    ("", "Node", "status"): nodes.check_node_status,
    ("", "Service", "status"): services.check_service_status,
    ("", "ResourceQuota", "status"): bounds.check_quota_status,
    ("", "ReplicationController", "status"): replicas.check_replica_status,
    ("apps", "Deployment", "status"): replicas.check_deployment_status,
    ("apps", "ReplicaSet", "status"): replicas.check_replica_status,
    ("apps", "StatefulSet", "status"): replicas.check_stateful_status,
    ("apps", "DaemonSet", "status"): replicas.check_daemon_status,
    ("batch", "Job", "status"): jobs.check_job_status,
    ("autoscaling", "HorizontalPodAutoscaler", "status"): scaling.check_autoscaler_status,
    ("policy", "PodDisruptionBudget", "status"): scaling.check_budget_status,
    (_DEVICES, "ResourceClaim", "status"): devices.check_claim_status,
    (_CERTIFICATES, "CertificateSigningRequest", "status"): aggregation.check_signing_status,
    (_CERTIFICATES, "CertificateSigningRequest", "approval"): aggregation.check_approval,
}
"""Rules of subresources by group, kind and name; other subresources have none."""
_WHOLE: Final = ("", "scale")
"""Subresources after whose write the rules of the object hold."""


def check_kind(key: tuple[str, str], item: Json, old: Json | None, part: str = "") -> Errors:
    """The refused fields of an object of a kind.

    Args:
        key: group and kind.
        item: the object.
        old: the stored object; ``None`` for a new one.
        part: the subresource that is written; empty for the object itself.
    """
    if part in _WHOLE:
        rule = RULES.get(key)
        return [] if rule is None else rule(item, old)
    inner = PARTS.get((*key, part))
    return [] if inner is None or old is None else inner(item, old)
