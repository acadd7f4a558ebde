"""Poison, floods and a server that is busy: cases 35 to 39."""

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import closing

import pytest

from stretto.api.wire.kinds import NODE, POD
from stretto.base.rng import Rng
from stretto.stores.kube.login.access import KubeconfigAccess
from stretto.stores.kube.store import KubeStore
from stretto.stores.kube.transport.options import KubeOptions
from stretto.stores.store import Patch, WatchEvent
from stretto_lab.control_plane.cluster import ControlPlane, ControlPlaneConfig
from stretto_lab.control_plane.credentials import CertificateUser
from tests.contract.kube_subject import kube_subject
from tests.e2e.daemon import put, until
from tests.e2e.plane import QUICK, Ground, ground_on
from tests.e2e.reader import done
from tests.e2e.storm import ONE_PLACE, no_master, only_place_taken, rejected_requests

pytestmark = pytest.mark.kube

CLAIM = {"name": "data", "persistentVolumeClaim": {"claimName": "missing"}}
NOWHERE = {
    "nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [
                {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["gone"]}]}
            ]
        }
    }
}


def test_case_35_an_affinity_to_a_node_that_is_not_there_fails_alone(ground: Ground) -> None:
    ground.nodes("n0")
    ground.pods("poison", affinity=NOWHERE)
    ground.pods("well")
    ground.go(lambda: "well" in ground.bound())
    ground.go(lambda: "0/1 nodes are available" in ground.why("poison"))
    ground.laws_hold()


def test_case_36_a_missing_claim_blocks_no_other_pod(ground: Ground) -> None:
    ground.nodes("n0")
    ground.synced()
    ground.pods("poison", volumes=[CLAIM])
    ground.pods("well", "too")
    ground.go(ground.all_bound(2))
    ground.go(lambda: "missing" in ground.why("poison"))
    ground.laws_hold()


def test_case_37_a_watch_without_a_reader_is_bounded_and_loses_nothing(
    plane: ControlPlane, store: KubeStore
) -> None:
    most = 20
    options = KubeOptions(held_events=most)
    put(plane, "/api/v1/nodes", {"metadata": {"name": "busy"}})
    seen: list[WatchEvent] = []
    with closing(KubeStore(KubeconfigAccess(plane.kubeconfig), Rng(4), options)) as narrow:
        watch = narrow.watch(NODE, narrow.list(NODE).version)

        def turns(numbers: range) -> None:
            for number in numbers:
                label = {"metadata": {"labels": {"turn": str(number)}}}
                done(store.patch(NODE, [Patch("", "busy", label)])[0])

        def has_seen(count: int) -> bool:
            seen.extend(watch.poll())
            return len(seen) >= count

        turns(range(1))
        until(lambda: has_seen(1), lambda: "the watch shows nothing")
        turns(range(1, 300))
        narrow.wait(1.0)
        held = len(watch._events)  # type: ignore[attr-defined]
        until(lambda: has_seen(300), lambda: len(seen))
    assert len(seen) == 300
    assert held < 150


@pytest.fixture(scope="module")
def busy() -> Iterator[ControlPlane]:
    """A server that records the client of each request, and does one write at a time."""
    config = ControlPlaneConfig(
        users=(CertificateUser("us"), CertificateUser("them")), audited=True, flags=ONE_PLACE
    )
    with ControlPlane(config) as plane:
        plane.install()
        kube_subject(plane)
        no_master(plane, "us")
        no_master(plane, "them")
        yield plane


@pytest.fixture
def crowd(busy: ControlPlane) -> Iterator[Ground]:
    """A plane before the busy server."""
    with ground_on(busy, QUICK, "us") as ground:
        yield ground


def test_case_38_telling_why_pods_wait_starves_no_bind(crowd: Ground) -> None:
    crowd.nodes("n0", cpu="64")
    crowd.synced()
    crowd.pods(*(f"big-{number}" for number in range(80)), cpu="999")
    refused_for_a_while(crowd)
    crowd.go(lambda: "Insufficient" in crowd.why("big-0"))
    begin = len(crowd.site.audit("us"))
    crowd.pods(*(f"small-{number}" for number in range(40)), cpu="10m")
    crowd.go(crowd.all_bound(40))
    calls = [call.what for call in crowd.site.audit("us")[begin:]]
    last = max(at for at, what in enumerate(calls) if what == "create pods/binding")
    before = Counter(calls[:last])
    reported = before["patch pods/status"] + before["create events"] + before["patch events"]
    assert reported <= 4 * before["create pods/binding"]
    crowd.laws_hold()


def test_case_39_a_busy_server_delays_and_loses_nothing(crowd: Ground) -> None:
    there = len(crowd.bound())
    crowd.nodes("n1", cpu="64")
    crowd.pods(*(f"more-{number}" for number in range(40)), cpu="10m")
    refused_for_a_while(crowd)
    crowd.go(crowd.all_bound(there + 40))
    names = [json.loads(each.body)["metadata"]["name"] for each in crowd.near.list(POD).records]
    assert len(names) == len(set(names))
    crowd.laws_hold()


def refused_for_a_while(crowd: Ground) -> None:
    """The plane steps until a write of its own has been turned away."""
    there, before = crowd.bound(), rejected_requests(crowd.site, "us")
    with only_place_taken(crowd.site, "them"):
        crowd.go(lambda: rejected_requests(crowd.site, "us") > before)
        assert crowd.bound() == there
