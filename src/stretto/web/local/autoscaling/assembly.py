"""The autoscalers of a local cluster, and their metrics."""

from stretto.base.clock import Clock
from stretto.capacity.autoscaling.controller import COMPONENT, AutoscalerController
from stretto.capacity.overcommit.matched import MatchedNodesController
from stretto.capacity.scaling.controller import ScalingController
from stretto.capacity.vertical.controller import VerticalController
from stretto.capacity.vertical.source import VerticalSource
from stretto.plane.config import PlaneConfig
from stretto.reconcile.cache import StoreCache
from stretto.reconcile.reconciler import Reconciler
from stretto.reconcile.scales import AutoscalerPorts, CachedPods
from stretto.web.api.internal import ApiClient
from stretto.web.local.autoscaling.metrics import serve_metrics, simulated_use
from stretto.web.local.autoscaling.scales import ApiScales
from stretto.web.local.autoscaling.tides import tide_controller
from stretto.workloads.cluster import LocalCluster


def scaling_controllers(
    cache: StoreCache,
    cluster: LocalCluster,
    clock: Clock,
    client: ApiClient,
    plane: PlaneConfig | None,
) -> list[Reconciler]:
    """Serve the metrics of a cluster; return the controllers that scale its workloads.

    Args:
        cache: caches of the cluster's store.
        cluster: the same cluster, for the controllers of workloads.
        clock: wall time.
        client: a client of the API server that serves the metrics.
        plane: configuration of the scheduler that tries switches of tidal pools first; without it,
            no node switches.
    """
    use = simulated_use(cluster)
    serve_metrics(client.state, use)
    scales = ApiScales(client.named(COMPONENT))
    ports = AutoscalerPorts(CachedPods(cache), use, scales)
    return [
        ScalingController(cache, clock),
        AutoscalerController(cache, clock, ports),
        MatchedNodesController(cache),
        VerticalController(cache, clock, VerticalSource(use)),
        *([] if plane is None else [tide_controller(cache, clock, plane)]),
    ]
