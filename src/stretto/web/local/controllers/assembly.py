"""The controllers of a local cluster."""

from collections.abc import Collection
from typing import NamedTuple

from stretto.reconcile.cache import StoreCache
from stretto.reconcile.reconciler import Reconciler
from stretto.web.api.internal import ApiClient
from stretto.web.api.state import ApiState
from stretto.web.local.controllers.accounts import AccountController
from stretto.web.local.controllers.deletion import objects_of_server
from stretto.web.local.controllers.endings import PodEndController
from stretto.web.local.controllers.heartbeats import HeartbeatController
from stretto.web.local.controllers.namespaces import NamespaceSettlement
from stretto.web.local.controllers.nodes import NodeReadyController
from stretto.web.local.controllers.policies import PolicyStatusController
from stretto.web.local.controllers.protection import VolumeProtectionController
from stretto.web.local.controllers.quotas import QuotaController
from stretto.web.local.controllers.registration import NodeRegistrationController
from stretto.web.local.controllers.taints import TaintEvictionController
from stretto.web.local.controllers.volumes import VolumeBindingController, make_default_class
from stretto.workloads.assembly import owning_controllers
from stretto.workloads.cluster import LocalCluster
from stretto.workloads.garbage.collector import GarbageCollector
from stretto.workloads.kubelet.controller import KubeletController
from stretto.workloads.namespaces import NamespaceEndController
from stretto.workloads.services.endpoints import EndpointsController


class SimulatedNodes(NamedTuple):
    """The nodes whose kubelets run here."""

    #: Their names.
    names: Collection[str]
    #: Seconds between two heartbeats.
    interval: float
    #: True if nodes without heartbeats are marked here.
    monitors: bool


def make_local_objects(client: ApiClient) -> None:
    """Create the objects of a local cluster that the API server does not create."""
    make_default_class(client)


def node_controllers(
    cluster: LocalCluster, state: ApiState, client: ApiClient, nodes: SimulatedNodes
) -> list[Reconciler]:
    """Return the kubelets of a cluster: nodes become ready and have leases; pods run and end."""
    names, interval, monitors = nodes
    return [
        NodeReadyController(cluster, state),
        HeartbeatController(cluster, names, interval, monitors=monitors),
        KubeletController(cluster),
        PodEndController(cluster, client),
    ]


def local_controllers(
    cluster: LocalCluster,
    cache: StoreCache,
    state: ApiState,
    client: ApiClient,
    authority: bytes,
) -> list[Reconciler]:
    """Return the controllers of workloads, namespaces, quotas, policies and deletions."""
    objects = objects_of_server(state, client)
    return [
        *owning_controllers(cluster),
        EndpointsController(cluster),
        QuotaController(cluster, state),
        PolicyStatusController(cluster, state),
        AccountController(cluster, client, authority),
        NodeRegistrationController(cluster),
        TaintEvictionController(cluster),
        VolumeProtectionController(cluster),
        VolumeBindingController(cluster),
        NamespaceEndController(cache, objects, NamespaceSettlement(state).settle),
        GarbageCollector(cache, objects),
    ]
