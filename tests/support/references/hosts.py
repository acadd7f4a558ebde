"""Reference of VMs on hosts and of openb pods in trace time, with BestFit and name ties."""

import heapq
from collections import Counter
from collections.abc import Sequence
from typing import Any

from stretto.inputs.neutral.fleet import FleetNode, FleetPod
from tests.support.references.openb import Node, best_fit


def choose(nodes: Sequence[Node], pod: FleetPod) -> Node | None:
    able = [node for node in nodes if node.takes(pod)]
    return min(able, key=lambda n: (-best_fit(n, pod), n.node.name), default=None)


def place(nodes: Sequence[Node], pods: Sequence[FleetPod]) -> list[tuple[Node, Any]] | None:
    """Place all pods and return their nodes and GPUs, or place none."""
    taken: list[tuple[FleetPod, Node, Any]] = []
    for pod in pods:
        node = choose(nodes, pod)
        if node is None:
            for other, where, gpus in reversed(taken):
                free(where, other, gpus)
            return None
        gpus = node.fullest(pod)
        node.place(pod, gpus)
        taken.append((pod, node, gpus))
    return [(node, gpus) for _, node, gpus in taken]


def free(node: Node, pod: FleetPod, gpus: Any) -> None:
    node.cpu += pod.cpu_milli
    node.memory += pod.memory_mib
    for i in gpus:
        node.gpus[i] += pod.gpu_milli


def replay(nodes: Sequence[FleetNode], pods: Sequence[FleetPod]) -> dict[str, Any]:
    """openb in trace time; pods that do not fit are rejected."""
    machines = [Node(node) for node in nodes]
    lived = [pod for pod in pods if pod.departure_s != pod.arrival_s]
    events = sorted(
        [(pod.arrival_s, 1, i) for i, pod in enumerate(lived)]
        + [(pod.departure_s, 0, i) for i, pod in enumerate(lived)]
    )
    where: dict[int, Any] = {}
    rejected: Counter[str] = Counter()
    used = peak = total = 0
    for time, is_arrival, i in events:
        pod = lived[i]
        if not is_arrival:
            if i in where:
                free(*where[i][:1], pod, where.pop(i)[1])
                used -= pod.gpu_milli_total
            continue
        found = place(machines, [pod])
        if found is None:
            rejected[pod.qos] += 1
            continue
        where[i] = found[0]
        used += pod.gpu_milli_total
        peak = max(peak, used)
        total += int(pod.gpu_milli_total * ((pod.departure_s or 0) - time))
    return {
        "placed": len(lived) - rejected.total(),
        "rejected": rejected.total(),
        "rejected_by_qos": dict(sorted(rejected.items())),
        "peak_gpu_milli": peak,
        "gpu_milli_seconds": total,
    }


def run_vms(
    hosts: Sequence[FleetNode], pods: Sequence[FleetPod], *, waiting: bool
) -> dict[str, Any]:
    """VMs in trace time; the VMs of a group start together or not at all."""
    nodes = [Node(host) for host in hosts]
    groups: dict[str, list[FleetPod]] = {}
    for i, pod in enumerate(pods):
        groups.setdefault(pod.group or f"#{i}", []).append(pod)
    coming = sorted(groups.values(), key=lambda members: members[0].arrival_s)[::-1]
    queue: list[list[FleetPod]] = []
    running: list[tuple[float, int, Any]] = []
    waits: list[float] = []
    rejected = serial = cpu = peak = integral = 0
    now = begin = coming[-1][0].arrival_s
    while coming or running:
        times = [running[0][0]] if running else []
        before, now = now, min([coming[-1][0].arrival_s, *times] if coming else times)
        integral += cpu * (now - before)
        while running and running[0][0] == now:
            node, pod = heapq.heappop(running)[2]
            free(node, pod, ())
            cpu -= pod.cpu_milli
        while coming and coming[-1][0].arrival_s == now:
            queue.append(coming.pop())
        left = []
        for members in queue:
            found = place(nodes, members)
            if found is None:
                left.append(members)
                continue
            for pod, (node, _) in zip(members, found, strict=True):
                serial += 1
                heapq.heappush(running, (now + pod.duration_s, serial, (node, pod)))
                waits.append(now - pod.arrival_s)
                cpu += pod.cpu_milli
        queue = left if waiting else []
        rejected += 0 if waiting else sum(map(len, left))
        peak = max(peak, cpu)
    all_cpu = sum(host.cpu_milli for host in hosts)
    return {
        "placed": len(waits),
        "rejected": rejected + sum(map(len, queue)),
        "mean_wait_s": sum(waits) / len(waits),
        "peak_cpu_pct": 100 * peak / all_cpu,
        "mean_cpu_pct": 100 * integral / (all_cpu * (now - begin)),
    }
