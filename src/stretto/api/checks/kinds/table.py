"""The rules of every kind in one table."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from stretto.api.checks.fields.errors import Errors
from stretto.api.checks.kinds import core, pods, workloads

Json = dict[str, Any]

KindRule = Callable[[Json, Json | None], Errors]
"""The refused fields of a new or changed object, given the old one."""

_RBAC: Final = "rbac.authorization.k8s.io"
RULES: Final[Mapping[tuple[str, str], KindRule]] = {
    ("", "Pod"): pods.check_pod,
    ("", "ConfigMap"): core.check_config_map,
    ("", "Secret"): core.check_secret,
    ("", "Service"): core.check_service,
    ("", "PersistentVolume"): core.check_volume,
    ("", "PersistentVolumeClaim"): core.check_claim,
    ("apps", "Deployment"): workloads.check_deployment,
    ("apps", "ReplicaSet"): workloads.check_replica_set,
    ("apps", "DaemonSet"): workloads.check_daemon_set,
    ("apps", "StatefulSet"): workloads.check_stateful_set,
    ("batch", "Job"): workloads.check_job,
    ("batch", "CronJob"): workloads.check_cron_job,
    ("policy", "PodDisruptionBudget"): core.check_budget,
    ("coordination.k8s.io", "Lease"): core.check_lease,
    ("scheduling.k8s.io", "PriorityClass"): core.check_priority_class,
    ("storage.k8s.io", "StorageClass"): core.check_storage_class,
    ("node.k8s.io", "RuntimeClass"): core.check_runtime_class,
    (_RBAC, "Role"): core.check_role,
    (_RBAC, "ClusterRole"): core.check_cluster_role,
    (_RBAC, "RoleBinding"): core.check_role_binding,
    (_RBAC, "ClusterRoleBinding"): core.check_cluster_role_binding,
}
"""Rules by group and kind."""


def check_kind(key: tuple[str, str], item: Json, old: Json | None) -> Errors:
    """The refused fields of an object of a kind."""
    rule = RULES.get(key)
    return [] if rule is None else rule(item, old)
