"""Generators of nodes and of arrival times, from a seed.

Nodes have a few shapes over a few zones; arrivals are random, regular or follow a daily cycle.
``pod_templates`` generates the pods.
"""

from typing import Final

import msgspec
import numpy as np
import numpy.typing as npt

from stretto.base.errors import InputError
from stretto.base.rng import Rng
from stretto.inputs.neutral.fleet import FleetNode, FleetTaint
from stretto.inputs.neutral.shapes import MAX_NODES
from stretto.inputs.objects.pod_templates import DEDICATED, DISK_LABEL

DAY_S: Final = 86_400.0
"""Seconds of a day: the period of most load patterns."""
MAX_ARRIVALS: Final = 10_000_000
"""Maximum number of arrivals of a workload: ten times the pods of the design."""
MAX_PODS_OF_A_NODE: Final = 110
"""The kubelet's default for the maximum number of pods."""
_DEDICATED_EVERY: Final = 20
"""Step between the numbers of the nodes that have the taint of a dedicated team."""
_ROUNDED: Final = 6
"""Times are whole microseconds, so all reports print the same values."""


class NodeKind(msgspec.Struct, frozen=True):
    """A shape of synthetic nodes."""

    #: Name of the shape, written as the instance type.
    name: str
    #: Nodes of this shape in every ten.
    of_ten: int
    #: CPU in thousandths of a core.
    cpu_milli: int
    #: Memory in MiB.
    memory_mib: int
    #: GPUs; a node with GPUs has a taint.
    gpus: int = 0
    #: Model of the GPUs.
    gpu_model: str = ""


NODE_KINDS: Final = (
    NodeKind("small", 4, 32_000, 131_072),
    NodeKind("medium", 3, 64_000, 262_144),
    NodeKind("large", 2, 96_000, 393_216),
    NodeKind("gpu", 1, 96_000, 786_432, 8, "A100"),
)
"""The four shapes of a synthetic fleet."""


class Diurnal(msgspec.Struct, frozen=True):
    """An arrival rate with a daily cycle."""

    #: Minimum rate in arrivals per second (at the start).
    low: float
    #: Maximum rate in arrivals per second (half a period later).
    high: float
    #: Seconds from one minimum to the next.
    period_s: float = DAY_S


def synthetic_nodes(
    count: int, rng: Rng, *, zones: int = 10, kinds: tuple[NodeKind, ...] = NODE_KINDS
) -> tuple[FleetNode, ...]:
    """Nodes of several shapes in random order, spread evenly over ``zone-0``, ``zone-1``, ..."""
    if not 1 <= count <= MAX_NODES:
        raise InputError("nodes", count, f"an integer 1..{MAX_NODES}")
    if not 1 <= zones <= min(1000, count):
        raise InputError("zones", zones, f"an integer 1..{min(1000, count)}, at most the nodes")
    ten = [kind for kind in kinds for _ in range(kind.of_ten)]
    rows = rng.child("nodes").numpy().permutation(count).tolist()
    width = max(5, len(str(count - 1)))
    return tuple(
        _node(f"node-{number:0{width}d}", ten[row % len(ten)], row // len(ten), number % zones)
        for number, row in enumerate(rows)
    )


def poisson_times(count: int, rate: float, rng: Rng, start: float = 0.0) -> npt.NDArray[np.float64]:
    """Seconds of ``count`` independent arrivals with an average of ``rate`` per second."""
    _check_rate("rate", rate)
    _check_count(count)
    gaps = rng.child("poisson").numpy().exponential(1.0 / rate, count)
    return np.round(start + np.cumsum(gaps), _ROUNDED)


def regular_times(count: int, every: float, start: float = 0.0) -> npt.NDArray[np.float64]:
    """Seconds of ``count`` arrivals, ``every`` seconds apart, the first at the start."""
    _check_count(count)
    if not 0 <= every <= DAY_S:
        raise InputError("every", every, f"seconds 0..{DAY_S:g}")
    return np.round(start + every * np.arange(count), _ROUNDED)


def diurnal_times(
    count: int, rate: Diurnal, rng: Rng, start: float = 0.0
) -> npt.NDArray[np.float64]:
    """Seconds of ``count`` arrivals whose rate follows a cosine from low to high and back.

    Arrivals at the high rate are thinned: each is kept with probability rate / high rate.
    """
    _check_count(count)
    _check_rate("high", rate.high)
    if not 0 <= rate.low <= rate.high:
        raise InputError("low", rate.low, f"a rate 0..{rate.high:g}, at most the high one")
    if not 1 <= rate.period_s <= 366 * DAY_S:
        raise InputError("period", rate.period_s, "seconds from 1 to a year")
    generator = rng.child("diurnal").numpy()
    parts: list[npt.NDArray[np.float64]] = []
    found, now = 0, 0.0
    while found < count:
        times = now + np.cumsum(generator.exponential(1.0 / rate.high, max(1024, count)))
        swing = (1 - np.cos(2 * np.pi * times / rate.period_s)) / 2
        wanted = (rate.low + (rate.high - rate.low) * swing) / rate.high
        kept = times[generator.random(len(times)) < wanted]
        parts.append(kept)
        found += len(kept)
        now = float(times[-1])
    all_times = np.concatenate(parts) if parts else np.zeros(0)
    return np.round(start + all_times[:count], _ROUNDED)


def _node(name: str, kind: NodeKind, number: int, zone: int) -> FleetNode:
    """One synthetic node; ``number`` counts groups of ten and selects disk and taint evenly."""
    taints = []
    if number % _DEDICATED_EVERY == 0 and not kind.gpus:
        taints.append(FleetTaint(DEDICATED, "batch"))
    if kind.gpus:
        taints.append(FleetTaint("nvidia.com/gpu", "present"))
    return FleetNode(
        name,
        kind.cpu_milli,
        kind.memory_mib,
        kind.gpus,
        kind.gpu_model,
        {"node.kubernetes.io/instance-type": kind.name, DISK_LABEL: ("ssd", "hdd")[number % 2]},
        f"zone-{zone}",
        tuple(taints),
        MAX_PODS_OF_A_NODE,
    )


def _check_rate(where: str, rate: float) -> None:
    """Refuse a rate of zero, or beyond any machine."""
    if not 1e-6 <= rate <= 1e7:
        raise InputError(where, rate, "arrivals per second, 0.000001..10000000")


def _check_count(count: int) -> None:
    """Refuse more arrivals than fit in memory."""
    if not 0 <= count <= MAX_ARRIVALS:
        raise InputError("count", count, f"an integer 0..{MAX_ARRIVALS}")
