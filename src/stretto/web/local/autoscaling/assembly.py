"""What scales the workloads of a local cluster, and the metrics by which it does."""

from functools import partial

from stretto.base.clock import Clock
from stretto.capacity.autoscaling.controller import COMPONENT, AutoscalerController
from stretto.capacity.autoscaling.scales import AutoscalerPorts
from stretto.capacity.scaling.controller import ScalingController
from stretto.capacity.tides.controller import TideController
from stretto.plane.config import PlaneConfig
from stretto.plane.placements import PlacementTrial, scheduling_records
from stretto.reconcile.cache import StoreCache
from stretto.reconcile.reconciler import Reconciler
from stretto.web.api.state import ApiState
from stretto.web.local.autoscaling.metrics import serve_metrics, simulated_use
from stretto.web.local.autoscaling.scales import ApiScales
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
    use = simulated_use(cluster)
    serve_metrics(state, use)
    ports = AutoscalerPorts(use, ApiScales(state, COMPONENT))
    return [ScalingController(cache, clock), AutoscalerController(cache, clock, ports)]


def tide_controllers(
    cache: StoreCache, clock: Clock, config: PlaneConfig | None
) -> list[Reconciler]:
    """What switches the nodes of tidal pools; nothing without a scheduler that tries it first.

    Args:
        cache: caches of the cluster's store.
        clock: wall time.
        config: configuration of the scheduler.
    """
    if config is None:
        return []
    trial = PlacementTrial(config, partial(scheduling_records, cache.store))
    return [TideController(cache, clock, trial.placed)]
