"""Preemption on 20,000 nodes with 50 pods each, where every preemptor needs victims.

    python bench/preemption.py --record
    python bench/preemption.py --only "with budgets" --part different --part identical
    python bench/preemption.py --nodes 2000 --count 200          # a quick run

The benchmark measures the decision of a shard: the best of all nodes and its victims, recorded for
the next preemptor. It also measures a whole plane over the memory store (check, evict, bind). On a
small cluster, every decision is compared with a dry run on all nodes.
"""

import argparse
import gc
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from record import commit, machine, store

from stretto.api.wire.kinds import NODE, POD, POD_DISRUPTION_BUDGET
from stretto.base.clock import ManualClock
from stretto.base.rng import Rng
from stretto.framework.compiled.one_node import PreemptionDryRun, Preemptor
from stretto.framework.preemption.finder import VictimFinder
from stretto.framework.profile.profile import load_profile
from stretto.plane.config import PlaneConfig
from stretto.plane.plane import Plane
from stretto.state.work.claims import NO_ROWS, Plan
from stretto.stores.embedded.memory import MemoryStore
from stretto.stores.store import Deletion, Record
from stretto.testing import make_node, make_pod

PRIORITIES = tuple(range(0, 800, 100))
SHAPES = ((500, 512), (1000, 2048), (1500, 1024))
NAMESPACES = 50
PARTS = ("different", "identical", "impossible", "whole plane")
GOALS = {"different": (1_000, 300), "identical": (100_000, 20_000)}


class Field:
    """A plane whose nodes have no free CPU."""

    def __init__(self, nodes: int, pods: int, *, budgets: bool, tier: str) -> None:
        """Create the given number of pods on each node, of three sizes and eight priorities."""
        self.rng, self.clock = Rng(1), ManualClock()
        self.store = MemoryStore(self.clock, Rng(0))
        gc.disable()  # a million records have no reference cycles
        self.store.seed(self._records(nodes, pods, budgets))
        config = PlaneConfig(load_profile("default"), tier=tier)
        self.plane = Plane(config, self.store, self.clock)
        self.plane.run_until_idle()
        table = self.plane.cluster.pods
        table.started[: table.length] = self.rng.numpy().random(table.length)
        self.waiting = 0
        gc.enable()
        gc.freeze()

    def _records(self, nodes: int, pods: int, budgets: bool) -> list[Record]:
        made: list[Record] = []
        for node in range(nodes):
            cpu = 0
            for number in range(pods):
                shape = self.rng.randint(0, len(SHAPES) - 1)
                cpu += SHAPES[shape][0]
                made.append(self._pod(node, number, shape, budgets, len(made) + 1))
            body = make_node(f"n{node}", cpu=f"{cpu}m", memory="256Gi", zone=f"z{node % 10}")
            made.append(Record(NODE, "", f"n{node}", f"node-{node}", len(made) + 1, body))
        for number in range(NAMESPACES if budgets else 0):
            spec = {"selector": {}, "maxUnavailable": 2 * (number % 3)}
            meta = {"name": "all", "namespace": f"guarded-{number}"}
            body = msgspec.json.encode({"metadata": meta, "spec": spec})
            place = (f"guarded-{number}", "all", f"budget-{number}", len(made) + 1)
            made.append(Record(POD_DISRUPTION_BUDGET, *place, body))
        return made

    def _pod(self, node: int, number: int, shape: int, budgets: bool, version: int) -> Record:
        guarded = budgets and number % 10 == 0
        space = f"guarded-{(node + number) % NAMESPACES}" if guarded else "default"
        name, priority = f"p{node}-{number}", PRIORITIES[(node + number) % len(PRIORITIES)]
        body = BODIES.get((shape, priority, space))
        if body is None:
            cpu, memory = SHAPES[shape]
            body = BODIES[shape, priority, space] = make_pod(
                "p", cpu=f"{cpu}m", memory=f"{memory}Mi", priority=priority, namespace=space
            )
        return Record(POD, space, name, f"pod-{node}-{number}", version, body, f"n{node}")

    def submit(self, bodies: Sequence[bytes]) -> list[int]:
        """Submit pending pods and let the plane read them; returns their rows."""
        before = self.plane.cluster.pods.rows()
        self.store.create(POD, bodies)
        self._follow()
        return [int(row) for row in np.setdiff1d(self.plane.cluster.pods.rows(), before)]

    def withdraw(self) -> None:
        """Delete the pending pods."""
        deletions = [Deletion("default", f"w{number + 1}") for number in range(self.waiting)]
        self.store.delete(POD, deletions)
        self._follow()

    def _follow(self) -> None:
        while self.plane.pump.poll(self.clock.monotonic()):
            pass

    def preemptors(self, count: int, *, alike: bool, cpu: int = 0) -> list[bytes]:
        """Pods of the highest priority, with distinct or equal requests."""
        first, self.waiting = self.waiting + 1, self.waiting + count
        return [
            make_pod(
                f"w{first + i}",
                cpu=f"{cpu or (2000 if alike else self.rng.randint(1001, 6000))}m",
                memory=f"{1024 if alike else 512 + i}Mi",
                priority=1000,
            )
            for i in range(count)
        ]

    def finder(self) -> VictimFinder:
        """The finder of the first shard, at the start of a cycle."""
        found = self.plane.shards[0].default.preempting
        assert found is not None
        finder = found._finder  # noqa: SLF001  (the benchmark needs the internal finder)
        assert isinstance(finder, VictimFinder)
        none = np.zeros(0, np.int32)
        finder.begin(Plan(0, NO_ROWS, NO_ROWS, none, NO_ROWS, NO_ROWS, none, [], []))
        return finder


BODIES: dict[tuple[int, int, str], bytes] = {}


def timed(field: Field, rows: Sequence[int]) -> dict[str, float]:
    """Find and take victims for each row; rates by wall and CPU time."""
    finder = field.finder()
    finder.find(rows[0])  # update the index before the measurement, as between cycles
    finder.expect(rows)
    victims, wall, cpu = 0, time.perf_counter(), time.process_time()
    for row in rows:
        found = finder.find(row).candidate
        assert found is not None
        assert found.victims
        finder.take(row, found)
        victims += len(found.victims)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    count = len(rows)
    return {"per_second": count / wall, "per_second_cpu": count / cpu, "victims": victims / count}


def impossible(field: Field, count: int) -> dict[str, float]:
    """Microseconds to decide that no eviction would make the pod fit."""
    rows = field.submit(field.preemptors(count, alike=False, cpu=900_000))
    finder = field.finder()
    finder.find(rows[0])
    wall, cpu = time.perf_counter(), time.process_time()
    assert all(finder.find(row).candidate is None for row in rows)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    return {"microseconds": 1e6 * wall / count, "microseconds_cpu": 1e6 * cpu / count}


def whole(field: Field, count: int) -> dict[str, float]:
    """Preemptors per second of a whole plane: found, checked, evicted, bound.

    Half of them have distinct requests, half have equal requests.
    """
    field.withdraw()
    bodies = field.preemptors(count // 2, alike=False) + field.preemptors(count // 2, alike=True)
    field.submit(bodies)
    wall, cpu = time.perf_counter(), time.process_time()
    field.plane.run_until_idle()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    bound = field.plane.evictor.counts["confirmed"]
    assert bound > 0
    return {"bound": bound, "per_second": bound / wall, "per_second_cpu": bound / cpu}


def check(tier: str) -> int:
    """Compare each decision with a dry run on every node of a small cluster; returns the count."""
    field = Field(40, 20, budgets=True, tier=tier)
    rows = field.submit(field.preemptors(25, alike=False))
    finder, cluster = field.finder(), field.plane.cluster
    for row in rows:
        found = finder.find(row).candidate
        assert found is not None
        rehearsal = PreemptionDryRun(cluster, finder.rules, field.plane.budgets, 0.0)
        preemptor = Preemptor(int(cluster.pods.class_id[row]), int(cluster.pods.priority[row]))
        every = [rehearsal.on_slot(preemptor, slot) for slot in cluster.nodes.by_name.values()]
        best = min(
            (each for each in every if each is not None),
            key=lambda each: (rehearsal.key(each), each.slot),
        )
        assert (best.slot, best.victims, best.beyond) == (found.slot, found.victims, found.beyond)
    alike = field.submit(field.preemptors(25, alike=True))
    assert timed(field, alike)["victims"] > 0  # also compiles the kernels before the measurement
    return len(rows)


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """All figures."""
    report: dict[str, Any] = {"nodes": options.nodes, "pods_a_node": options.pods}
    report["compared_with_rehearsing_every_node"] = check(options.tier)
    for budgets in (False, True):
        if options.only == ("without budgets" if budgets else "with budgets"):
            continue
        BODIES.clear()
        report["with budgets" if budgets else "without budgets"] = measure_one(options, budgets)
        gc.unfreeze()
        gc.collect()  # a million pods must not be in memory twice
    report["goals"] = {name: {"goal": g, "floor": f} for name, (g, f) in GOALS.items()}
    report["load_average"] = os.getloadavg()[0]
    return report


def measure_one(options: argparse.Namespace, budgets: bool) -> dict[str, Any]:
    """All figures of one cluster."""
    started = time.process_time()
    field = Field(options.nodes, options.pods, budgets=budgets, tier=options.tier)
    part: dict[str, Any] = {"setup_s_cpu": time.process_time() - started}
    count, parts = options.count, options.part or PARTS
    if "different" in parts:
        part["different"] = timed(field, field.submit(field.preemptors(count, alike=False)))
    if "identical" in parts:
        part["identical"] = timed(field, field.submit(field.preemptors(20 * count, alike=True)))
    if "impossible" in parts:
        part["impossible"] = impossible(field, count)
    if "whole plane" in parts:
        part["whole plane"] = whole(field, options.whole)
    print(msgspec.json.format(msgspec.json.encode(part)).decode(), file=sys.stderr)
    return part


def main() -> None:
    """Measure and print, and write with ``--record``."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--nodes", type=int, default=20_000)
    parser.add_argument("--pods", type=int, default=50)
    parser.add_argument("--count", type=int, default=1_000)
    parser.add_argument("--tier", default="auto")
    parser.add_argument("--only", choices=("with budgets", "without budgets"))
    parser.add_argument("--part", action="append", choices=PARTS, help="only these figures")
    parser.add_argument("--whole", type=int, default=2_000, help="preemptors of the whole plane")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--record", action="store_true", help="store the figures under the commit")
    options = parser.parse_args()
    where = {"commit": commit(), "machine": machine()}
    report = measure(options) | where
    if options.record:
        store("preemption", report)
    text = msgspec.json.format(msgspec.json.encode(report))
    if options.json is not None:
        options.json.write_bytes(text + b"\n")
    print(text.decode())


if __name__ == "__main__":
    main()
