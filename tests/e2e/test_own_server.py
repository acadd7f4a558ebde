"""Programs of Kubernetes, unmodified, over our API server: a Deployment runs and rolls."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from stretto.api.schema.hashes.digest import revision_hash, template_hash
from stretto_lab.control_plane.parts import ServerProcess, free_ports
from stretto_lab.control_plane.stages import stages
from stretto_lab.control_plane.tools import path_of
from tests.e2e.daemon import until

pytestmark = pytest.mark.kube
REPLICAS = 100
FAST = ["--kube-api-qps=500", "--kube-api-burst=1000", "--leader-elect=true"]


class Site:
    """Our server, kube-controller-manager, kube-scheduler and kwok."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.kubeconfig = folder / "kubeconfig"
        keys = folder / "keys"
        (folder / "stages.yaml").write_bytes(stages())
        ports = free_ports(3)
        words = ["up", "--nodes", "0", "--controllers", "external", "--scheduler", "external"]
        words += ["--keys", str(keys), "--kubeconfig", str(self.kubeconfig)]
        access = [f"--kubeconfig={self.kubeconfig}"]
        reviews = [
            f"--authentication-kubeconfig={self.kubeconfig}",
            f"--authorization-kubeconfig={self.kubeconfig}",
        ]
        self.parts = {
            "stretto": [sys.executable, "-m", "stretto.cli.main", *words],
            "kube-controller-manager": [
                *access,
                *reviews,
                *FAST,
                f"--secure-port={ports[0]}",
                f"--service-account-private-key-file={keys / 'accounts.key'}",
                f"--root-ca-file={keys / 'ca.crt'}",
            ],
            "kube-scheduler": [*access, *reviews, *FAST, f"--secure-port={ports[1]}"],
            "kwok": [
                *access,
                f"--config={folder / 'stages.yaml'}",
                "--manage-all-nodes=true",
                "--node-lease-duration-seconds=40",
                f"--server-address=127.0.0.1:{ports[2]}",
            ],
        }

    def start(self, name: str, stack: ExitStack) -> None:
        """Start a program; the stack stops it."""
        command = self.parts[name]
        if name != "stretto":
            command = [str(path_of(name)), *command]
        part = ServerProcess(name, command, self.folder / f"{name}.log")
        part.start()
        stack.callback(part.stop)

    def kubectl(self, *words: str, body: Any = None) -> str:
        """The output of a command; empty if it fails."""
        environment = {**os.environ, "KUBECONFIG": str(self.kubeconfig), "HOME": str(self.folder)}
        command = [str(path_of("kubectl")), *words]
        given = None if body is None else json.dumps(body)
        done = subprocess.run(
            command, env=environment, input=given, capture_output=True, text=True, check=False
        )
        return done.stdout if done.returncode == 0 else ""

    def reaches(self, condition: Callable[[], bool]) -> None:
        """Wait for a condition; the logs explain a failure."""
        until(condition, lambda: self.kubectl("get", "deploy,rs,nodes,events"))

    def images(self) -> list[str]:
        """Images of the pods that run."""
        found = json.loads(self.kubectl("get", "pods", "-o", "json") or '{"items": []}')
        return [
            each["spec"]["containers"][0]["image"]
            for each in found["items"]
            if each.get("status", {}).get("phase") == "Running"
            and "deletionTimestamp" not in each["metadata"]
        ]


def node(number: int) -> dict[str, Any]:
    """A node of kwok."""
    size = {"cpu": "32", "memory": "256Gi", "pods": "110"}
    status = {"allocatable": size, "capacity": size}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": f"n{number}"},
        "status": status,
    }


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    site = Site(tmp_path_factory.mktemp("own"))
    with ExitStack() as stack:
        site.start("stretto", stack)
        site.reaches(
            lambda: site.kubeconfig.exists() and site.kubectl("get", "--raw=/readyz") != ""
        )
        for name in ("kube-controller-manager", "kube-scheduler", "kwok"):
            site.start(name, stack)
        nodes = {"apiVersion": "v1", "kind": "List", "items": [node(each) for each in range(10)]}
        assert site.kubectl("create", "-f", "-", body=nodes)
        yield site


def test_a_deployment_runs_rolls_and_goes(site: Site) -> None:
    site.reaches(lambda: "default" in site.kubectl("get", "serviceaccounts"))
    site.kubectl("create", "deployment", "web", "--image=a:1", f"--replicas={REPLICAS}")
    site.reaches(lambda: site.images() == ["a:1"] * REPLICAS)
    site.kubectl("set", "image", "deployment/web", "a=a:2")
    site.reaches(lambda: site.images() == ["a:2"] * REPLICAS)
    assert "successfully" in site.kubectl("rollout", "status", "deployment/web", "--timeout=60s")
    site.kubectl("delete", "deployment", "web")
    site.reaches(lambda: "pod/" not in site.kubectl("get", "pods", "-o", "name"))


def workload(kind: str) -> dict[str, Any]:
    """A workload with amounts, a probe and a volume."""
    labels = {"app": kind.lower()}
    container = {
        "name": "c",
        "image": "a:1",
        "resources": {"limits": {"cpu": "0.5", "memory": "8Gi"}, "requests": {"memory": "1024Mi"}},
        "readinessProbe": {"httpGet": {"port": "http"}},
        "env": [{"name": "TEXT", "value": "<&>"}],
    }
    spec = {"containers": [container], "volumes": [{"name": "v", "emptyDir": {}}]}
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": kind.lower()},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": spec},
        },
    }


def hashes(site: Site, plural: str) -> set[str]:
    """The ends of the names of some objects."""
    found = json.loads(site.kubectl("get", plural, "-o", "json") or '{"items": []}')["items"]
    return {each["metadata"]["name"].rpartition("-")[2] for each in found}


def test_hashes_equal_those_of_kube_controller_manager(site: Site) -> None:
    kinds = ("Deployment", "DaemonSet", "StatefulSet")
    bodies = {"apiVersion": "v1", "kind": "List", "items": [workload(each) for each in kinds]}
    site.kubectl("create", "-f", "-", body=bodies)
    site.reaches(lambda: len(hashes(site, "rs") | hashes(site, "controllerrevisions")) == 3)
    made = json.loads(site.kubectl("get", "deploy,ds,sts", "-o", "json"))["items"]
    templates = {each["kind"]: each["spec"]["template"] for each in made}
    data = {"spec": {"template": {**templates.pop("StatefulSet"), "$patch": "replace"}}}
    ours = {template_hash(each) for each in templates.values()} | {revision_hash(data)}
    assert ours == hashes(site, "rs") | hashes(site, "controllerrevisions")


def test_nodes_have_leases_and_components_their_own(site: Site) -> None:
    site.reaches(lambda: site.kubectl("get", "leases", "-A", "-o", "name").count("lease") == 12)


def test_the_server_logs_no_failure(site: Site) -> None:
    assert "Traceback" not in (site.folder / "stretto.log").read_text()
