"""``kubectl get pods -A`` over ``stretto up`` and over a real API server with etcd.

    python bench/kubectl_lists.py [--pods N] [--rounds N]

Both servers have the same pods, and neither runs controllers or a scheduler. kubectl is the same
program, started again in each round; the rounds of the two servers alternate. Recorded are the
median seconds of each, and the seconds from the start of ``stretto up`` until its ``/readyz``
answers. Results go to ``bench/results/kubectl-lists-COMMIT.json``.
"""

import argparse
import json
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from local_server import kubectl, local_server
from record import commit, machine, store

from stretto.api.wire.kinds import POD
from stretto.base.rng import Rng
from stretto.stores.kube.login.access import KubeconfigAccess
from stretto.stores.kube.store import KubeStore
from stretto_lab.control_plane.cluster import ControlPlane

BATCH = 500
"""Pods that are created together."""
BARE = ("--nodes", "0", "--controllers", "external", "--scheduler", "external")
"""Options of a server without nodes, controllers and scheduler."""


def pod(number: int) -> bytes:
    """A pod as JSON, in one of ten namespaces."""
    metadata = {"name": f"p{number}", "namespace": f"team-{number % 10}"}
    spec = {"containers": [{"name": "web", "image": "nginx"}]}
    return json.dumps({"metadata": metadata, "spec": spec}).encode()


def fill(kubeconfig: Path, pods: int) -> None:
    """Create pods in ten namespaces."""
    objects = KubeStore(KubeconfigAccess(kubeconfig), Rng(0))
    for namespace in range(10):
        made = kubectl(kubeconfig, "create", "namespace", f"team-{namespace}")
        assert made.returncode == 0, made.stderr
    for low in range(0, pods, BATCH):
        numbers = range(low, min(low + BATCH, pods))
        items = [pod(each) for each in numbers]
        refused = [each for each in objects.create(POD, items) if each.outcome.value != "ok"]
        assert not refused, refused[0]


def listed(kubeconfig: Path, pods: int) -> float:
    """Seconds of ``kubectl get pods -A``."""
    start = time.perf_counter()
    done = kubectl(kubeconfig, "get", "pods", "-A")
    spent = time.perf_counter() - start
    assert done.stdout.count(b"\n") == pods + 1, done.stderr
    return spent


def measured(pods: int, rounds: int) -> dict[str, Any]:
    """The seconds of both servers."""
    with (
        tempfile.TemporaryDirectory() as folder,
        local_server(Path(folder), *BARE) as server,
        ControlPlane() as plane,
    ):
        servers = {"stretto_up": server.kubeconfig, "kube_apiserver": plane.kubeconfig}
        for each in servers.values():
            fill(each, pods)
            listed(each, pods)
        times: dict[str, list[float]] = {name: [] for name in servers}
        for _ in range(rounds):
            for name, each in servers.items():
                times[name].append(listed(each, pods))
    medians = {name: round(statistics.median(each), 3) for name, each in times.items()}
    ratio = round(medians["stretto_up"] / medians["kube_apiserver"], 2)
    return {"seconds": medians, "ratio": ratio, "ready_s": round(server.ready_s, 2)}


def main() -> None:
    """Measure and record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pods", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    head = {"commit": commit(), "machine": machine(), "pods": options.pods}
    found = {**head, "rounds": options.rounds, **measured(options.pods, options.rounds)}
    print(json.dumps(found, indent=1))
    store("kubectl-lists", found)


if __name__ == "__main__":
    main()
