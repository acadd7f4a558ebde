"""All controllers of the workloads of one cluster."""

from stretto.reconcile.reconciler import Reconciler
from stretto.workloads.cluster import REPORTERS, LocalCluster
from stretto.workloads.cron import CronJobController
from stretto.workloads.daemons.controller import DaemonSetController
from stretto.workloads.deployments import DeploymentController
from stretto.workloads.jobs.controller import JobController
from stretto.workloads.kubelet.controller import KubeletController
from stretto.workloads.kubelet.course import CourseOf, default_course
from stretto.workloads.policies.budgets import BudgetController
from stretto.workloads.replicas import ReplicaController
from stretto.workloads.services.slices import EndpointSliceController
from stretto.workloads.stateful.controller import StatefulSetController


def workload_controllers(
    cluster: LocalCluster, course: CourseOf = default_course
) -> list[Reconciler]:
    """The controllers of the workloads of a cluster, and its kubelet.

    Args:
        cluster: the cluster.
        course: simulated lifecycle of a bound pod.
    """
    return [*owning_controllers(cluster), KubeletController(cluster, course)]


def owning_controllers(cluster: LocalCluster) -> list[Reconciler]:
    """The controllers of the workloads of a cluster, without a kubelet."""
    return [
        DeploymentController(cluster),
        *(ReplicaController(cluster, kind) for kind in REPORTERS),
        StatefulSetController(cluster),
        DaemonSetController(cluster),
        JobController(cluster),
        CronJobController(cluster),
        EndpointSliceController(cluster),
        BudgetController(cluster),
    ]
