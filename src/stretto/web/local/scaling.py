"""What scales the workloads of a local cluster, and the metrics by which it does."""

from stretto.base.clock import Clock
from stretto.capacity.scaling.controller import ScalingController
from stretto.reconcile.cache import StoreCache
from stretto.reconcile.reconciler import Reconciler
from stretto.web.api.state import ApiState
from stretto.web.local.metrics import metrics_resources, simulated_use
from stretto.workloads.cluster import LocalCluster


def scaling_controllers(
    cache: StoreCache, cluster: LocalCluster, clock: Clock, state: ApiState
) -> list[Reconciler]:
    """Serve the metrics of a cluster and scale its workloads.

    Args:
        cache: caches of the cluster's store.
        cluster: the same cluster, as controllers of workloads see it.
        clock: wall time.
        state: the API server that serves the metrics.
    """
    state.resources.add_computed(metrics_resources(simulated_use(cluster)))
    return [ScalingController(cache, clock)]
