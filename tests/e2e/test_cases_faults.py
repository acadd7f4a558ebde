"""Single faults around a plane that schedules; afterwards the laws hold."""

import json
from collections.abc import Callable, Iterator

import pytest

from stretto.api.wire.kinds import POD_GROUP, QUEUE, Kind
from stretto.explain.doctor.doctor import examine, subject_of
from stretto.explain.doctor.findings import DoctorCheck
from stretto.sim.states.clusters import listed
from stretto.stores.kube.transport.options import KubeOptions
from stretto_lab.control_plane.cluster import ControlPlane, ControlPlaneConfig
from tests.e2e.daemon import PODS, SPACE, member, pod, put, ready_nodes, until
from tests.e2e.plane import GROUPS, NAMES, Ground, ground_on

pytestmark = pytest.mark.kube

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def once(ground: Ground, place: str, happens: Callable[[], None]) -> list[str]:
    """Trigger an action when a component first reaches a failpoint."""
    seen: list[str] = []

    def visit(name: str) -> None:
        if name == place and not seen:
            seen.append(name)
            happens()

    ground.failpoint = visit
    return seen


@pytest.mark.parametrize("place", ["shard.planned", "binder.charged", "binder.before-write"])
def test_a_pod_that_is_deleted_before_its_bind_frees_its_capacity(
    ground: Ground, place: str
) -> None:
    ground.nodes("n0", cpu="1")
    ground.synced()
    ground.pods("web")
    seen = once(ground, place, lambda: ground.remove("web"))
    ground.go(lambda: bool(seen))
    ground.pods("next")
    ground.go(lambda: ground.bound() == {"next": "n0"})
    ground.laws_hold()


@pytest.mark.parametrize("place", ["shard.planned", "binder.before-write", "binder.after-write"])
def test_a_node_that_is_deleted_with_claims_in_flight_is_not_used_any_more(
    ground: Ground, place: str
) -> None:
    ground.nodes("n0", cpu="2")
    ground.synced()
    ground.pods("web")
    seen = once(ground, place, lambda: remove_node(ground, "n0"))
    ground.go(lambda: bool(seen))
    ground.go(lambda: "n0" not in ground.plane.cluster.nodes.by_name)
    ground.nodes("n1", cpu="4")
    ground.pods("next")
    ground.go(lambda: ground.bound().get("next") == "n1")
    if ground.bound().get("web") == "n0":  # the API server binds to nodes that are not there
        found = examine(subject_of(listed(ground.near).records, NAMES)).broken
        assert {each.check for each in found} == {DoctorCheck.UNKNOWN_NODE}
        ground.remove("web")  # as kube-controller-manager does
        ground.go_for(0.5)
    ground.laws_hold()


def remove_node(ground: Ground, name: str) -> None:
    assert ground.site.send("DELETE", f"/api/v1/nodes/{name}").status == 200


def test_watches_that_are_cut_all_the_time_delay_nothing_for_good(ground: Ground) -> None:
    ground.nodes("n0", cpu="64")
    ground.wire.cut_every = 1.0
    ground.wire.cut()
    for turn in range(4):
        ground.pods(*(f"p{turn}-{number}" for number in range(10)), cpu="10m")
        ground.go_for(0.7)
    ground.go(ground.all_bound(40))
    ground.wire.heal()
    ground.laws_hold()


def test_a_server_that_is_killed_and_comes_back_finds_the_plane_going_on(ground: Ground) -> None:
    ground.nodes("n0", cpu="64")
    ground.synced()
    ground.pods(*(f"a{number}" for number in range(30)), cpu="10m")
    seen = once(ground, "binder.before-write", ground.site["kube-apiserver"].kill)
    ground.go(lambda: bool(seen) and restarted(ground))
    ground.pods(*(f"b{number}" for number in range(30)), cpu="10m")
    ground.go(ground.all_bound(60))
    ground.laws_hold()


def restarted(ground: Ground) -> bool:
    ground.site["kube-apiserver"].start()
    ground.site.wait_ready()
    return True


def test_etcd_that_pauses_delays_and_loses_nothing(ground: Ground) -> None:
    ground.nodes("n0", cpu="64")
    ground.synced()
    ground.pods(*(f"a{number}" for number in range(20)), cpu="10m")
    seen = once(ground, "binder.before-write", ground.site["etcd"].pause)
    try:
        ground.plane.step()
        while not seen:
            ground.plane.step()
    finally:
        ground.site["etcd"].resume()
    ground.site.wait_ready()
    ground.go(ground.all_bound(20))
    ground.laws_hold()


def test_a_slow_server_is_waited_for_and_overcommits_nothing(ground: Ground) -> None:
    ground.nodes("n0", "n1", cpu="2")
    ground.wire.latency = 0.1
    ground.pods(*(f"p{number}" for number in range(8)))
    ground.go(ground.all_bound(4))
    ground.go_for(1.0)
    ground.wire.heal()
    assert len(ground.bound()) == 4
    ground.laws_hold()


# ---------------------------------------------------------------- kinds that are not ours yet


@pytest.fixture(scope="module")
def bare() -> Iterator[ControlPlane]:
    """A server without our CRDs, with a node."""
    with ControlPlane(ControlPlaneConfig()) as plane:
        put(plane, "/api/v1/namespaces", {"metadata": {"name": SPACE}})
        ready_nodes(plane, "n0")
        yield plane


@pytest.fixture
def poor(bare: ControlPlane) -> Iterator[Ground]:
    """A plane there, which looks for kinds often."""
    with ground_on(bare, KubeOptions(absent_every=0.3, longest_wait=0.5)) as ground:
        yield ground


def test_without_the_crds_of_stretto_pods_are_still_placed(poor: Ground) -> None:
    poor.pods("plain")
    poor.go(lambda: "plain" in poor.bound())
    poor.go(lambda: "queues.scheduling.stretto.dev" in poor.far.absent())
    poor.laws_hold()


def older(kind: Kind) -> bytes:
    """A definition as an early version might have had it: no status, and anything goes."""
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": kind.version, "served": True, "storage": True}
    names = {"plural": kind.plural, "kind": kind.kind, "listKind": f"{kind.kind}List"}
    spec = {
        "group": kind.group,
        "scope": "Namespaced" if kind.namespaced else "Cluster",
        "names": names | {"singular": kind.kind.lower()},
        "versions": [version | {"schema": {"openAPIV3Schema": anything}}],
    }
    named = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}
    return json.dumps(
        {**named, "metadata": {"name": f"{kind.plural}.{kind.group}"}, "spec": spec}
    ).encode()


def test_older_crds_and_malformed_objects_block_no_other_object(poor: Ground) -> None:
    for kind in (QUEUE, POD_GROUP):
        assert poor.site.send("POST", DEFINITIONS, older(kind)).status == 201
    until_served(poor.site)
    queues = f"/apis/{QUEUE.api_version}/queues"
    put(poor.site, queues, body(QUEUE, "bad", {"weight": "heavy", "limit": [1]}))
    put(poor.site, queues, body(QUEUE, "good", {"weight": 2}))
    put(poor.site, GROUPS, body(POD_GROUP, "bad", {"minMember": "three"}))
    put(poor.site, GROUPS, body(POD_GROUP, "good", {"minMember": 2}))
    waits = member("of-the-bad", "bad")
    mine = pod("mine", "1")
    mine["metadata"]["annotations"] = {"stretto.dev/queue": "good"}
    put(poor.site, PODS, waits, mine, member("a", "good"), member("b", "good"))
    poor.go(lambda: {"mine", "a", "b"} <= set(poor.bound()))
    poor.go_for(0.5)
    assert "of-the-bad" not in poor.bound()
    noted = " ".join(poor.plane.cluster.abnormal)
    assert "queue bad" in noted
    poor.laws_hold()


def until_served(site: ControlPlane) -> None:
    paths = (f"/apis/{QUEUE.api_version}/queues", GROUPS)
    until(lambda: all(site.send("GET", path).status == 200 for path in paths), lambda: paths)


def body(kind: Kind, name: str, spec: dict[str, object]) -> bytes:
    whole = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": name}}
    return json.dumps({**whole, "spec": spec}).encode()
