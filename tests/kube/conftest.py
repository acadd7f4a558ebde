"""What tests against a real API server share."""

from collections.abc import Iterator

import pytest

from stretto.base.rng import Rng
from stretto.lab.kube.control_plane import ControlPlane
from stretto.lab.kube.wire import Wire
from stretto.stores.kube.access import KubeconfigAccess
from stretto.stores.kube.options import KubeOptions
from stretto.stores.kube.store import KubeStore
from tests.contract.kube_subject import kube_subject, wipe
from tests.kube.ground import GROUPS, Ground

QUICK = KubeOptions(write_patience=2.0, read_patience=4.0, answer=3.0, longest_wait=1.0)
"""Times for tests that wait them out."""


@pytest.fixture
def plane(control_plane: ControlPlane) -> ControlPlane:
    """The shared control plane, emptied, with the suite's namespaces."""
    kube_subject(control_plane)
    wipe(control_plane)
    return control_plane


@pytest.fixture
def wire(plane: ControlPlane) -> Iterator[Wire]:
    """A wire to the API server."""
    with Wire(plane.port) as wire:
        yield wire


@pytest.fixture
def store(plane: ControlPlane) -> Iterator[KubeStore]:
    """A store of the administrator over a good line."""
    store = KubeStore(KubeconfigAccess(plane.kubeconfig), Rng(5), QUICK)
    yield store
    store.close()


@pytest.fixture
def far(plane: ControlPlane, wire: Wire) -> Iterator[KubeStore]:
    """A store of the administrator behind the wire."""
    access = KubeconfigAccess(plane.kubeconfig_of("admin", wire.server))
    store = KubeStore(access, Rng(6), QUICK)
    yield store
    wire.heal()
    store.close()


@pytest.fixture
def ground(plane: ControlPlane, wire: Wire, store: KubeStore, far: KubeStore) -> Iterator[Ground]:
    """A whole plane over the wire; groups of other tests are removed."""
    plane.ask("DELETE", GROUPS)
    ground = Ground(plane, wire, store, far)
    yield ground
    ground.close()
