"""The input of the published openb study: order of nodes, arriving pods and their order.

The study shuffles nodes and pods per seed, and tunes the number of pods until the requested GPU
milli are a given share of the cluster's. This module draws all of that from the seed; the plane
places the pods. An arrival is the row of its pod, so a pod that arrives twice is one row.
"""

from collections import Counter
from collections.abc import Sequence
from enum import Enum
from typing import Final

import msgspec
import numpy as np
import numpy.typing as npt

from stretto.base.errors import InputError
from stretto.base.rng import Rng
from stretto.inputs.neutral.fleet import Fleet, FleetPod

PUBLISHED_SEEDS: Final = tuple(range(42, 52))
"""The ten seeds of the published runs."""
PUBLISHED_ARRIVE_PCT: Final = 130.0
"""Fill level of the published runs in percent."""
MAX_ARRIVE_PCT: Final = 1000.0
"""Ten times the cluster: far beyond saturation, and still a run of one minute."""
MAX_ARRIVALS: Final = 5_000_000
"""Limit for a list with few GPU pods; five million rows take 40 MB."""
TYPICAL_SHARE: Final = 0.95
"""Share of the list that the typical pods cover."""
_DRAWN_AT_ONCE: Final = 4096
"""Draws per call: about the number that the default list needs."""


class ArrivalOrder(Enum):
    """Order of nodes and of arrivals."""

    #: Both random, from the seed.
    SHUFFLE = "shuffle"
    #: Nodes by name, pods as in the list.
    FILE = "file"


class ProtocolInput(msgspec.Struct, frozen=True):
    """Input of one run of the study."""

    #: Rows of the fleet's nodes; earlier nodes win ties.
    node_order: npt.NDArray[np.int64]
    #: Rows of the fleet's pods in order of arrival; a row may occur repeatedly.
    arrivals: npt.NDArray[np.int64]
    #: Unique name of each arrival.
    names: tuple[str, ...]
    #: Arrived GPU milli in percent of the fleet's, after each arrival.
    arrived_pct: npt.NDArray[np.float64]


class TypicalPodKinds(msgspec.Struct, frozen=True):
    """Pod kinds for the measure of fragmentation: one row per kind, the most frequent first."""

    #: CPU in thousandths of a core.
    cpu_milli: npt.NDArray[np.int64]
    #: Milli of each GPU.
    gpu_milli: npt.NDArray[np.int64]
    #: Number of GPUs.
    num_gpu: npt.NDArray[np.int64]
    #: Allowed models; empty for any.
    models: tuple[tuple[str, ...], ...]
    #: Share of the kind among the typical pods; the sum is 1.
    frequency: npt.NDArray[np.float64]

    def __len__(self) -> int:
        """Number of kinds."""
        return len(self.models)


def protocol_input(
    fleet: Fleet,
    seed: int,
    arrive_pct: float | None = PUBLISHED_ARRIVE_PCT,
    order: ArrivalOrder = ArrivalOrder.SHUFFLE,
) -> ProtocolInput:
    """Input of one run of the study; with ``arrive_pct=None`` the list is used unchanged."""
    rng = Rng(seed).child("openb")
    if order is ArrivalOrder.SHUFFLE:
        nodes = rng.child("nodes").numpy().permutation(len(fleet.nodes))
        pods = rng.child("pods").numpy().permutation(len(fleet.pods))
    else:
        names = [node.name for node in fleet.nodes]
        nodes = np.array(sorted(range(len(names)), key=names.__getitem__), np.int64)
        pods = np.arange(len(fleet.pods))
    requested = np.array([pod.gpu_milli_total for pod in fleet.pods], np.int64)
    if arrive_pct is not None:
        target = _target(fleet, requested, arrive_pct)
        pods = _tuned(pods, requested, target, rng.child("tune"))
    arrived = np.cumsum(requested[pods], dtype=np.float64) * (100.0 / max(1, fleet.gpu_milli))
    return ProtocolInput(nodes, pods, _names(fleet.pods, pods), arrived)


def typical_pods(pods: Sequence[FleetPod], share: float = TYPICAL_SHARE) -> TypicalPodKinds:
    """The most frequent kinds of the (untuned) list that cover ``share`` of its pods.

    A kind is (CPU, GPU milli, number of GPUs, models). Ties are in the order of the list.
    """
    counts = Counter((p.cpu_milli, p.gpu_milli, p.gpus, p.gpu_models) for p in pods)
    kinds = counts.most_common()
    covered = np.cumsum([count for _, count in kinds])
    enough = int(np.searchsorted(covered, share * len(pods) - 1e-9)) + 1
    kinds = kinds[:enough]
    weights = np.array([count for _, count in kinds], np.float64)
    return TypicalPodKinds(
        cpu_milli=np.array([kind[0] for kind, _ in kinds], np.int64),
        gpu_milli=np.array([kind[1] for kind, _ in kinds], np.int64),
        num_gpu=np.array([kind[2] for kind, _ in kinds], np.int64),
        models=tuple(kind[3] for kind, _ in kinds),
        frequency=weights / weights.sum() if len(kinds) else weights,
    )


def _target(fleet: Fleet, requested: npt.NDArray[np.int64], arrive_pct: float) -> float:
    """The target of arriving GPU milli; refuses invalid percentages and fleets without GPUs."""
    if not 0 < arrive_pct <= MAX_ARRIVE_PCT:
        raise InputError("arrive", arrive_pct, f"a percentage above 0, at most {MAX_ARRIVE_PCT:g}")
    if not fleet.gpu_milli or not requested.sum():
        lacking = "nodes have no GPU" if not fleet.gpu_milli else "pods request no GPU"
        hint = "use the list unchanged (arrive: file)"
        raise InputError("arrive", arrive_pct, f"GPUs to fill, but the {lacking}", hint)
    return arrive_pct / 100 * fleet.gpu_milli


def _tuned(
    pods: npt.NDArray[np.int64], requested: npt.NDArray[np.int64], target: float, rng: Rng
) -> npt.NDArray[np.int64]:
    """The shuffled pods, cut or extended by draws with replacement to the target."""
    generator = rng.numpy()
    surplus = float(requested[pods].sum()) - target
    if surplus > 0:
        victims = generator.permutation(len(pods))
        freed = np.cumsum(requested[pods[victims]])
        cut = int(np.searchsorted(freed, surplus)) + 1
        return np.delete(pods, victims[:cut])
    capacity = -surplus
    parts = [pods]
    while sum(map(len, parts)) <= MAX_ARRIVALS:
        drawn = generator.integers(0, len(requested), _DRAWN_AT_ONCE)
        used = np.cumsum(requested[drawn])
        fitting = int(np.searchsorted(used, capacity, side="right"))
        parts.append(drawn[:fitting])
        if fitting < len(drawn):
            return np.concatenate(parts)
        capacity -= float(used[-1])
    expected = f"a list that requests {target:.0f} GPU milli within {MAX_ARRIVALS:,} pods"
    raise InputError("arrive", None, expected, "lower the percentage or add GPU pods")


def _names(pods: Sequence[FleetPod], arrivals: npt.NDArray[np.int64]) -> tuple[str, ...]:
    """A name for each arrival: the pod's own name first, then numbered repetitions."""
    taken = {pod.name for pod in pods}
    seen: set[int] = set()
    copies: Counter[int] = Counter()
    names = []
    for row in arrivals.tolist():
        name = pods[row].name
        while row in seen and name in taken:
            copies[row] += 1
            name = f"{pods[row].name}-again-{copies[row]}"
        seen.add(row)
        taken.add(name)
        names.append(name)
    return tuple(names)
