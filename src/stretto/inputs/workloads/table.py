"""The table of custom workloads: reader of each kind, or the reason for skipping it."""

from collections.abc import Callable, Mapping
from typing import Final

from stretto.inputs.workloads.argo import workflow
from stretto.inputs.workloads.jobs import job_set, leader_worker_set, rollout, volcano_job
from stretto.inputs.workloads.ray import ray_cluster, ray_job, ray_service
from stretto.inputs.workloads.spark import spark_application
from stretto.inputs.workloads.training import replica_types, train_job
from stretto.inputs.workloads.units import Workload, WorkloadUnit

GroupKind = tuple[str, str]
"""API group and kind."""

_KUBEFLOW: Final = "kubeflow.org"
_TRAINER: Final = "trainer.kubeflow.org"
_ARGO: Final = "argoproj.io"
_SPARK: Final = "sparkoperator.k8s.io"

READERS: Final[Mapping[GroupKind, Callable[[Workload], list[WorkloadUnit]]]] = {
    (_KUBEFLOW, "PyTorchJob"): replica_types("pytorchReplicaSpecs"),
    (_KUBEFLOW, "TFJob"): replica_types("tfReplicaSpecs"),
    (_KUBEFLOW, "MPIJob"): replica_types("mpiReplicaSpecs"),
    (_KUBEFLOW, "XGBoostJob"): replica_types("xgbReplicaSpecs"),
    (_KUBEFLOW, "JAXJob"): replica_types("jaxReplicaSpecs"),
    (_KUBEFLOW, "PaddleJob"): replica_types("paddleReplicaSpecs"),
    (_KUBEFLOW, "MXJob"): replica_types("mxReplicaSpecs"),
    (_TRAINER, "TrainJob"): train_job,
    ("jobset.x-k8s.io", "JobSet"): job_set,
    ("leaderworkerset.x-k8s.io", "LeaderWorkerSet"): leader_worker_set,
    ("ray.io", "RayCluster"): ray_cluster,
    ("ray.io", "RayJob"): ray_job,
    ("ray.io", "RayService"): ray_service,
    (_SPARK, "SparkApplication"): spark_application,
    ("batch.volcano.sh", "Job"): volcano_job,
    (_ARGO, "Workflow"): workflow,
    (_ARGO, "Rollout"): rollout,
}
"""The supported kinds."""

TEMPLATES: Final = frozenset({(_TRAINER, "TrainingRuntime"), (_TRAINER, "ClusterTrainingRuntime")})
"""Kinds to which workloads refer; they have no pods of their own."""

SCHEDULED_LATER: Final = "it creates workloads at the times of its schedule"
"""Reason for skipping a scheduled workload."""
NO_PODS: Final[Mapping[GroupKind, str]] = {
    (_SPARK, "ScheduledSparkApplication"): SCHEDULED_LATER,
    (_ARGO, "CronWorkflow"): SCHEDULED_LATER,
    ("ray.io", "RayCronJob"): SCHEDULED_LATER,
    ("batch.volcano.sh", "CronJob"): SCHEDULED_LATER,
}
"""Skipped kinds, with the reason."""
