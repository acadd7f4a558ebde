"""Pods with volumes: ``python bench/volumes.py [made|limits|local ...] [--record]``.

A whole plane over the memory store on 20,000 nodes with 1,000,000 running pods, one on each node
with a bound volume. Every new pod (2.8 kB) has its own PVC with a WaitForFirstConsumer class.
``made``: the volume is provisioned on the pod's node; ``limits``: the same, with at most 16 volumes
per node and driver; ``local``: an existing volume of the node's zone is used. PVCs and volumes are
in the store before the measurement, which includes reading them, creating the pods and everything
up to their binds. Each run is checked: every pod is bound, each local volume belongs to one PVC,
and no node has more volumes than its driver allows.
"""

import argparse
import gc
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
from domains import ENVIRONMENT, SUBMIT
from record import PERFORMANCE, commit, machine, store, table, write

from stretto.api.wire.kinds import (
    CSI_NODE,
    NODE,
    PERSISTENT_VOLUME,
    PERSISTENT_VOLUME_CLAIM,
    POD,
    STORAGE_CLASS,
    Kind,
)
from stretto.base.clock import WallClock
from stretto.base.rng import Rng
from stretto.framework.profile.profile import load_profile
from stretto.plane.config import PlaneConfig
from stretto.plane.plane import Plane
from stretto.stores.embedded.memory import MemoryStore
from stretto.stores.store import Record, WriteOutcome
from stretto.testing import make_node

CASES = ("made", "limits", "local")
GOAL, FLOOR = 5_000, 2_000
WAIT = "WaitForFirstConsumer"
DRIVER = "csi.example.com"
ZONE = "topology.kubernetes.io/zone"
ZONES = 10
COUNT = 16
SIZE = {"requests": {"storage": "5Gi"}}


def pod(claim: str) -> tuple[bytes, bytes, bytes]:
    """The JSON of a pod, split at its name and its PVC's name; an empty name omits the PVC."""
    requests = {"cpu": "100m", "memory": "256Mi"}
    container = {"name": "main", "resources": {"requests": requests}, "env": ENVIRONMENT}
    spec: dict[str, Any] = {"schedulerName": "stretto", "containers": [container]}
    if claim:
        spec["volumes"] = [{"name": "v", "persistentVolumeClaim": {"claimName": claim}}]
    made = {"metadata": {"name": "@", "namespace": "default"}, "spec": spec}
    head, _, tail = json.dumps(made, separators=(",", ":")).encode().partition(b'"@"')
    middle, _, end = tail.partition(b"#")
    return head + b'"', b'"' + middle, end


class Bench:
    """One case on a plane."""

    def __init__(self, case: str, nodes: int, running: int) -> None:
        self.case, self.nodes, self.made = case, nodes, 0
        self.clock = WallClock()
        self.store = MemoryStore(self.clock, Rng(1), 8192)
        self.pieces = pod("#")
        self._put(
            NODE,
            [
                make_node(f"n{i:05}", cpu="64", memory="256Gi", zone=f"z{i % ZONES}")
                for i in range(nodes)
            ],
        )
        maker = "kubernetes.io/no-provisioner" if case == "local" else DRIVER
        fields = {"provisioner": maker, "volumeBindingMode": WAIT}
        self._objects(STORAGE_CLASS, [{"metadata": {"name": "disk"}, **fields}])
        if case == "limits":
            drivers = [{"name": DRIVER, "nodeID": "x", "allocatable": {"count": COUNT}}]
            each = ({"metadata": {"name": f"n{i:05}"}} for i in range(nodes))
            self._objects(CSI_NODE, [one | {"spec": {"drivers": drivers}} for one in each])
        if running:
            self._objects(PERSISTENT_VOLUME, [self._bound(i) for i in range(nodes)])
            self._objects(PERSISTENT_VOLUME_CLAIM, [self._holding(i) for i in range(nodes)])
        self.store.seed(self._running(running))
        self.plane = Plane(PlaneConfig(profile=load_profile("default")), self.store, self.clock)
        self.plane.run_until_idle()
        self.place(SUBMIT)
        gc.collect()
        gc.freeze()

    def _put(self, kind: Kind, bodies: Sequence[bytes]) -> None:
        assert all(reply.outcome is WriteOutcome.OK for reply in self.store.create(kind, bodies))

    def _objects(self, kind: Kind, objects: Sequence[dict[str, Any]]) -> None:
        typed = ({"apiVersion": kind.api_version, "kind": kind.kind, **each} for each in objects)
        self._put(kind, [msgspec.json.encode(each) for each in typed])

    def _running(self, running: int) -> Iterator[Record]:
        """Running pods: the first of each node has a bound volume."""
        head, tail, _ = pod("")
        body, (start, middle, end) = head + b"run" + tail, self.pieces
        for i in range(running):
            name, node = f"run-{i:07}", f"n{i % self.nodes:05}"
            mine = start + name.encode() + middle + b"run-%05d" % i + end
            yield Record(
                POD, "default", name, f"u-{i:07}", 1, mine if i < self.nodes else body, node
            )

    def _bound(self, i: int) -> dict[str, Any]:
        found = self._volume(f"run-{i:05}", i)
        found["spec"]["claimRef"] = {"namespace": "default", "name": f"run-{i:05}"}
        found["spec"]["csi"] = {"driver": DRIVER, "volumeHandle": f"run-{i:05}"}
        return found | {"status": {"phase": "Bound"}}

    def _holding(self, i: int) -> dict[str, Any]:
        found = self._claim(f"run-{i:05}")
        found["metadata"]["annotations"] = {"pv.kubernetes.io/bind-completed": "yes"}
        found["spec"]["volumeName"] = f"run-{i:05}"
        return found

    def _claim(self, name: str) -> dict[str, Any]:
        spec = {"accessModes": ["ReadWriteOnce"], "storageClassName": "disk", "resources": SIZE}
        return {"metadata": {"name": name, "namespace": "default"}, "spec": spec}

    def _volume(self, name: str, number: int) -> dict[str, Any]:
        term = {"key": ZONE, "operator": "In", "values": [f"z{number % ZONES}"]}
        spec = {
            "capacity": {"storage": "5Gi"},
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "disk",
            "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [term]}]}},
        }
        return {"metadata": {"name": name}, "spec": spec, "status": {"phase": "Available"}}

    def place(self, count: int) -> tuple[float, float]:
        """Submit pods and wait until they are bound: wall and CPU seconds."""
        names = [f"pod-{self.made + i:07}" for i in range(count)]
        self.made += count
        self._objects(PERSISTENT_VOLUME_CLAIM, [self._claim(name) for name in names])
        if self.case == "local":
            volumes = [self._volume(name, i) for i, name in enumerate(names)]
            self._objects(PERSISTENT_VOLUME, volumes)
        start, middle, end = self.pieces
        bodies = [start + n + middle + n + end for n in (name.encode() for name in names)]
        before = self.plane.binder.counts["bound"]
        wall, cpu = time.perf_counter(), time.process_time()
        for first in range(0, count, SUBMIT):
            self._put(POD, bodies[first : first + SUBMIT])
            self.plane.step()
        self.plane.run_until_idle()
        took = time.perf_counter() - wall, time.process_time() - cpu
        assert self.plane.binder.counts["bound"] - before == count
        return took

    def check(self) -> None:
        """Check that each volume has one PVC, each PVC has the node of its pod, and limits hold."""
        bound = {r.name: r.node for r in self.store.list(POD).records}
        reserved: Counter[str] = Counter()
        for record in self.store.list(PERSISTENT_VOLUME).records:
            reference = msgspec.json.decode(record.body)["spec"].get("claimRef")
            reserved[reference["name"] if reference else ""] += 1
        on_node: Counter[str] = Counter()
        for name, node in bound.items():
            if name.startswith("pod-"):
                on_node[node] += 1
                assert reserved[name] == (self.case == "local")
        if self.case == "limits":
            assert max(on_node.values()) <= COUNT - 1


def measure(case: str, options: argparse.Namespace) -> dict[str, Any]:
    """All rounds of one case."""
    started = time.perf_counter()
    bench = Bench(case, options.nodes, options.running)
    setup = time.perf_counter() - started
    took = [bench.place(options.pods) for _ in range(options.rounds)]
    bench.check()
    walls, cpus = (
        [round(options.pods / each) for each in some] for some in zip(*took, strict=True)
    )
    return {
        "pods_per_s": sorted(walls)[len(walls) // 2],
        "pods_per_s_of_cpu": sorted(cpus)[len(cpus) // 2],
        "rounds_per_s_of_cpu": cpus,
        "goal": GOAL,
        "floor": FLOOR,
        "setup_s": round(setup, 1),
        "nodes": options.nodes,
        "running": options.running,
        "pods": options.pods,
    }


def write_page(record: dict[str, Any]) -> None:
    """Write the figures into the page on performance."""
    host = record["machine"]
    head = f"Commit {record['commit']}, {host['cores']} cores of {host['cpu']}, "
    head += f"Python {host['python']}, load {host['load_before']:.1f} before."
    rows = [
        [name, f"{f['pods_per_s_of_cpu']:,} ({GOAL:,}, {FLOOR:,})", f"{f['pods_per_s']:,}"]
        for name, f in record["cases"].items()
    ]
    columns = ["volumes", "pods/s of CPU (goal, floor)", "pods/s of wall time"]
    write(PERFORMANCE, "volumes", [head, "", *table(columns, rows)])


def main() -> None:
    """Measure the named cases, or all."""
    parser = argparse.ArgumentParser(description="pods with volumes")
    parser.add_argument("names", nargs="*", choices=[[], *CASES])
    parser.add_argument("--nodes", type=int, default=20_000)
    parser.add_argument("--running", type=int, default=1_000_000)
    parser.add_argument("--pods", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--record", action="store_true", help="store the figures and write the page"
    )
    options = parser.parse_args()
    at, host = commit(), machine()
    found = {}
    for case in options.names or CASES:
        found[case] = measure(case, options)
        print(case, found[case]["rounds_per_s_of_cpu"], file=sys.stderr)
        gc.unfreeze()
        gc.collect()
    record = {"schema": "stretto.bench.volumes/v1", "cases": found}
    record |= {"commit": at, "machine": host}
    sys.stdout.write(json.dumps(record, indent=1) + "\n")
    if options.record:
        store("volumes", record)
        write_page(record)


if __name__ == "__main__":
    main()
