"""A daemon's life cycle: changed profiles, permissions to read what it serves, shutdown."""

import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from stretto_lab.control_plane.cluster import ControlPlane
from stretto_lab.control_plane.faulty_wire import FaultyWire
from tests.e2e.daemon import (
    LEASES,
    PODS,
    SPACE,
    Daemon,
    bound,
    item,
    kubectl,
    pod,
    put,
    rights_settle,
    until,
)

pytestmark = pytest.mark.kube

LEASE = f"{LEASES}/stretto-scheduler"
FORM = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
  - schedulerName: %s
"""


@pytest.fixture
def profile(tmp_path: Path) -> Path:
    path = tmp_path / "profile.yaml"
    path.write_text(FORM % "stretto")
    return path


@pytest.fixture
def ruled(site: ControlPlane, profile: Path, tmp_path: Path) -> Iterator[Daemon]:
    """A daemon by a profile that is a file."""
    words = ("--profile", str(profile), "--no-leader-elect")
    with Daemon(site.kubeconfig, tmp_path / "log", *words) as daemon:
        yield daemon.ready()


def test_a_profile_that_changes_is_taken_up_without_a_restart(
    site: ControlPlane, ruled: Daemon, profile: Path
) -> None:
    pid = ruled.part.pid
    put(site, PODS, pod("before"), pod("other", schedulerName="batch"))
    until(lambda: "before" in bound(site), ruled.part.log_tail)
    profile.write_text(FORM % "batch")
    until(lambda: "other" in bound(site), ruled.part.log_tail)
    put(site, PODS, pod("nobodys"), pod("after", schedulerName="batch"))
    until(lambda: "after" in bound(site), ruled.part.log_tail)
    assert set(bound(site)) == {"before", "other", "after"}
    assert ruled.part.pid == pid


def test_a_bad_profile_keeps_the_old_one_and_is_reported(
    site: ControlPlane, ruled: Daemon, profile: Path
) -> None:
    profile.write_text(FORM % "stretto" + "    plugins: {filter: {enabled: [{name: NodeFot}]}}\n")
    assert ruled.part.pid is not None
    subprocess.run(["kill", "-HUP", str(ruled.part.pid)], check=True)
    until(lambda: "stretto_profile_is_good 0.0" in ruled.page("/metrics")[1], ruled.part.log_tail)
    until(lambda: "the former profile stays in use" in ruled.part.log_tail(), ruled.part.log_tail)
    assert "NodeFot" in ruled.part.log_tail()
    put(site, PODS, pod("web"))
    until(lambda: "web" in bound(site), ruled.part.log_tail)


def test_a_node_s_name_that_a_predecessor_has_left_on_a_pod_is_taken_off(
    site: ControlPlane, tmp_path: Path
) -> None:
    put(site, PODS, pod("ours", cpu="1000"), pod("other", cpu="1000", schedulerName="batch"))
    for name in ("ours", "other"):
        change = b'{"status": {"nominatedNodeName": "gone"}}'
        assert site.send("PATCH", f"{PODS}/{name}/status", change).status == 200
    with Daemon(site.kubeconfig, tmp_path / "log", "--no-leader-elect") as daemon:
        until(
            lambda: "nominatedNodeName" not in item(site, f"{PODS}/ours")["status"],
            daemon.part.log_tail,
        )
    assert item(site, f"{PODS}/other")["status"]["nominatedNodeName"] == "gone"


def test_beyond_loopback_it_does_not_start_without_a_certificate(
    site: ControlPlane, tmp_path: Path
) -> None:
    daemon = Daemon(site.kubeconfig, tmp_path / "log", "--bind-address", "0.0.0.0:0")
    with daemon:
        until(lambda: not daemon.part.is_running, daemon.part.log_tail)
    assert "--tls-cert-file" in daemon.part.log_tail()


@pytest.fixture
def secure(site: ControlPlane, tmp_path: Path) -> Iterator[Daemon]:
    """A daemon that serves over TLS, and two accounts; one may read metrics."""
    pair = site.credentials.server
    words = ("--tls-cert-file", str(pair.cert), "--tls-private-key-file", str(pair.key))
    for name in ("low", "right"):
        kubectl(site, "-n", SPACE, "create", "serviceaccount", name)
    named = ("metrics-reader", "--verb=get", "--non-resource-url=/metrics")
    kubectl(site, "create", "clusterrole", *named)
    bind = ("create", "clusterrolebinding", "metrics-reader", "--clusterrole=metrics-reader")
    kubectl(site, *bind, f"--serviceaccount={SPACE}:right")
    rights_settle(site)
    daemon = Daemon(site.kubeconfig, tmp_path / "log", "--no-leader-elect", *words)
    with daemon:
        yield daemon.ready()
    kubectl(site, "delete", "clusterrolebinding/metrics-reader", "clusterrole/metrics-reader")
    kubectl(site, "-n", SPACE, "delete", "serviceaccount/low", "serviceaccount/right")


def test_every_route_is_authorized_by_the_server(site: ControlPlane, secure: Daemon) -> None:
    tokens = {"none": "", "bad": "forged"}
    for name in ("low", "right"):
        tokens[name] = kubectl(site, "-n", SPACE, "create", "token", name).strip()
    routes = ("/livez", "/healthz", "/readyz", "/metrics", "/debug/pprof")
    said = {
        who: tuple(secure.page(route, token)[0] for route in routes)
        for who, token in tokens.items()
    }
    assert said == {
        "none": (200, 200, 200, 401, 404),
        "bad": (200, 200, 200, 401, 404),
        "low": (200, 200, 200, 403, 404),
        "right": (200, 200, 200, 200, 404),
    }


def test_on_a_stop_it_awaits_its_binds_and_releases_the_lease(
    site: ControlPlane, wire: FaultyWire, tmp_path: Path
) -> None:
    daemon = Daemon(site.kubeconfig_of("admin", wire.server), tmp_path / "log")
    with daemon:
        daemon.ready()
        wire.latency = 0.2
        put(site, PODS, *(pod(f"p{number}", "10m") for number in range(60)))
        until(lambda: len(bound(site)) > 0, daemon.part.log_tail)
        assert daemon.part.pid is not None
        subprocess.run(["kill", f"-{int(signal.SIGTERM)}", str(daemon.part.pid)], check=True)
        until(lambda: not daemon.part.is_running, daemon.part.log_tail)
    assert '"stopped"' in daemon.part.log_tail()
    assert "holderIdentity" not in item(site, LEASE)["spec"]  # API servers refuse an empty one
    landed = bound(site)
    site.restart("kube-apiserver")  # open requests are lost with their connections
    assert bound(site) == landed
