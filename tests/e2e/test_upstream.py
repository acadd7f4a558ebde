"""The scheduling tests of Kubernetes' own end-to-end suite; kube-scheduler is the control."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from stretto_lab.control_plane.cluster import ControlPlane, ControlPlaneConfig
from stretto_lab.control_plane.parts import ServerProcess
from stretto_lab.control_plane.tools import build
from stretto_lab.control_plane.upstream import SUITE, WITHIN, SuiteOutcome, run_suite
from tests.e2e.daemon import put

pytestmark = [pytest.mark.kube, pytest.mark.slow, pytest.mark.timeout(WITHIN + 600)]

CONTROL = "kube-scheduler"
NODES = 3
AMOUNTS = {"cpu": "8", "memory": "32Gi", "pods": "110", "ephemeral-storage": "100Gi"}


@pytest.fixture(scope="module")
def control(tmp_path_factory: pytest.TempPathFactory) -> SuiteOutcome:
    """Results of kube-scheduler in the same environment."""
    build((SUITE,))
    with cluster(CONTROL) as plane:
        return run_suite(plane.kubeconfig, tmp_path_factory.mktemp("control"))


def test_kube_scheduler_passes_most_of_the_suite(control: SuiteOutcome) -> None:
    assert len(control.passed) >= 26, control.failed


@pytest.mark.parametrize("profile", ["default", "kube-parity"])
def test_every_test_that_kube_scheduler_passes_passes(
    control: SuiteOutcome, profile: str, tmp_path: Path
) -> None:
    with cluster() as plane, scheduler(plane, profile, tmp_path):
        ours = run_suite(plane.kubeconfig, tmp_path)
    failed = {name: ours.failed.get(name, "did not run") for name in control.passed - ours.passed}
    assert failed == {}


@contextmanager
def cluster(*schedulers: str) -> Iterator[ControlPlane]:
    """A control plane with controllers, simulated kubelets and nodes as kubelets register them."""
    parts = ("kube-controller-manager", "kwok", *schedulers)
    with ControlPlane(ControlPlaneConfig(parts=parts)) as plane:
        plane.install()
        put(plane, "/api/v1/nodes", *(machine(number) for number in range(NODES)))
        proxies = (system_pod(number) for number in range(NODES))
        put(plane, "/api/v1/namespaces/kube-system/pods", *proxies)
        yield plane


def machine(number: int) -> bytes:
    labels = {
        "kubernetes.io/hostname": f"node-{number}",
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        "topology.kubernetes.io/zone": f"zone-{number % 2}",
    }
    status = {"capacity": AMOUNTS, "allocatable": AMOUNTS}
    head = {"name": f"node-{number}", "labels": labels}
    return json.dumps({"metadata": head, "status": status}).encode()


def system_pod(number: int) -> dict[str, Any]:
    """A pod with the names of three system pods; the suite waits a minute for missing ones."""
    name = f"kube-proxy-fluentd-elasticsearch-node-problem-detector-{number}"
    spec = {"nodeName": f"node-{number}", "containers": [{"name": "main", "image": "x"}]}
    return {"metadata": {"name": name}, "spec": {**spec, "tolerations": [{"operator": "Exists"}]}}


@contextmanager
def scheduler(plane: ControlPlane, profile: str, folder: Path) -> Iterator[ServerProcess]:
    """Stretto as the default scheduler of the cluster."""
    command = [sys.executable, "-m", "stretto.cli.main", "scheduler", "--no-leader-elect"]
    command += ["--kubeconfig", str(plane.kubeconfig), "--scheduler-name", "default-scheduler"]
    command += ["--bind-address", "", "--profile", profile]
    part = ServerProcess("stretto scheduler", command, folder / "stretto.log")
    part.start()
    try:
        yield part
    finally:
        part.stop()
