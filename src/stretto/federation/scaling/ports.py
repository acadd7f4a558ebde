"""Ports of the controller of centralized autoscalers."""

from collections.abc import Callable

from stretto.base.clock import Clock
from stretto.federation import names
from stretto.federation.connection.protocol import MemberConnection
from stretto.federation.fleet import ClusterFleet
from stretto.federation.objects.kinds.autoscaling import CENTRALIZED
from stretto.federation.scaling.metrics import FleetMetrics
from stretto.federation.scaling.pods import FleetPods
from stretto.federation.scaling.sources import SourceScales
from stretto.reconcile.cache import StoreCache, StoredObject
from stretto.reconcile.reconciler import Reconciler
from stretto.reconcile.scales import AutoscalerPorts

MakeAutoscaler = Callable[[StoreCache, AutoscalerPorts], Reconciler]
"""Function that creates the controller, from the caches of the host and the ports."""


def fleet_ports(
    fleet: ClusterFleet, connection: Callable[[str], MemberConnection | None], clock: Clock
) -> AutoscalerPorts:
    """The ports of the autoscalers of a host.

    Args:
        fleet: the host and its members.
        connection: the connection to a cluster; ``None`` if it is not open.
        clock: monotonic time.
    """
    pods = FleetPods(fleet)
    metrics = FleetMetrics(pods, connection, clock)
    return AutoscalerPorts(pods, metrics, SourceScales(fleet), _is_centralized)


def _is_centralized(autoscaler: StoredObject) -> bool:
    return autoscaler.labels.get(names.HPA_MODE) == CENTRALIZED
