"""The controllers of a local cluster."""

from stretto.reconcile.cache import StoreCache
from stretto.reconcile.reconciler import Reconciler
from stretto.web.api.internal import ApiClient
from stretto.web.api.state import ApiState
from stretto.web.local.controllers.accounts import AccountController
from stretto.web.local.controllers.deletion import objects_of_server
from stretto.web.local.controllers.endings import PodEndController
from stretto.web.local.controllers.namespaces import NamespaceSettlement
from stretto.web.local.controllers.nodes import NodeReadyController
from stretto.web.local.controllers.protection import VolumeProtectionController
from stretto.web.local.controllers.quotas import QuotaController
from stretto.workloads.assembly import workload_controllers
from stretto.workloads.cluster import LocalCluster
from stretto.workloads.garbage.collector import GarbageCollector
from stretto.workloads.namespaces import NamespaceEndController
from stretto.workloads.services.endpoints import EndpointsController


def local_controllers(
    cluster: LocalCluster,
    cache: StoreCache,
    state: ApiState,
    client: ApiClient,
    authority: bytes,
) -> list[Reconciler]:
    """Controllers of workloads, nodes, namespaces, quotas, and of what is being deleted."""
    objects = objects_of_server(state, client)
    return [
        *workload_controllers(cluster),
        EndpointsController(cluster),
        QuotaController(cluster, state),
        AccountController(cluster, client, authority),
        NodeReadyController(cluster, state),
        PodEndController(cluster, client),
        VolumeProtectionController(cluster),
        NamespaceEndController(cache, objects, NamespaceSettlement(state).settle),
        GarbageCollector(cache, objects),
    ]
