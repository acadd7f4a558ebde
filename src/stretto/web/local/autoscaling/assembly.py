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
from stretto.workloads.use.simulated import SimulatedUse


def served_use(cluster: LocalCluster, client: ApiClient) -> SimulatedUse:
    """Serve the use of a cluster's pods and nodes as metrics of its API; return the use."""
    use = simulated_use(cluster)
    serve_metrics(client.state, use)
    return use


def scaling_controllers(
    cache: StoreCache,
    use: SimulatedUse,
    clock: Clock,
    client: ApiClient,
    plane: PlaneConfig | None,
) -> list[Reconciler]:
    """Return the controllers that scale the workloads of a cluster.

    Args:
        cache: caches of the cluster's store.
        use: the use of its pods and nodes.
        clock: wall time.
        client: a client of its API server.
        plane: configuration of the scheduler that tries switches of tidal pools first; without it,
            no node switches.
    """
    scales = ApiScales(client.named(COMPONENT))
    ports = AutoscalerPorts(CachedPods(cache), use, scales)
    return [
        ScalingController(cache, clock),
        AutoscalerController(cache, clock, ports),
        MatchedNodesController(cache),
        VerticalController(cache, clock, VerticalSource(use)),
        *([] if plane is None else [tide_controller(cache, clock, plane)]),
    ]
