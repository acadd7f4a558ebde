"""Allocation and fragmentation after each arrival, computed from what was decided.

The published curves ask for both after every arrival. The plane decides in batches, and inside a
batch nobody looks; but as nothing ever leaves, the decisions in their order say all. They are
replayed here on small columns of the GPU nodes: a decision changes one node, so only that node's
F changes. The replay trusts nobody: a node that would give more than it has is a broken law.
"""

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from stretto.base.errors import InvariantBrokenError
from stretto.framework.compiled import devices as formulas
from stretto.framework.compiled.tables import TypicalPodTable
from stretto.inputs.neutral.fleet import WHOLE_GPU, Fleet

NOWHERE: Final = -1
"""Node of an arrival that found no place."""
GPU_KIND: Final = 1
"""Kind number of GPUs on the columns here: they hold nothing else."""

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


class ArrivalDecisions(NamedTuple):
    """What became of the arrivals of one run, in their order."""

    #: int64[arrival]: row of the fleet's pod.
    pod: Ints
    #: int64[arrival]: row of the fleet's node; ``NOWHERE`` for none.
    node: Ints
    #: int64[arrival]: bit mask of the GPUs on that node.
    devices: Ints


class FragmentationCurve(NamedTuple):
    """The fleet after each arrival."""

    #: int64[arrival]: GPU milli allocated.
    allocated: Ints
    #: float64[arrival]: GPU milli fragmented.
    fragmented: Floats


class FleetColumns(NamedTuple):
    """The nodes of a fleet as columns."""

    #: int64[node]: milli-CPU.
    cpu: Ints
    #: int32[node, device]: milli of each GPU; 0 where there is none.
    gpus: npt.NDArray[np.int32]
    #: uint8[node, device]: ``GPU_KIND`` where there is a GPU.
    kind: npt.NDArray[np.uint8]
    #: uint8[node]: number of the node's GPU model.
    model: npt.NDArray[np.uint8]


def machines_of(fleet: Fleet, models: list[str]) -> FleetColumns:
    """The nodes of a fleet as columns, models numbered by their place in a list."""
    counts = np.array([node.gpus for node in fleet.nodes], np.int64)
    width = int(counts.max(initial=1))
    there = np.arange(width) < counts[:, None]
    number = {name: i for i, name in enumerate(models)}
    return FleetColumns(
        cpu=np.array([node.cpu_milli for node in fleet.nodes], np.int64),
        gpus=np.where(there, WHOLE_GPU, 0).astype(np.int32),
        kind=there.astype(np.uint8),
        model=np.array([number.get(node.gpu_model, 0) for node in fleet.nodes], np.uint8),
    )


def replay(
    fleet: Fleet, machines: FleetColumns, made: ArrivalDecisions, typical: TypicalPodTable
) -> FragmentationCurve:
    """The fleet after each arrival.

    Raises:
        InvariantBrokenError: a node would give more than it has.
    """
    placed = np.flatnonzero(made.node != NOWHERE)
    pods = made.pod[placed]
    cpus = np.array([pod.cpu_milli for pod in fleet.pods], np.int64)[pods]
    milli = np.array([pod.gpu_milli for pod in fleet.pods], np.int64)[pods]
    chosen = (made.devices[placed, None] >> np.arange(machines.gpus.shape[1])) & 1
    taken = chosen * milli[:, None]
    nodes = made.node[placed]
    order = np.argsort(nodes, kind="stable")
    first = np.flatnonzero(np.diff(nodes[order], prepend=-1))
    left_cpu = machines.cpu[nodes[order]] - _within(cpus[order], first)
    left_gpus = (machines.gpus[nodes[order]] - _within(taken[order], first)).astype(np.int32)
    _check(left_cpu, left_gpus, nodes[order], fleet)
    start = _f(typical, machines, np.arange(len(machines.cpu)), machines.cpu, machines.gpus)
    after = _f(typical, machines, nodes[order], left_cpu, left_gpus)
    before = np.concatenate([[0.0], after[:-1]]) if len(after) else after
    before[first] = start[nodes[order][first]]
    growth = np.zeros(len(made.node))
    growth[placed[order]] = after - before
    gained = np.zeros(len(made.node), np.int64)
    gained[placed] = taken.sum(axis=1)
    return FragmentationCurve(np.cumsum(gained), start.sum() + np.cumsum(growth))


def whole_percents(arrived_pct: Floats, *series: Floats | Ints) -> tuple[Ints, list[Floats]]:
    """Series averaged within each whole percent of arrival.

    The first array returned holds every whole percent from 0 (or the first arrival's) to the last;
    one at which nothing arrived repeats the state before it.
    """
    if not len(arrived_pct):
        return np.zeros(0, np.int64), [np.zeros(0) for _ in series]
    percent = np.rint(arrived_pct).astype(np.int64)
    count = np.bincount(percent)
    low = int(percent[0])
    here = np.arange(low, len(count))
    last = np.searchsorted(percent, here, side="right") - 1
    averaged = []
    for values in series:
        mean = np.bincount(percent, values) / np.maximum(count, 1)
        averaged.append(np.where(count[here] > 0, mean[here], values[last]))
    return here, averaged


def _within(amounts: Ints, first: Ints) -> Ints:
    """Running sums inside groups; ``first`` says where each group starts."""
    total = np.cumsum(amounts, axis=0)
    if not len(first):
        return total
    sizes = np.diff(np.append(first, len(amounts)))
    before = total[first] - amounts[first]
    return total - np.repeat(before, sizes, axis=0)


def _f(
    typical: TypicalPodTable,
    machines: FleetColumns,
    nodes: Ints,
    cpu: Ints,
    gpus: npt.NDArray[np.int32],
) -> Floats:
    """float64[k]: F of some nodes with so much left."""
    kind = machines.kind[nodes]
    model = np.broadcast_to(machines.model[nodes, None], kind.shape)
    columns = formulas.DeviceSlots(gpus, kind, model)
    return formulas.fragmentation(typical, cpu.astype(np.int32), columns, GPU_KIND)


def _check(cpu: Ints, gpus: npt.NDArray[np.int32], nodes: Ints, fleet: Fleet) -> None:
    """No node gives more than it has."""
    wrong = np.flatnonzero((cpu < 0) | (gpus < 0).any(axis=1))
    if len(wrong):
        name = fleet.nodes[int(nodes[wrong[0]])].name
        reason = f"node {name} gave more than it has"
        raise InvariantBrokenError("law 1 (no over-commitment)", reason, "report this as a bug")
