"""The controllers of scaling groups and of their workloads in a run."""

from stretto.api.wire.kinds import REPLICA_SET, STATEFUL_SET
from stretto.base.clock import Clock
from stretto.capacity.scaling.controller import ScalingController
from stretto.reconcile.cache import StoreCache, StoredObject
from stretto.reconcile.reconciler import Reconciler
from stretto.workloads.cluster import LocalCluster, owner_of
from stretto.workloads.deployments import DeploymentController
from stretto.workloads.kubelet.controller import KubeletController
from stretto.workloads.replicas import ReplicaController
from stretto.workloads.stateful.controller import StatefulSetController


def scaling_controllers(cache: StoreCache, clock: Clock) -> list[Reconciler]:
    """Controllers that divide the replicas of policies and run the pods of their workloads.

    The pods of StatefulSets start and end in order, so a kubelet marks them as ready.
    """
    cluster = LocalCluster(cache, clock)
    return [
        DeploymentController(cluster),
        ReplicaController(cluster, REPLICA_SET),
        StatefulSetController(cluster),
        KubeletController(cluster, runs=_is_ordered),
        ScalingController(cache, clock),
    ]


def _is_ordered(pod: StoredObject) -> bool:
    """True if a StatefulSet controls a pod."""
    owner = owner_of(pod)
    return owner is not None and owner["kind"] == STATEFUL_SET.kind
