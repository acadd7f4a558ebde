"""Affinity and topology spread: ``python bench/domains.py [NAME ...] [--json PATH]``.

Prints JSON: pods per second from JSON to the bind in the memory store, in one process, for
inter-pod rules on a large cluster (20,000 nodes, 1,000,000 running pods of the same classes, pods
of 2.8 kB) and for the shapes of scheduler_perf on 5,000 nodes. Each round is reported. Every run is
checked: all pods are bound, no required anti-affinity and no hard spread is violated, and cached
scores equal the scores of the rules.
"""

import argparse
import gc
import json
import platform
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from stretto.api.wire.kinds import NODE, POD
from stretto.base.clock import WallClock
from stretto.base.rng import Rng
from stretto.framework.engine.runtime import Runtime
from stretto.framework.profile.profile import load_profile
from stretto.plane.config import PlaneConfig
from stretto.plane.plane import Plane
from stretto.state.rows.pods import NO_SLOT
from stretto.stores.embedded.memory import MemoryStore
from stretto.stores.store import Deletion, Record, WriteOutcome
from stretto.testing import make_node
from stretto_lab.bench.stopwatch import Stopwatches

HOST, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
SUBMIT = 1024
ZONES = 10
ENVIRONMENT = [{"name": f"SETTING_{n:02}", "value": f"value-of-setting-{n}"} for n in range(38)]


class Case(NamedTuple):
    """One workload."""

    #: Number of nodes.
    nodes: int
    #: Running pods.
    running: int
    #: Pods placed per round.
    pods: int
    #: Number of classes, each with its own ``app`` label.
    classes: int
    #: Function from an app to the rules of its pods.
    rules: Callable[[str], dict[str, Any]]
    #: Goal and floor in pods per second; 0 for none.
    goal: tuple[int, int] = (0, 0)


def matching(app: str) -> dict[str, Any]:
    """Label selector of the pods of an app."""
    return {"matchLabels": {"app": app}}


def term(key: str, app: str) -> dict[str, Any]:
    """Affinity term for an app in one topology."""
    return {"topologyKey": key, "labelSelector": matching(app)}


def apart(key: str, app: str) -> dict[str, Any]:
    """Required anti-affinity to the app."""
    return {"podAntiAffinity": {REQUIRED: [term(key, app)]}}


def together(key: str, app: str) -> dict[str, Any]:
    """Required affinity to the app."""
    return {"podAffinity": {REQUIRED: [term(key, app)]}}


def wishing(kind: str, key: str, app: str) -> dict[str, Any]:
    """Preferred affinity or anti-affinity to the app."""
    return {kind: {PREFERRED: [{"weight": 100, "podAffinityTerm": term(key, app)}]}}


def spread(key: str, skew: int, action: str, app: str) -> list[dict[str, Any]]:
    """Topology spread of the app over a label."""
    return [
        {
            "maxSkew": skew,
            "topologyKey": key,
            "whenUnsatisfiable": action,
            "labelSelector": matching(app),
        }
    ]


def apart_and_spread(app: str) -> dict[str, Any]:
    """Required anti-affinity on hosts, and spread over zones."""
    spreading = spread(ZONE, 1, "DoNotSchedule", app)
    return {"affinity": apart(HOST, app), "topologySpreadConstraints": spreading}


def large(classes: int, rules: Callable[[str], dict[str, Any]], *goal: int) -> Case:
    """A case with a million running pods on 20,000 nodes."""
    return Case(20_000, 1_000_000, 40_000, classes, rules, (goal[0], goal[1]))


def small(rules: Callable[[str], dict[str, Any]], per_s: int, running: int = 5_000) -> Case:
    """A shape of scheduler_perf; the goal is fifty times kube-scheduler's rate."""
    return Case(5_000, running, 10_000, 1, rules, (50 * per_s, 0))


IN_ZONES = {"matchExpressions": [{"key": ZONE, "operator": "In", "values": ["zone-0", "zone-1"]}]}
CASES = {
    "anti-affinity and spread, 1,000 classes": large(1_000, apart_and_spread, 25_000, 10_000),
    "anti-affinity and spread, 100 classes": large(100, apart_and_spread, 40_000, 20_000),
    "preferred affinity, 1,000 classes": large(
        1_000, lambda app: {"affinity": wishing("podAffinity", ZONE, app)}, 10_000, 5_000
    ),
    "preferred anti-affinity on hosts, 1,000 classes": large(
        1_000, lambda app: {"affinity": wishing("podAntiAffinity", HOST, app)}, 10_000, 5_000
    ),
    "required affinity, 1,000 classes": large(
        1_000, lambda app: {"affinity": together(ZONE, app)}, 10_000, 5_000
    ),
    "5k: basic": small(lambda _app: {}, 160),
    "5k: node affinity": small(
        lambda _app: {"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [IN_ZONES]}}}},
        149,
    ),
    "5k: topology spreading": small(
        lambda app: {"topologySpreadConstraints": spread(ZONE, 5, "DoNotSchedule", app)}, 88
    ),
    "5k: preferred topology spreading": small(
        lambda app: {"topologySpreadConstraints": spread(ZONE, 5, "ScheduleAnyway", app)}, 88
    ),
    "5k: pod affinity": small(lambda app: {"affinity": together(ZONE, app)}, 62),
    "5k: pod anti-affinity": Case(
        5_000, 1_000, 3_000, 1, lambda app: {"affinity": apart(HOST, app)}, (50 * 60, 0)
    ),
    "5k: preferred pod affinity": small(
        lambda app: {"affinity": wishing("podAffinity", HOST, app)}, 62
    ),
    "5k: preferred pod anti-affinity": small(
        lambda app: {"affinity": wishing("podAntiAffinity", HOST, app)}, 62
    ),
}
"""Workloads by name. The figure of the 5k shapes is the rate of kube-scheduler 1.36 in
scheduler_perf on a machine of this kind; it includes API writes, which these workloads lack."""


def body(app: str, rules: dict[str, Any]) -> tuple[bytes, bytes]:
    """The JSON of an app's pod, split at the name."""
    requests = {"cpu": "100m", "memory": "256Mi"}
    container = {"name": "main", "resources": {"requests": requests}, "env": ENVIRONMENT}
    pod = {
        "metadata": {"name": "@", "namespace": "default", "labels": {"app": app, "tier": "web"}},
        "spec": {"schedulerName": "stretto", "containers": [container], **rules},
    }
    head, _, tail = json.dumps(pod, separators=(",", ":")).encode().partition(b'"@"')
    return head + b'"', b'"' + tail


class Bench:
    """One case on a plane."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.clock = WallClock()
        self.store = MemoryStore(self.clock, Rng(1), 8192)
        self.pieces = [body(f"app-{c}", case.rules(f"app-{c}")) for c in range(case.classes)]
        self.bodies: list[bytes] = []
        self.made = 0
        self.store.create(
            NODE,
            [
                make_node(f"n{i:05}", cpu="64", memory="256Gi", zone=f"zone-{i % ZONES}")
                for i in range(case.nodes)
            ],
        )
        self.store.seed(self.running())
        self.plane = Plane(PlaneConfig(profile=load_profile("default")), self.store, self.clock)
        self.plane.run_until_idle()
        self.place(max(2 * case.classes, 512))
        gc.collect()
        gc.freeze()

    def running(self) -> Iterator[Record]:
        """Running pods of the same classes, each class over distinct hosts and all zones."""
        case = self.case
        shared = [head + b"run" + tail for head, tail in self.pieces]
        for i in range(case.running):
            c, k = i % case.classes, i // case.classes
            node = f"n{(k * 21 + c * 7) % case.nodes:05}"
            yield Record(POD, "default", f"run-{i:07}", f"u-{i:07}", 1, shared[c], node)

    def place(self, count: int) -> tuple[float, float]:
        """Submit pods and wait until they are bound: wall and CPU seconds."""
        drawn = np.random.default_rng(self.made).integers(0, self.case.classes, count).tolist()
        names = [b"pod-%07d" % (self.made + i) for i in range(count)]
        bodies = [
            self.pieces[c][0] + name + self.pieces[c][1]
            for c, name in zip(drawn, names, strict=True)
        ]
        before = self.plane.binder.counts["bound"]
        wall, cpu = time.perf_counter(), time.process_time()
        for first in range(0, count, SUBMIT):
            replies = self.store.create(POD, bodies[first : first + SUBMIT])
            assert all(reply.outcome is WriteOutcome.OK for reply in replies)
            self.plane.step()
        self.plane.run_until_idle()
        took = time.perf_counter() - wall, time.process_time() - cpu
        assert self.plane.binder.counts["bound"] - before == count
        self.made += count
        return took

    def clear_away(self, count: int) -> None:
        """Delete the pods of the last round."""
        for first in range(self.made - count, self.made, SUBMIT):
            last = min(first + SUBMIT, self.made)
            deletions = [Deletion("default", f"pod-{i:07}") for i in range(first, last)]
            self.store.delete(POD, deletions)
            self.plane.step()
        self.plane.run_until_idle()

    def check(self) -> None:
        """Check that no rule is violated and that cached scores equal those of the rules."""
        cluster, runtime = self.plane.cluster, self.plane.shards[0].default.runtime
        assert isinstance(runtime, Runtime)
        runtime.sync()
        used = [c for c, users in enumerate(cluster.classes.users) if users]
        for class_id in used[:: max(1, len(used) // 8)]:
            assert np.array_equal(runtime.row(class_id), runtime.reference_row(class_id))
        rules = self.case.rules("x")
        if "topologySpreadConstraints" not in rules and "podAntiAffinity" not in str(rules):
            return
        pods, zones = cluster.pods, cluster.nodes.zones
        rows = pods.rows()
        rows = rows[pods.slot[rows] != NO_SLOT]
        by_tag: dict[int, list[int]] = {}
        for tag, slot in zip(pods.tag[rows].tolist(), pods.slot[rows].tolist(), strict=True):
            by_tag.setdefault(tag, []).append(slot)
        for slots in by_tag.values():
            if REQUIRED in rules.get("affinity", {}).get("podAntiAffinity", {}):
                assert len(set(slots)) == len(slots)
            for each in rules.get("topologySpreadConstraints", ()):
                if each["whenUnsatisfiable"] == "DoNotSchedule":
                    counts = Counter(zones[slot] for slot in slots)
                    assert max(counts.values()) - min(counts.values()) <= each["maxSkew"]


def measure(case: Case, rounds: int) -> dict[str, Any]:
    """All rounds of one case."""
    started = time.perf_counter()
    bench = Bench(case)
    setup = time.perf_counter() - started
    watches = Stopwatches(bench.clock)
    watches.wrap(bench.plane.pump, "poll", "pump")
    watches.wrap(bench.plane.binder, "commit", "binder")
    watches.wrap(bench.plane.shards[0], "cycle", "shard")
    runtime = bench.plane.shards[0].default.runtime
    assert isinstance(runtime, Runtime)
    watches.wrap(runtime, "sync", "snapshot")
    watches.wrap(runtime.scores, "place", "kernel")
    walls, cpus = [], []
    for _ in range(rounds):
        watches.clear()
        wall, cpu = bench.place(case.pods)
        walls.append(case.pods / wall)
        cpus.append(case.pods / cpu)
        stages = watches.shares(wall)
        bench.check()
        bench.clear_away(case.pods)
    bench.store.close()
    return {
        "pods_per_s": round(sorted(walls)[len(walls) // 2]),
        "rounds_per_s": [round(each) for each in walls],
        "pods_per_s_of_cpu": round(sorted(cpus)[len(cpus) // 2]),
        "kernel_us": round(1e6 * watches.seconds["kernel"] / case.pods, 2),
        "goal": case.goal[0],
        "floor": case.goal[1],
        "stages": stages,
        "setup_s": round(setup, 1),
        "nodes": case.nodes,
        "running": case.running,
        "pods": case.pods,
        "classes": case.classes,
    }


def main() -> None:
    """Measure the named cases, or all."""
    parser = argparse.ArgumentParser(description="affinity and topology spread")
    parser.add_argument("names", nargs="*", help="cases whose names contain one of these")
    parser.add_argument("--running", type=int, help="number of running pods instead of the case's")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path, help="also write the figures to a file")
    chosen = parser.parse_args()
    found = {}
    for name, case in CASES.items():
        if chosen.names and not any(part in name for part in chosen.names):
            continue
        if chosen.running is not None:
            case = case._replace(running=chosen.running)
        found[name] = measure(case, chosen.rounds)
        print(name, found[name]["pods_per_s"], found[name]["stages"], file=sys.stderr)
    result = {
        "schema": "stretto.bench.domains/v1",
        "python": platform.python_version(),
        "cases": found,
    }
    text = json.dumps(result, indent=2)
    sys.stdout.write(f"{text}\n")
    if chosen.json:
        chosen.json.write_text(f"{text}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
