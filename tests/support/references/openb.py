"""Reference of the openb protocol in plain Python, written from its description.

It is simple and slow: no columns, no cache. The decisions of the plane on a small sample must be
equal to these, pod by pod.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from math import exp

from stretto.inputs.neutral.fleet import Fleet, FleetNode, FleetPod

Kind = tuple[int, int, int, tuple[str, ...]]
Decision = tuple[int, tuple[int, ...]]
NOWHERE: Decision = (-1, ())


class Node:
    """A node with its free capacity."""

    def __init__(self, node: FleetNode) -> None:
        self.node = node
        self.cpu = node.cpu_milli
        self.memory = node.memory_mib
        self.gpus = [1000] * node.gpus
        self.forms: Counter[str] = Counter()

    def fitting(self, pod: FleetPod) -> list[int]:
        return [i for i, free in enumerate(self.gpus) if free >= pod.gpu_milli]

    def takes(self, pod: FleetPod) -> bool:
        if self.cpu < pod.cpu_milli or self.memory < pod.memory_mib:
            return False
        if not pod.gpus:
            return True
        if pod.gpu_models and self.node.gpu_model not in pod.gpu_models:
            return False
        return len(self.fitting(pod)) >= pod.gpus

    def fullest(self, pod: FleetPod) -> tuple[int, ...]:
        by_free = sorted(self.fitting(pod), key=lambda i: (self.gpus[i], i))
        return tuple(by_free[: pod.gpus])

    def place(self, pod: FleetPod, gpus: tuple[int, ...]) -> None:
        self.cpu -= pod.cpu_milli
        self.memory -= pod.memory_mib
        for i in gpus:
            self.gpus[i] -= pod.gpu_milli
        if pod.gpus:
            self.forms[form(pod)] += 1


def form(pod: FleetPod) -> str:
    return "share" if pod.gpu_milli < 1000 else f"{pod.gpus}-gpu"


def kinds(pods: Sequence[FleetPod]) -> list[tuple[Kind, float]]:
    """The typical pods: the most frequent kinds until 95 % are covered, renormalised."""
    counts = Counter((p.cpu_milli, p.gpu_milli, p.gpus, p.gpu_models) for p in pods)
    chosen, covered = [], 0
    for kind, count in counts.most_common():
        if covered >= 0.95 * len(pods) - 1e-9:
            break
        chosen.append((kind, count))
        covered += count
    return [(kind, count / covered) for kind, count in chosen]


def fragmented(typical: tuple[tuple[Kind, float], ...], node: Node) -> float:
    return _f(typical, node.cpu, tuple(node.gpus), node.node.gpu_model)


@cache
def _f(
    typical: tuple[tuple[Kind, float], ...], cpu: int, gpus: tuple[int, ...], model: str
) -> float:
    total = 0.0
    for (need_cpu, milli, count, models), frequency in typical:
        lost = sum(gpus)
        may = count > 0 and cpu >= need_cpu and (not models or model in models)
        if may and sum(free >= milli for free in gpus) >= count:
            lost = sum(free for free in gpus if free < milli)
        total += frequency * lost
    return total


def best_fit(node: Node, pod: FleetPod) -> int:
    cpu = (node.cpu - pod.cpu_milli) / 128000
    gpu = (sum(node.gpus) - pod.gpu_milli_total) / 8000
    return int(100 * (1 - (cpu + gpu) / 2))


def dot_prod(node: Node, pod: FleetPod) -> int:
    cpu = node.cpu * pod.cpu_milli / 128000**2
    gpu = sum(node.gpus) * pod.gpu_milli_total / 8000**2
    return int(100 * (1 - (cpu + gpu) / 2))


def gpu_packing(node: Node, pod: FleetPod) -> int:
    if not pod.gpus:
        return 0
    if all(free == 1000 for free in node.gpus):
        return max(33 - len(node.gpus), len(node.gpus))
    taken = [node.gpus[i] for i in node.fullest(pod)]
    whole = taken.count(1000)
    if whole:
        return max(33, 50 - whole)
    return max(50, 100 - sum(free * 100 // 1000 for free in taken) // 10)


def gpu_clustering(node: Node, pod: FleetPod) -> int:
    if not pod.gpus:
        return 0
    base = 25 * (8000 - sum(node.gpus)) // 8000
    if not node.forms:
        return base + 25
    if form(pod) not in node.forms:
        return base
    return base + (75 if len(node.forms) == 1 else 50)


SCORES: dict[str, Callable[[Node, FleetPod], int]] = {
    "best-fit": best_fit,
    "dot-prod": dot_prod,
    "gpu-packing": gpu_packing,
    "gpu-clustering": gpu_clustering,
}


def fgd(
    node: Node, pod: FleetPod, typical: tuple[tuple[Kind, float], ...]
) -> tuple[int, tuple[int, ...]]:
    """The score and its GPUs."""
    before = fragmented(typical, node)
    share = pod.gpus == 1 and pod.gpu_milli < 1000
    choices = [(i,) for i in node.fitting(pod)] if share else [tuple(node.fitting(pod)[: pod.gpus])]
    best = (-1, ())
    for chosen in choices:
        gpus = [free - pod.gpu_milli * (i in chosen) for i, free in enumerate(node.gpus)]
        after = _f(typical, node.cpu - pod.cpu_milli, tuple(gpus), node.node.gpu_model)
        score = int(100 / (1 + exp(-(before - after) / 1000)))
        if score > best[0]:
            best = (score, chosen)
    return best


def decide(
    fleet: Fleet, order: Sequence[int], arrivals: Sequence[int], policy: str, draws: Sequence[int]
) -> list[Decision]:
    """(node, GPUs) of each arrival; ``draws`` are random numbers, used by Random alone."""
    nodes = [Node(node) for node in fleet.nodes]
    rank = {row: place for place, row in enumerate(order)}
    typical = tuple(kinds(fleet.pods))
    made: list[Decision] = []
    for arrival, draw in zip(arrivals, draws, strict=True):
        pod = fleet.pods[arrival]
        able = [row for row, node in enumerate(nodes) if node.takes(pod)]
        if not able:
            made.append(NOWHERE)
            continue
        if policy == "random":
            row = able[draw % len(able)]
            gpus = nodes[row].fullest(pod)
            if pod.gpus == 1 and pod.gpu_milli < 1000:
                fitting = nodes[row].fitting(pod)
                gpus = (fitting[(draw >> 32) % len(fitting)],)
        elif policy == "fgd":
            scored = {row: fgd(nodes[row], pod, typical) for row in able}
            row = max(able, key=lambda each: (scored[each][0], -rank[each]))
            gpus = scored[row][1]
        else:
            score = SCORES[policy]
            row = max(able, key=lambda each: (score(nodes[each], pod), -rank[each]))
            gpus = nodes[row].fullest(pod)
        nodes[row].place(pod, gpus)
        made.append((row, tuple(sorted(gpus))))
    return made
