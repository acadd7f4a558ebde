"""A server that turns most requests away for now (429), for real."""

from collections.abc import Iterator

import pytest

from stretto.api.kinds import POD
from stretto.base.rng import Rng
from stretto.lab.kube.control_plane import ControlPlane, ControlPlaneConfig
from stretto.lab.kube.credentials import User
from stretto.stores.kube.access import KubeconfigAccess
from stretto.stores.kube.store import KubeStore
from stretto.stores.store import Bind, Outcome
from tests.kube.daemon import no_master, put, turned_away
from tests.kube.picture import SPACE, done, pods

pytestmark = pytest.mark.kube

NARROW = (
    "--enable-priority-and-fairness=false",
    "--max-mutating-requests-inflight=1",
)


@pytest.fixture(scope="module")
def narrow() -> Iterator[ControlPlane]:
    """A server that does one write at a time and refuses the others."""
    config = ControlPlaneConfig(users=(User("us"),), audited=True, flags=NARROW)
    with ControlPlane(config) as plane:
        put(plane, "/api/v1/namespaces", {"metadata": {"name": SPACE}})
        no_master(plane, "us")
        yield plane


def test_a_storm_of_refusals_loses_no_write(narrow: ControlPlane) -> None:
    store = KubeStore(KubeconfigAccess(narrow.kubeconfig_of("us")), Rng(1))
    names = [f"p{number}" for number in range(60)]
    records = {}
    while names:  # what is refused within the patience is tried again by whoever wanted it
        replies = store.create(POD, pods(names))
        assert {reply.outcome for reply in replies} <= {Outcome.OK, Outcome.REFUSED}
        records |= {n: done(r) for n, r in zip(names, replies, strict=True) if r.record}
        names = [name for name in names if name not in records]
    assert len(store.list(POD).records) == 60
    assert turned_away(narrow, "us") > 0
    store.close()


def test_binds_come_through_a_storm(narrow: ControlPlane) -> None:
    store = KubeStore(KubeconfigAccess(narrow.kubeconfig_of("us")), Rng(2))
    before = turned_away(narrow, "us")
    waiting = {r.name: r for r in store.list(POD).records if not r.node}
    for _ in range(20):
        binds = [Bind(SPACE, name, record.uid, "n1") for name, record in waiting.items()]
        replies = store.bind(binds)
        done_now = [b.name for b, r in zip(binds, replies, strict=True) if r.outcome is Outcome.OK]
        waiting = {name: r for name, r in waiting.items() if name not in done_now}
        if not waiting:
            break
    assert not waiting
    assert {record.node for record in store.list(POD).records} == {"n1"}
    assert turned_away(narrow, "us") > before
    store.close()
