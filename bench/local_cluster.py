"""Memory and time of a whole ``stretto up`` that starts many pods of Deployments.

    python bench/local_cluster.py [--nodes N] [--pods N] [--deployments N]

Server, controllers, scheduler, simulated nodes and dashboard run in one process, as users start
them. kubectl creates the Deployments one after another; the measurement ends when
all of their pods are ready. Recorded are the seconds, the CPU seconds and the peak of the resident
memory of the process and of the processes that it has started. Results go to
``bench/results/local-cluster-COMMIT.json``.
"""

import argparse
import json
import tempfile
import time
from pathlib import Path
from typing import Any

import psutil
from local_server import kubectl, local_server
from record import commit, machine, store

POLL_S = 2.0
"""Seconds between two readings."""


def ready_pods(kubeconfig: Path) -> int:
    """Number of ready pods that the statuses of all Deployments show."""
    found = kubectl(kubeconfig, "get", "deployments", "-o", "json")
    items = json.loads(found.stdout)["items"]
    return sum(each["status"].get("readyReplicas", 0) for each in items)


def use(pid: int) -> tuple[float, int]:
    """CPU seconds and resident bytes of a process and its children."""
    parent = psutil.Process(pid)
    family = [parent, *parent.children(recursive=True)]
    spent = sum(sum(each.cpu_times()[:2]) for each in family)
    return spent, sum(each.memory_info().rss for each in family)


def measure(folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Create the Deployments and wait until all pods are ready."""
    with local_server(folder, "--nodes", str(options.nodes)) as server:
        pid = server.process.pid
        idle_cpu, idle_bytes = use(pid)
        begin, peak = time.perf_counter(), idle_bytes
        for number in range(options.deployments):
            replicas = f"--replicas={options.pods // options.deployments}"
            words = ("create", "deployment", f"d{number}", "--image=nginx", replicas)
            kubectl(server.kubeconfig, *words)
        while (ready := ready_pods(server.kubeconfig)) < options.pods:
            time.sleep(POLL_S)
            peak = max(peak, use(pid)[1])
        elapsed = time.perf_counter() - begin
        spent, held = use(pid)
    return {
        "nodes": options.nodes,
        "pods": ready,
        "deployments": options.deployments,
        "until_ready_s": round(elapsed, 1),
        "cpu_s": round(spent - idle_cpu, 1),
        "resident_empty_mib": idle_bytes >> 20,
        "resident_mib": held >> 20,
        "peak_mib": max(peak, held) >> 20,
    }


def main() -> None:
    """Measure and record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=5000)
    parser.add_argument("--pods", type=int, default=100_000)
    parser.add_argument("--deployments", type=int, default=20)
    options = parser.parse_args()
    record = {"commit": commit(), "machine": machine()}
    with tempfile.TemporaryDirectory() as folder:
        record |= measure(Path(folder), options)
    store("local-cluster", record)


if __name__ == "__main__":
    main()
