"""Measure reports, headroom, ratios and moves from hot nodes on a large cluster.

    python bench/capacity.py [--nodes N] [--rounds N] [--json OUT]

The pods are in the state and not in the store, as after a start. Each figure is the median of
several rounds in CPU time; wall time and the load of the machine are reported too. Throughput under
load rules is measured by ``stretto bench engine --profile``.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from stretto.api.types.cnr import CustomNodeResource
from stretto.base.clock import timestamp
from stretto.capacity.reclaim.batch import BatchStrategy, NodeSupply, batch
from stretto.capacity.reclaim.held import PodTable, held
from stretto.control.controllers.hot_nodes.loads import loads_of_pools
from stretto.control.controllers.hot_nodes.planner import HotNodes
from stretto.control.controllers.movable import MoveLimits
from stretto.framework.profile.capacity.hot_nodes import AnomalyRule, HotNodeRules, LoadPool
from stretto.framework.profile.capacity.overcommit import POOL_LABEL
from stretto.framework.profile.profile import load_profile
from stretto.testing import Harness, make_node, make_pod

HERE = Path(__file__).parent
PER_MINUTE = 60.0
PODS_PER_NODE = 50
OWNED = 4
PROFILE = {"stretto": {"overcommit": {"pools": {"online": {"caps": {"cpu": 3}}}}}}


def timed(work: Callable[[], object], rounds: int) -> dict[str, float]:
    """Median milliseconds of CPU and wall time."""
    cpu, wall = [], []
    for _ in range(rounds):
        before = time.process_time(), time.perf_counter()
        work()
        cpu.append(1000 * (time.process_time() - before[0]))
        wall.append(1000 * (time.perf_counter() - before[1]))
    return {"cpu_ms": statistics.median(cpu), "wall_ms": statistics.median(wall)}


def report(number: int, at: float, cores: float) -> bytes:
    """The report of a node with 50 measured pods."""
    pods = [f"default/p{number}-{i}" for i in range(PODS_PER_NODE)]
    metric = {
        "updateTime": timestamp(at),
        "nodeMetric": {"genericUsage": {"cpu": f"{cores:.2f}", "memory": "64Gi"}},
        "groupMetric": [{"QoSLevel": "shared_cores", "podList": pods}],
    }
    return msgspec.json.encode(
        {
            "metadata": {"name": f"n{number}"},
            "status": {"nodeMetricStatus": metric},
        }
    )


class ReportedCluster:
    """A cluster whose nodes report."""

    def __init__(self, nodes: int) -> None:
        """Create nodes with some owned pods each, and their first reports."""
        labels = {POOL_LABEL: "online"}
        made = [make_node(f"n{i}", cpu="32", memory="128Gi", labels=labels) for i in range(nodes)]
        profile = load_profile({"profiles": [PROFILE]})
        self.harness = Harness(made, profile=profile, config={"tier": "numpy"})
        placed = (
            make_pod(f"p{i}-{k}", cpu="2", memory="4Gi", spec={"nodeName": f"n{i}"})
            for i in range(nodes)
            for k in range(OWNED)
        )
        self.harness.submit(*placed)
        self.harness.settle()
        self.cluster = self.harness.plane.cluster
        self.rng = np.random.default_rng(7)
        self.at = 1_000_000.0
        self.hot = 0
        self.decoder = msgspec.json.Decoder(CustomNodeResource)
        self.reports(nodes)

    def reports(self, count: int) -> None:
        """Apply one report of each of the first nodes, from JSON, and choose their ratios."""
        self.at += PER_MINUTE
        busy = self.rng.uniform(2, 30, count)
        for number in range(count):
            body = report(number, self.at, float(busy[number]))
            self.cluster.node_updates.put_report(self.decoder.decode(body))
        self.harness.plane.controllers.ratios.step(self.harness.clock.monotonic())

    def encode(self, count: int) -> None:
        """Make the same reports without applying them, to subtract what the bench itself costs."""
        for number in range(count):
            report(number, self.at, 5.0)

    def hot_moves(self) -> int:
        """One plan of moves from hot nodes."""
        pool = LoadPool(low={"cpu": 45.0}, high={"cpu": 65.0}, anomaly=AnomalyRule(1))
        rules = HotNodeRules(60, (pool,), moves=1000)
        plane, cluster = self.harness.plane, self.cluster
        limits = MoveLimits(
            1000,
            plane.budgets,
            plane.units,
            lambda _: False,
            lambda row: f"ReplicaSet/default/{row}",
        )
        self.hot = sum(int(each.is_hot.sum()) for each in loads_of_pools(cluster, rules))
        planner = HotNodes(cluster, rules, lambda: limits, plane.engine.is_eligible)
        return len(planner.plan(1e9))


def headroom(nodes: int) -> Callable[[], object]:
    """Batch headroom of all nodes from columns of all pods."""
    rng = np.random.default_rng(7)
    count = nodes * PODS_PER_NODE
    requested = rng.integers(100, 1000, (count, 2))
    table = PodTable(
        rng.integers(0, nodes, count),
        requested,
        requested // 2,
        rng.random(count) < 0.95,
        rng.random(count) < 0.05,
    )
    capacity = np.full((nodes, 2), 64_000, np.int64)
    supply = NodeSupply(capacity, capacity // 20, capacity // 20)
    return lambda: batch(supply, held(table, nodes), BatchStrategy())


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", default="-")
    options = parser.parse_args()
    load, nodes = os.getloadavg()[0], options.nodes
    cluster = ReportedCluster(nodes)
    per_second = nodes // int(PER_MINUTE)
    own = timed(lambda: cluster.encode(per_second), options.rounds)
    reports = timed(lambda: cluster.reports(per_second), options.rounds)
    moves: list[int] = []
    cluster.reports(nodes)
    git = ["git", "-C", str(HERE), "describe", "--always", "--dirty"]
    found: dict[str, Any] = {
        "commit": subprocess.run(git, capture_output=True, text=True, check=True).stdout.strip(),
        "machine": {
            "cores": os.cpu_count(),
            "python": platform.python_version(),
            "load_before": load,
        },
        "nodes": nodes,
        "reports": {
            **reports,
            "per_second": per_second,
            "core_percent": (reports["cpu_ms"] - own["cpu_ms"]) / 10,
        },
        "all_ratios": timed(lambda: cluster.harness.plane.controllers.ratios.step(float("inf")), 1),
        "headroom": timed(headroom(nodes), options.rounds) | {"pods": nodes * PODS_PER_NODE},
        "hot_nodes": timed(lambda: moves.append(cluster.hot_moves()), options.rounds),
    }
    found["hot_nodes"]["moves"] = moves[-1]
    found["hot_nodes"]["hot"] = cluster.hot
    text = json.dumps(found, indent=2)
    if options.json == "-":
        print(text)
    else:
        Path(options.json).write_text(text + "\n")


if __name__ == "__main__":
    main()
