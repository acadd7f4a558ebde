"""The rules of pods and of the kinds that create them."""

from collections.abc import Mapping
from typing import Final

from stretto.api.checks.fields.shapes import KindRule, PartRule
from stretto.api.checks.kinds.pods import pod, statuses, updates
from stretto.api.checks.kinds.workloads import jobs, outcomes, replicas, stateful

WORKLOADS_RULES: Final[Mapping[tuple[str, str], KindRule]] = {
    ("", "Pod"): pod.check_pod,
    ("", "ReplicationController"): replicas.check_replication_controller,
    ("", "PodTemplate"): stateful.check_pod_template,
    ("apps", "Deployment"): replicas.check_deployment,
    ("apps", "ReplicaSet"): replicas.check_replica_set,
    ("apps", "DaemonSet"): replicas.check_daemon_set,
    ("apps", "StatefulSet"): stateful.check_stateful_set,
    ("apps", "ControllerRevision"): stateful.check_revision,
    ("batch", "Job"): jobs.check_job,
    ("batch", "CronJob"): jobs.check_cron_job,
}
"""Rules by group and kind."""
WORKLOADS_PARTS: Final[Mapping[tuple[str, str, str], PartRule]] = {
    ("", "Pod", "ephemeralcontainers"): updates.check_ephemeral_update,
    ("", "Pod", "resize"): pod.check_pod_resize,
    ("", "Pod", "status"): statuses.check_pod_status,
    ("", "ReplicationController", "status"): replicas.check_replica_status,
    ("apps", "Deployment", "status"): replicas.check_deployment_status,
    ("apps", "ReplicaSet", "status"): replicas.check_replica_status,
    ("apps", "StatefulSet", "status"): replicas.check_stateful_status,
    ("apps", "DaemonSet", "status"): replicas.check_daemon_status,
    ("batch", "Job", "status"): outcomes.check_job_status,
}
"""Rules by group, kind and subresource."""
