"""The daemon when things go wrong: two of them, killed ones, and a server that comes and goes."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from stretto.api.kinds import POD
from stretto.base.rng import Rng
from stretto.lab.kube.control_plane import ControlPlane
from stretto.stores.kube.access import KubeconfigAccess
from stretto.stores.kube.store import KubeStore
from stretto.stores.store import EventType, Watch
from tests.kube.daemon import SPACE, Daemon, bound, node, pod, put, until

pytestmark = [pytest.mark.kube, pytest.mark.timeout(240)]

PODS = f"/api/v1/namespaces/{SPACE}/pods"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"


@pytest.fixture
def site(plane: ControlPlane) -> Iterator[ControlPlane]:
    """The shared control plane with four nodes and no lease."""
    plane.ask("DELETE", f"{LEASES}/stretto-scheduler")
    for number in range(4):  # a new node is tainted until a controller sees that it is ready
        put(plane, "/api/v1/nodes", node(f"n{number}", "64"))
        plane.ask("PATCH", f"/api/v1/nodes/n{number}", b'{"spec": {"taints": null}}')
    yield plane
    plane["etcd"].resume()
    plane.wait_ready()


@pytest.fixture
def daemons(site: ControlPlane, tmp_path: Path) -> Iterator[list[Daemon]]:
    """Two daemons; neither runs yet, both are stopped in the end."""
    both = [Daemon(site.kubeconfig, tmp_path / f"log{number}") for number in range(2)]
    yield both
    for each in both:
        each.part.stop()


def burst(plane: ControlPlane, name: str, count: int) -> None:
    """Pods that fit."""
    put(plane, PODS, *(pod(f"{name}-{number}", "10m") for number in range(count)))


def all_bound(plane: ControlPlane, count: int) -> bool:
    return len(bound(plane)) == count


def holder(plane: ControlPlane) -> str:
    said = plane.ask("GET", f"{LEASES}/stretto-scheduler")
    return str(json.loads(said.body)["spec"]["holderIdentity"]) if said.status == 200 else ""


def test_of_two_one_schedules_and_the_other_is_ready_to(
    site: ControlPlane, daemons: list[Daemon]
) -> None:
    first, second = daemons
    first.part.start()
    first.ready()
    second.part.start()
    until(lambda: "standing by" in second.page("/readyz")[1], 60, second.part.said)
    burst(site, "a", 20)
    until(lambda: all_bound(site, 20), 30, first.part.said)
    assert 'result="scheduled"' not in second.page("/metrics")[1]


def test_a_leader_that_stops_in_good_order_is_followed_at_once(
    site: ControlPlane, daemons: list[Daemon]
) -> None:
    first, second = daemons
    first.part.start()
    first.ready()
    second.part.start()
    until(lambda: "standing by" in second.page("/readyz")[1], 60, second.part.said)
    first.part.stop()
    assert '"stopped"' in first.part.said()
    second.ready()
    burst(site, "a", 5)
    until(lambda: all_bound(site, 5), 30, second.part.said)


def test_a_killed_leader_is_followed_within_its_lease_and_no_pod_is_bound_twice(
    site: ControlPlane, daemons: list[Daemon]
) -> None:
    store = KubeStore(KubeconfigAccess(site.kubeconfig), Rng(8))
    watch = store.watch(POD, store.list(POD).version)
    first, second = daemons
    first.part.start()
    first.ready()
    second.part.start()
    until(lambda: "standing by" in second.page("/readyz")[1], 60, second.part.said)
    burst(site, "a", 100)
    first.part.kill()
    burst(site, "b", 100)
    until(lambda: all_bound(site, 200), 60, second.part.said)
    assert "leader" in second.part.log.read_text()
    assert most_nodes_of_a_pod(watch) == 1
    store.close()


def test_a_burst_while_the_server_restarts_loses_nothing(
    site: ControlPlane, daemons: list[Daemon]
) -> None:
    daemon = daemons[0]
    daemon.part.start()
    daemon.ready()
    burst(site, "a", 100)
    site["kube-apiserver"].kill()
    site.restart("kube-apiserver")
    burst(site, "b", 100)
    until(lambda: all_bound(site, 200), 90, daemon.part.said)
    assert daemon.part.is_running


def test_a_daemon_that_was_asleep_past_its_lease_stands_back(
    site: ControlPlane, daemons: list[Daemon]
) -> None:
    first, second = daemons
    first.part.start()
    first.ready()
    second.part.start()
    until(lambda: "standing by" in second.page("/readyz")[1], 60, second.part.said)
    first.part.pause()
    second.ready()
    first.part.resume()
    until(lambda: "standing by" in first.page("/readyz")[1], 30, first.part.said)
    burst(site, "a", 20)
    until(lambda: all_bound(site, 20), 30, second.part.said)


def test_killed_at_any_moment_it_goes_on_where_it_was(
    site: ControlPlane, daemons: list[Daemon]
) -> None:
    daemon = Daemon(site.kubeconfig, daemons[0].part.log, "--no-leader-elect")
    store = KubeStore(KubeconfigAccess(site.kubeconfig), Rng(9))
    watch = store.watch(POD, store.list(POD).version)
    rng = Rng(11)
    for number in range(4):
        daemon.part.start()
        burst(site, f"r{number}", 40)
        until(lambda number=number: len(bound(site)) > 40 * number, 60, daemon.part.said)
        store.wait(rng.random() / 10)
        daemon.part.kill()
    daemon.part.start()
    until(lambda: all_bound(site, 160), 60, daemon.part.said)
    daemon.part.stop()
    assert most_nodes_of_a_pod(watch) == 1
    store.close()


def most_nodes_of_a_pod(watch: Watch) -> int:
    """The most nodes that any pod was ever seen on."""
    nodes: dict[str, set[str]] = {}
    while events := watch.poll():
        for event in events:
            if event.type is not EventType.DELETED and event.record.node:
                nodes.setdefault(event.record.uid, set()).add(event.record.node)
    return max(len(each) for each in nodes.values())
