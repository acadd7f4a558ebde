"""Measure NUMA-aware pods, gangs in domains and their roll-back.

    python bench/topology.py [--rounds N] [--json OUT]

Each figure is the median of several rounds in one process, after a warm-up round that compiles the
kernels. Machines are noisy, so CPU time, wall time and the load before the run are reported.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from stretto.api.wire.kinds import CUSTOM_NODE_RESOURCE, POD, POD_GROUP
from stretto.control.binder.conflicts import PlanJudge
from stretto.framework.compiled.placement import PlacementRequest
from stretto.state.queries.invariants import check_all, overcommitted
from stretto.state.work.claims import Plan
from stretto.stores.store import Deletion
from stretto.testing import Harness, make_group, make_node, make_pod

HERE = Path(__file__).parent
SOCKETS, NUMA_PER_SOCKET = 2, 4
RACK = 20


class Timed(NamedTuple):
    """One round."""

    wall: float
    cpu: float


def numa_report(name: str, cores: int, gibibytes: int) -> bytes:
    """A CustomNodeResource of 2 sockets with 4 NUMA nodes each."""
    amounts = {"cpu": str(cores), "memory": f"{gibibytes}Gi"}
    numa = [
        {
            "type": "Socket",
            "name": str(socket),
            "resources": {},
            "children": [
                {
                    "type": "Numa",
                    "name": str(socket * NUMA_PER_SOCKET + numa),
                    "resources": {"allocatable": amounts, "capacity": amounts},
                }
                for numa in range(NUMA_PER_SOCKET)
            ],
        }
        for socket in range(SOCKETS)
    ]
    body = {
        "apiVersion": CUSTOM_NODE_RESOURCE.api_version,
        "kind": CUSTOM_NODE_RESOURCE.kind,
        "metadata": {"name": name},
        "status": {"topologyZone": numa},
    }
    return json.dumps(body).encode()


def numa_notes(exclusive: bool) -> dict[str, str]:
    """Annotations of a pod of dedicated cores that is bound to NUMA nodes."""
    flag = "true" if exclusive else "false"
    memory = {"numa_binding": "true", "numa_exclusive": flag}
    return {
        "katalyst.kubewharf.io/qos_level": "dedicated_cores",
        "katalyst.kubewharf.io/memory_enhancement": json.dumps(memory),
    }


def numa_pods(count: int, offset: int) -> Iterator[bytes]:
    """A mix of twelve sizes: three of four pods share a NUMA node, one uses whole NUMA nodes."""
    for i in range(offset, offset + count):
        cores = 1 + i % 3 if i % 4 else 4 * (1 + i % 2)
        yield make_pod(f"p{i}", cpu=str(cores), memory="2Gi", annotations=numa_notes(i % 4 == 0))


def timed(work: Callable[[], object]) -> Timed:
    """Wall and CPU seconds of a call."""
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return Timed(time.perf_counter() - wall, time.process_time() - cpu)


def submit_all(harness: Harness, *bodies: bytes) -> None:
    """Submit pods, and place them."""
    harness.submit(*bodies)
    harness.settle()


def median(rounds: list[Timed], count: int = 1) -> dict[str, float]:
    """Milliseconds per round, and items per second for rounds with several items."""
    wall = statistics.median(each.wall for each in rounds)
    cpu = statistics.median(each.cpu for each in rounds)
    found = {"wall_ms": round(1e3 * wall, 3), "cpu_ms": round(1e3 * cpu, 3)}
    if count > 1:
        found |= {
            "per_s": round(count / wall),
            "per_s_of_cpu": round(count / cpu),
            "cpu_us_each": round(1e6 * cpu / count, 2),
        }
    return found


def numa(nodes: int, rounds: int, batch: int) -> dict[str, Any]:
    """NUMA-aware pods from JSON to the bind, and the decisions alone."""
    names = [f"n{i}" for i in range(nodes)]
    harness = Harness([make_node(name, cpu="64", memory="256Gi") for name in names])
    harness.create(CUSTOM_NODE_RESOURCE, *(numa_report(name, 8, 32) for name in names))
    harness.settle()
    whole, placing = [], []
    for number in range(rounds + 1):
        bodies = list(numa_pods(batch, number * batch))
        shard = harness.plane.shards[0]
        spent = [0.0, 0.0]
        place = shard.default.runtime.place

        def watched(request: PlacementRequest, place: Any = place, spent: Any = spent) -> Any:
            before, cpu_before = time.perf_counter(), time.process_time()
            answer = place(request)
            spent[0] += time.perf_counter() - before
            spent[1] += time.process_time() - cpu_before
            return answer

        shard.default.runtime.place = watched  # type: ignore[method-assign]
        whole.append(timed(partial(submit_all, harness, *bodies)))
        shard.default.runtime.place = place  # type: ignore[method-assign]
        placing.append(Timed(*spent))
    cluster = harness.plane.cluster
    bound = sum(1 for hold in cluster.topology.holdings.values() if hold.parts)
    sound = not check_all(cluster) and not overcommitted(cluster)
    return {
        "nodes": nodes,
        "pods_a_round": batch,
        "end_to_end": median(whole[1:], batch),
        "placing_alone": median(placing[1:], batch),
        "bound_to_numa": bound,
        "all_placed": bound == (rounds + 1) * batch,
        "laws_hold": sound,
    }


def rack_world(racks: int) -> Harness:
    """Racks of 20 nodes, ten racks per switch, four zones; the racks are unevenly full."""
    nodes = [
        make_node(
            f"n{i}",
            cpu=str(16 + (i // RACK) % 7),
            memory="64Gi",
            zone=f"z{(i // RACK) % 4}",
            labels={"rack": f"r{i // RACK}", "switch": f"s{i // RACK // 10}"},
        )
        for i in range(racks * RACK)
    ]
    return Harness(nodes)


def affinity(*keys: str) -> dict[str, Any]:
    """A PodGroup's required affinity to node labels."""
    terms = [{"topologyKey": key} for key in keys]
    return {"affinity": {"podGroupAffinity": {"required": terms}}}


def gang(
    harness: Harness, name: str, pods: int, rounds: int, **group: Any
) -> tuple[list[Timed], list[Timed], int]:
    """Place (and bind) a gang repeatedly: placement alone, end to end, and bound pods."""
    notes = group.pop("notes", {})
    cpu = group.pop("cpu", "2")
    placing, whole, bound = [], [], 0
    for number in range(rounds + 1):
        title = f"{name}-{number}"
        body = json.loads(make_group(title, pods, **group))
        body["metadata"]["annotations"] = notes
        members = [make_pod(f"{title}-{i}", cpu=cpu, group=title) for i in range(pods)]
        harness.create(POD_GROUP, json.dumps(body).encode())
        shard, spent = harness.plane.shards[0], [0.0, 0.0]
        place = shard.default.runtime.place

        def watched(request: PlacementRequest, place: Any = place, spent: Any = spent) -> Any:
            before, cpu_before = time.perf_counter(), time.process_time()
            answer = place(request)
            spent[0] += time.perf_counter() - before
            spent[1] += time.process_time() - cpu_before
            return answer

        shard.default.runtime.place = watched  # type: ignore[method-assign]
        harness.submit(*members[:-1])
        harness.settle()
        whole.append(timed(partial(submit_all, harness, members[-1])))
        shard.default.runtime.place = place  # type: ignore[method-assign]
        placing.append(Timed(*spent))
        bound = sum(1 for i in range(pods) if harness.node_of(f"{title}-{i}"))
        deletions = [Deletion("default", f"{title}-{i}") for i in range(pods)]
        harness.store.delete(POD, deletions)
        harness.settle()
    return placing[1:], whole[1:], bound


def gangs(racks: int, rounds: int) -> dict[str, Any]:
    """Gangs in domains: the smallest rack, host and zone constraints, and one that fails."""
    harness = rack_world(racks)
    found: dict[str, Any] = {"racks": racks, "nodes": racks * RACK}
    placing, whole, bound = gang(harness, "rack", 40, rounds, **affinity("rack"))
    found["smallest_rack_40"] = {
        "placing": median(placing),
        "end_to_end": median(whole),
        "bound": bound,
    }
    caps = {"stretto.dev/domain-caps": "kubernetes.io/hostname=1"}
    zone = affinity("topology.kubernetes.io/zone")
    placing, whole, bound = gang(harness, "wide", 512, rounds, notes=caps, **zone)
    found["host_and_zone_512"] = {
        "placing": median(placing, 512),
        "end_to_end": median(whole, 512),
        "bound": bound,
    }
    placing, _, bound = gang(harness, "fails", 1000, rounds, cpu="16", **affinity("switch"))
    found["fails_before_placing_1000"] = {"placing": median(placing), "bound": bound}
    found["rolled_back_1000"] = rolled_back(rounds)
    cluster = harness.plane.cluster
    found["laws_hold"] = not check_all(cluster) and not overcommitted(cluster)
    return found


def rolled_back(rounds: int) -> dict[str, Any]:
    """Roll-back of a gang of 1,000 by the binder."""
    return {
        f"by_the_binder{'_from_numa_nodes' if bound else ''}": given_back_by_binder(rounds, bound)
        for bound in (False, True)
    }


def given_back_by_binder(rounds: int, bound: bool) -> dict[str, Any]:
    """Revert the charges of 999 claims of a gang whose last claim is refused."""
    harness = Harness([make_node(f"n{i}", cpu="8") for i in range(334)])
    reports = (numa_report(f"n{i}", 1, 4) for i in range(334))
    harness.create(CUSTOM_NODE_RESOURCE, *reports)
    harness.create(POD_GROUP, make_group("last", 999))
    notes = numa_notes(exclusive=False) if bound else {}
    cluster, clean, spent = harness.plane.cluster, list[bool](), list[Timed]()
    judge = harness.plane.binder._judge  # noqa: SLF001 (a stage of its own)
    assert isinstance(judge, PlanJudge)
    decide = judge.judge

    def watched(plan: Plan) -> Any:
        for _ in range(rounds + 1 if len(plan.rows) == 999 else 0):
            before = cluster.ledger.used.copy(), cluster.topology.taken.copy()
            granted = decide(plan).granted.tolist()
            spent.append(timed(partial(judge.take_back, plan, granted)))
            after = cluster.ledger.used, cluster.topology.taken
            same = all((a == b).all() for a, b in zip(before, after, strict=True))
            clean.append(same and len(granted) == 999)
        return decide(plan)

    judge.judge = watched  # type: ignore[method-assign]
    members = range(999)
    harness.submit(*(make_pod(f"m{i}", cpu="1", group="last", annotations=notes) for i in members))
    harness.settle()
    return {**median(spent[1:]), "no_trace": all(clean), "laws_hold": not check_all(cluster)}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--nodes", type=int, default=5000)
    parser.add_argument("--racks", type=int, default=1000)
    parser.add_argument("--batch", type=int, default=2000)
    parser.add_argument("--json", default="-")
    options = parser.parse_args()
    load = os.getloadavg()[0]
    git = ["git", "-C", str(HERE), "describe", "--always", "--dirty"]
    found = {
        "commit": subprocess.run(git, capture_output=True, text=True, check=True).stdout.strip(),
        "machine": {
            "cores": os.cpu_count(),
            "python": platform.python_version(),
            "load_before": load,
        },
        "numa": numa(options.nodes, options.rounds, options.batch),
        "gangs": gangs(options.racks, options.rounds),
    }
    text = json.dumps(found, indent=1)
    if options.json == "-":
        print(text)
    else:
        Path(options.json).write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
