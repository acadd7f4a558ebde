"""Two daemons under faults: killed processes, and a server with outages."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from stretto.base.rng import Rng
from stretto.stores.kube.store import KubeStore
from stretto_lab.control_plane.cluster import ControlPlane
from tests.e2e.daemon import PODS, TIMEOUT, Daemon, bound, pod, put, until
from tests.e2e.plane import Places

pytestmark = pytest.mark.kube


@pytest.fixture
def daemons(site: ControlPlane, tmp_path: Path) -> Iterator[list[Daemon]]:
    """Two daemons; neither runs yet, both are stopped in the end."""
    both = [Daemon(site.kubeconfig, tmp_path / f"log{number}") for number in range(2)]
    yield both
    for each in both:
        each.part.stop()


def begun(daemons: list[Daemon]) -> tuple[Daemon, Daemon]:
    """Both replicas: the first leads and the second is the standby."""
    first, second = daemons
    first.part.start()
    first.ready()
    second.part.start()
    until(second.stands_by, second.part.log_tail)
    return first, second


def burst(plane: ControlPlane, name: str, count: int) -> None:
    """Pods that fit."""
    put(plane, PODS, *(pod(f"{name}-{number}", "10m") for number in range(count)))


def all_bound(plane: ControlPlane, count: int) -> bool:
    return len(bound(plane)) == count


def test_of_two_one_schedules_and_the_other_is_ready_to(
    site: ControlPlane, daemons: list[Daemon]
) -> None:
    first, second = begun(daemons)
    burst(site, "a", 20)
    until(lambda: all_bound(site, 20), first.part.log_tail)
    assert 'result="scheduled"' not in second.page("/metrics")[1]


def test_a_leader_that_stops_in_good_order_is_followed_at_once(
    site: ControlPlane, daemons: list[Daemon]
) -> None:
    first, second = begun(daemons)
    first.part.stop(within=TIMEOUT)
    assert '"stopped"' in first.part.log_tail()
    second.ready()
    burst(site, "a", 5)
    until(lambda: all_bound(site, 5), second.part.log_tail)


def test_a_killed_leader_is_followed_within_its_lease_and_no_pod_is_bound_twice(
    site: ControlPlane, daemons: list[Daemon], store: KubeStore
) -> None:
    places = Places(store)
    first, second = begun(daemons)
    burst(site, "a", 100)
    first.part.kill()
    burst(site, "b", 100)
    until(lambda: all_bound(site, 200), second.part.log_tail)
    assert "leader" in second.part.log.read_text()
    assert places.most(site) == 1


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
    until(lambda: all_bound(site, 200), daemon.part.log_tail)
    assert daemon.part.is_running


def test_a_daemon_that_was_asleep_past_its_lease_stands_back(
    site: ControlPlane, daemons: list[Daemon]
) -> None:
    first, second = begun(daemons)
    first.part.pause()
    second.ready()
    first.part.resume()
    until(first.stands_by, first.part.log_tail)
    burst(site, "a", 20)
    until(lambda: all_bound(site, 20), second.part.log_tail)


def test_killed_at_any_moment_it_goes_on_where_it_was(
    site: ControlPlane, daemons: list[Daemon], store: KubeStore
) -> None:
    daemon = Daemon(site.kubeconfig, daemons[0].part.log, "--no-leader-elect")
    places = Places(store)
    rng = Rng(11)
    with daemon:
        for number in range(4):
            daemon.part.start()
            burst(site, f"r{number}", 40)
            until(lambda number=number: len(bound(site)) > 40 * number, daemon.part.log_tail)
            store.wait(rng.random() / 10)
            daemon.part.kill()
        daemon.part.start()
        until(lambda: all_bound(site, 160), daemon.part.log_tail)
    assert places.most(site) == 1
