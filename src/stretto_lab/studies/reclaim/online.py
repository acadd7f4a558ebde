"""Online pods of one node over time: sizes and lifetimes of Azure VMs, usage of measured machines.

A pod requests all CPUs of its VM and uses the same share of them as a measured machine, from a
drawn moment of its series on. A node is filled by requests, and a new pod replaces each pod that
ends.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

import msgspec
import numpy as np

from stretto.inputs.traces.measured_use import FULL, STEP_S, UseTrace
from stretto.inputs.traces.one_pool import VmDay

MILLI: Final = 1000
"""Milli-CPU per core."""


class OnlinePod(msgspec.Struct, eq=False, gc=False):
    """A running pod."""

    #: Identity on its node.
    uid: str
    #: Requested milli-CPU.
    request: int
    #: Steps since it was created.
    age: int
    #: Steps until it ends.
    left: int
    #: The series of the machine whose usage the pod repeats.
    series: Sequence[int]
    #: Index of the first sample.
    offset: int

    def use(self) -> int:
        """Return the used milli-CPU in the present step."""
        sample = self.series[(self.offset + self.age) % len(self.series)]
        return self.request * sample // FULL


class VmKind(NamedTuple):
    """A size and a lifetime of the trace."""

    #: Cores.
    cores: int
    #: Lifetime in steps.
    steps: int


class OnlineSource:
    """Draws online pods."""

    def __init__(self, vms: VmDay, use: UseTrace, draw: np.random.Generator) -> None:
        """Draw sizes and lifetimes with their frequencies in the trace, and any series."""
        counts: dict[VmKind, int] = {}
        for flat in vms.bins:
            for shape, life, count in zip(flat[::3], flat[1::3], flat[2::3], strict=True):
                steps = max(1, round(vms.lifetimes_s[life] / STEP_S))
                kind = VmKind(vms.shapes[shape][0], steps)
                counts[kind] = counts.get(kind, 0) + count
        self._kinds = list(counts)
        arrivals = np.array(list(counts.values()), np.float64)
        present = arrivals * [kind.steps for kind in self._kinds]
        self._arrivals, self._present = arrivals / arrivals.sum(), present / present.sum()
        self._series = list(use.cpu.values())
        self._draw = draw
        self._made = 0

    def arrival(self) -> OnlinePod:
        """Return a pod that starts now."""
        return self._pod(self._kinds[int(self._draw.choice(len(self._kinds), p=self._arrivals))], 0)

    def resident(self) -> OnlinePod:
        """Return a pod that has been running for a part of its lifetime."""
        kind = self._kinds[int(self._draw.choice(len(self._kinds), p=self._present))]
        return self._pod(kind, int(self._draw.integers(kind.steps)))

    def _pod(self, kind: VmKind, age: int) -> OnlinePod:
        self._made += 1
        series = self._series[int(self._draw.integers(len(self._series)))]
        offset = int(self._draw.integers(len(series)))
        uid = f"online-{self._made}"
        return OnlinePod(uid, kind.cores * MILLI, age, kind.steps - age, series, offset)


def online_steps(
    source: OnlineSource, milli: int, steps: int
) -> Iterator[tuple[tuple[str, int, int, int], ...]]:
    """Yield the pods of a node by step: uid, requested milli-CPU, used milli-CPU, age in steps.

    Args:
        source: draws the pods.
        milli: milli-CPU that pods may request together.
        steps: number of steps.
    """
    running: list[OnlinePod] = []
    _fill(running, milli, source.resident)
    for _ in range(steps):
        yield tuple((pod.uid, pod.request, pod.use(), pod.age) for pod in running)
        for pod in running:
            pod.age += 1
            pod.left -= 1
        running = [pod for pod in running if pod.left > 0]
        _fill(running, milli, source.arrival)


def _fill(running: list[OnlinePod], milli: int, drawn: Callable[[], OnlinePod]) -> None:
    """Add pods until the next one does not fit."""
    free = milli - sum(pod.request for pod in running)
    while (pod := drawn()).request <= free:
        running.append(pod)
        free -= pod.request
