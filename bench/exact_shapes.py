"""Pods per second of the exact path, in the shapes of scheduler_perf: python bench/exact_shapes.py.

In process and without an API server: each pod is decided over every node and assumed before the
next, once by the library alone and once by a whole plane under ``kube-parity`` on the memory store
(watch, queue, shard, binder, bind). Both wall and CPU time are reported, because machines are
shared.
"""

import json
import sys
import time
from typing import Any

import msgspec

from stretto.api import codec
from stretto.api.types.core import Node
from stretto.api.types.pod import Pod
from stretto.framework.model.snapshot import ParitySnapshot
from stretto.framework.parity.scheduler import ExactScheduler
from stretto.testing import Harness

ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
GREEN = {"matchLabels": {"color": "green"}}


def term(key: str) -> dict[str, Any]:
    """Affinity term for green pods."""
    return {"topologyKey": key, "labelSelector": GREEN}


def constraints(key: str) -> list[dict[str, Any]]:
    """Preferred affinity term for green pods."""
    return [{"weight": 1, "podAffinityTerm": term(key)}]


def spread(action: str) -> dict[str, Any]:
    """Green pods spread over zones."""
    rule = {"maxSkew": 5, "topologyKey": ZONE, "whenUnsatisfiable": action, "labelSelector": GREEN}
    return {"topologySpreadConstraints": [rule]}


IN_ZONES = {"matchExpressions": [{"key": ZONE, "operator": "In", "values": ["z0", "z1"]}]}
SHAPES: dict[str, dict[str, Any]] = {
    "basic": {},
    "node affinity": {"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [IN_ZONES]}}}},
    "spread, hard": spread("DoNotSchedule"),
    "spread, soft": spread("ScheduleAnyway"),
    "affinity": {"affinity": {"podAffinity": {REQUIRED: [term(ZONE)]}}},
    "anti-affinity": {"affinity": {"podAntiAffinity": {REQUIRED: [term(HOST)]}}},
    "preferred affinity": {"affinity": {"podAffinity": {PREFERRED: constraints(HOST)}}},
    "preferred anti-affinity": {"affinity": {"podAntiAffinity": {PREFERRED: constraints(HOST)}}},
}


def node(number: int) -> Node:
    """scheduler_perf's default node, in one of three zones."""
    name = f"node-{number:05}"
    labels = {HOST: name, ZONE: f"z{number % 3}"}
    amounts = {"cpu": "4", "memory": "32Gi", "pods": "110"}
    body = {"metadata": {"name": name, "labels": labels}, "status": {"allocatable": amounts}}
    return codec.decode_as(Node, json.dumps(body).encode())


def pod(name: str, shape: dict[str, Any], on: str = "") -> Pod:
    """scheduler_perf's default pod, green."""
    requests = {"cpu": "100m", "memory": "500Mi"}
    container = {"name": "c", "image": "pause:3.10", "resources": {"requests": requests}}
    meta = {"name": name, "namespace": "default", "labels": {"color": "green"}}
    spec = {"containers": [container], "nodeName": on, **shape}
    return codec.decode_as(Pod, json.dumps({"metadata": meta, "spec": spec}).encode())


def library(shape: dict[str, Any], nodes: int, running: int, count: int) -> tuple[float, float]:
    """Pods per second of the library, by wall time and by CPU time."""
    snapshot = ParitySnapshot(map(node, range(nodes)))
    for number in range(running):
        snapshot.add_pod(pod(f"running-{number}", shape, f"node-{number % nodes:05}"))
    scheduler = ExactScheduler(snapshot)
    waiting = [pod(f"waiting-{number}", shape) for number in range(count)]
    wall, cpu = time.perf_counter(), time.process_time()
    for each in waiting:
        decision = scheduler.decide(each)
        best = decision.feasible[decision.total.argmax()]
        scheduler.assume(decision, decision.names[best])
    assert len(snapshot.node_of) == running + count
    return count / (time.perf_counter() - wall), count / (time.process_time() - cpu)


def plane(shape: dict[str, Any], nodes: int, running: int, count: int) -> tuple[float, float]:
    """Pods per second of a plane, from the creation of the pods to their binds in the store."""
    harness = Harness([codec.encode(node(n)) for n in range(nodes)], profile="kube-parity")
    there = (pod(f"running-{n}", shape, f"node-{n % nodes:05}") for n in range(running))
    harness.submit(*map(codec.encode, there))
    harness.submit(codec.encode(ours(pod("first", shape))))
    harness.settle()
    waiting = [codec.encode(ours(pod(f"waiting-{number}", shape))) for number in range(count)]
    wall, cpu = time.perf_counter(), time.process_time()
    harness.submit(*waiting)
    harness.settle()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    assert all(harness.placements().values())
    return count / wall, count / cpu


def ours(each: Pod) -> Pod:
    """A pod with this scheduler's name."""
    spec = msgspec.structs.replace(each.spec, scheduler_name="stretto")
    return msgspec.structs.replace(each, spec=spec)


def main() -> None:
    """Measure the named shapes, or all."""
    nodes, running, count = (int(each) for each in (*sys.argv[1:4], "5000", "1000", "1000")[:3])
    wanted = sys.argv[4:]
    print(f"{nodes:,} nodes, {running:,} pods running, {count:,} placed one by one")
    print(f"{'':26}{'library':>20}{'plane':>20}")
    print(f"{'shape':26}{'pods/s':>10}{'of CPU':>10}{'pods/s':>10}{'of CPU':>10}")
    for name, shape in SHAPES.items():
        if not wanted or name in wanted:
            figures = (*library(shape, nodes, running, count), *plane(shape, nodes, running, count))
            print(f"{name:26}" + "".join(f"{each:10,.0f}" for each in figures))


if __name__ == "__main__":
    main()
