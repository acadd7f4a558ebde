"""Fixtures of the tests against a real API server."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from stretto.stores.kube.store import KubeStore
from stretto_lab.control_plane.cluster import ControlPlane
from stretto_lab.control_plane.faulty_wire import FaultyWire
from tests.contract.kube_subject import kube_subject, wipe
from tests.e2e.daemon import LEASES, Daemon, named_space, ready_nodes
from tests.e2e.plane import GROUPS, QUICK, Ground, store_of
from tests.e2e.site import Yard

HERE = Path(__file__).parent
HUNG = 600.0
"""Timeout of a test in seconds; its waits have shorter timeouts."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Set the timeout of tests that have none."""
    for item in items:
        if HERE in item.path.parents and item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(HUNG))


@pytest.fixture
def plane(control_plane: ControlPlane) -> ControlPlane:
    """The shared control plane, running and without objects of other tests."""
    for part in control_plane.parts.values():  # regardless of earlier tests
        part.resume()
        part.start()
    control_plane.wait_ready()
    kube_subject(control_plane)
    wipe(control_plane)
    return control_plane


@pytest.fixture
def site(plane: ControlPlane) -> Iterator[ControlPlane]:
    """The shared control plane with four nodes and no lease; it is healthy at the end."""
    plane.send("DELETE", f"{LEASES}/stretto-scheduler")
    ready_nodes(plane, *(f"n{number}" for number in range(4)))
    yield plane
    plane["etcd"].resume()
    plane.wait_ready()


@pytest.fixture
def wire(plane: ControlPlane) -> Iterator[FaultyWire]:
    """A proxy to the API server."""
    with FaultyWire(plane.port) as wire:
        yield wire


@pytest.fixture
def store(plane: ControlPlane) -> Iterator[KubeStore]:
    """A direct store of the administrator with long timeouts."""
    store = store_of(plane)
    yield store
    store.close()


@pytest.fixture
def hasty(plane: ControlPlane) -> Iterator[KubeStore]:
    """A direct store with short timeouts, for servers that are stopped."""
    store = store_of(plane, QUICK)
    yield store
    store.close()


@pytest.fixture
def far(plane: ControlPlane, wire: FaultyWire) -> Iterator[KubeStore]:
    """A store of the administrator through the proxy."""
    store = store_of(plane, QUICK, wire.server)
    yield store
    wire.heal()
    store.close()


@pytest.fixture
def ground(
    plane: ControlPlane, wire: FaultyWire, store: KubeStore, far: KubeStore
) -> Iterator[Ground]:
    """A plane through the proxy; PodGroups of other tests are deleted."""
    assert plane.send("DELETE", GROUPS).status == 200
    ground = Ground(plane, wire, store, far)
    yield ground
    ground.close()


@pytest.fixture
def space(cluster: ControlPlane, request: pytest.FixtureRequest) -> str:
    """A separate namespace in the cluster of the file."""
    return named_space(cluster, request.node.name)


@pytest.fixture
def yard(cluster: ControlPlane, daemon: Daemon, request: pytest.FixtureRequest) -> Iterator[Yard]:
    """Separate nodes and a namespace; all laws hold in the cluster at the end."""
    daemon.part.start()  # unless it runs
    yard = Yard(cluster, daemon, named_space(cluster, request.node.name))
    yield yard
    try:
        assert yard.broken() == []
    finally:
        cluster.send("DELETE", f"/api/v1/namespaces/{yard.space}")
        cluster.send("DELETE", f"/api/v1/nodes?labelSelector=yard%3D{yard.space}")
