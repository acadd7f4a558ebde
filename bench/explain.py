"""Measure explanations of pending pods and gangs in a large cluster.

    python bench/explain.py [--nodes N] [--pods N] [--rounds N] [--json OUT]

The cluster is loaded: the figures are those of the explanation alone, which schedules nothing. Each
is the median of several rounds in CPU time; wall time and the load of the machine are reported too.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import time
from pathlib import Path
from typing import Any, Final

from stretto.explain.why.answers import Explanation
from stretto.explain.why.sources.live import live_scene
from stretto.explain.why.why import explain_pod
from stretto.framework.profile.profile import load_profile
from stretto.testing import Harness, make_node, make_pod

HERE = Path(__file__).parent
HOST, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
PROTECTED: Final = {"godel.bytedance.com/can-be-preempted": "false"}
GANG: Final = 64
"""Members of each gang."""


def apart(kind: str) -> dict[str, Any]:
    """Rules between pods of an application."""
    selector = {"matchLabels": {"app": "w"}}
    if kind == "spread":
        more = {"whenUnsatisfiable": "DoNotSchedule", "labelSelector": selector}
        return {"topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": ZONE, **more}]}
    term = {"topologyKey": HOST, "labelSelector": selector}
    return {
        "affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    }


PODS: Final[dict[str, dict[str, Any]]] = {
    "a pod": {"cpu": "20"},
    "a pod whose victims are protected": {"cpu": "20", "priority": 10},
    "a pod with anti-affinity": {"cpu": "20", "spec": apart("anti-affinity")},
    "a pod that spreads": {"cpu": "20", "spec": apart("spread")},
}
"""The pending pods, by name of the figure."""
GANGS: Final[dict[str, dict[str, Any]]] = {
    "a gang": {"cpu": "20"},
    "a gang with anti-affinity": {"cpu": "20", "spec": apart("anti-affinity")},
}
"""The pods of the pending gangs, by name of the figure."""


class FullCluster:
    """Nodes of 32 cores, 20 of which are in use, and pending pods of 20 cores."""

    def __init__(self, nodes: int, pods: int) -> None:
        """Create nodes with some running pods each, and the pending ones."""
        made = [
            make_node(f"n{i}", cpu="32", memory="128Gi", zone=f"z{i % 50}") for i in range(nodes)
        ]
        self.harness = Harness(made, profile=load_profile("default"), config={"tier": "numpy"})
        cpu = f"{20_000 // pods}m"
        running = (
            make_pod(
                f"p{i}-{k}",
                cpu=cpu,
                memory="4Gi",
                labels={"app": f"a{k}"},
                node=f"n{i}",
                priority=0 if k < pods // 2 else 10,
                annotations=PROTECTED if k < pods // 2 else {},
            )
            for i in range(nodes)
            for k in range(pods)
        )
        self.harness.submit(*running)
        self.harness.settle()
        self.names: dict[str, str] = {}
        for number, (what, form) in enumerate(PODS.items()):
            self.names[what] = f"pending{number}"
            labels = {"app": "w" if "spec" in form else "plain"}
            self.harness.submit(make_pod(f"pending{number}", labels=labels, **form))
        for number, (what, form) in enumerate(GANGS.items()):
            self.names[what] = f"gang{number}-0"
            self.harness.group(f"gang{number}", GANG)
            labels = {"app": "w" if "spec" in form else "plain"}
            members = (
                make_pod(f"gang{number}-{i}", group=f"gang{number}", labels=labels, **form)
                for i in range(GANG)
            )
            self.harness.submit(*members)
        self.harness.settle()

    def explain(self, what: str) -> Explanation:
        """Explain one of the pending pods."""
        plane = self.harness.plane
        views = plane.dispatcher.views
        scene = live_scene(plane.cluster, plane.config.profile, plane.units, views)
        return explain_pod(scene, self.names[what])


def timed(cluster: FullCluster, what: str, rounds: int) -> dict[str, Any]:
    """Median milliseconds of CPU and wall time of one explanation, and what it says."""
    cpu, wall = [], []
    for _ in range(rounds):
        before = time.process_time(), time.perf_counter()
        said = cluster.explain(what)
        cpu.append(1000 * (time.process_time() - before[0]))
        wall.append(1000 * (time.perf_counter() - before[1]))
    return {
        "cpu_ms": statistics.median(cpu),
        "wall_ms": statistics.median(wall),
        "says": said.dominant.sentence if said.dominant is not None else "",
        "cures": [each.kind.value for each in said.cures],
    }


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--nodes", type=int, default=20_000)
    options.add_argument("--pods", type=int, default=5, help="running pods of each node")
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--json", type=Path)
    given = options.parse_args()
    load = os.getloadavg()[0]
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"],
        cwd=HERE,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    machine = {"cores": os.cpu_count(), "python": platform.python_version(), "load_before": load}
    cluster = FullCluster(given.nodes, given.pods)
    found: dict[str, Any] = {"commit": commit, "machine": machine, "nodes": given.nodes}
    found["running_pods"], found["gang"] = given.nodes * given.pods, GANG
    for what in cluster.names:
        found[what] = timed(cluster, what, given.rounds)
        print(f"{what}: {found[what]['cpu_ms']:.0f} ms of CPU. {found[what]['says']}")
    if given.json:
        given.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
