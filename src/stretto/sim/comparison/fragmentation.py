"""Allocation and fragmentation after each arrival, computed from the decisions of a run.

The published curves need both values after every arrival, but the plane decides in batches. Because
no pod ends, the ordered decisions are sufficient. They are replayed on columns of the nodes; each
decision changes the fragmentation F of one node only. The replay checks that no node is
over-committed.
"""

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from stretto.base.errors import InvariantBrokenError
from stretto.framework.compiled import devices as formulas
from stretto.framework.compiled.tables import TypicalPodTable
from stretto.inputs.neutral.fleet import WHOLE_GPU, Fleet

NOWHERE: Final = -1
"""Node of an arrival that was not placed."""
GPU_KIND: Final = 1
"""Kind number of GPUs in these columns, which contain no other devices."""

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


class ArrivalDecisions(NamedTuple):
    """Decisions on the arrivals of one run, in order."""

    #: int64[arrival]: row of the fleet's pod.
    pod: Ints
    #: int64[arrival]: row of the fleet's node; ``NOWHERE`` for none.
    node: Ints
    #: int64[arrival]: bit mask of the GPUs on that node.
    devices: Ints


class FragmentationCurve(NamedTuple):
    """Allocation and fragmentation of a fleet after each arrival."""

    #: int64[arrival]: GPU milli allocated.
    allocated: Ints
    #: float64[arrival]: GPU milli fragmented.
    fragmented: Floats


class FleetColumns(NamedTuple):
    """The nodes of a fleet as columns."""

    #: int64[node]: milli-CPU.
    cpu: Ints
    #: int32[node, device]: milli of each GPU; 0 for no GPU.
    gpus: npt.NDArray[np.int32]
    #: uint8[node, device]: ``GPU_KIND`` for a GPU, 0 for none.
    kind: npt.NDArray[np.uint8]
    #: uint8[node]: number of the node's GPU model.
    model: npt.NDArray[np.uint8]


def fleet_columns(fleet: Fleet, models: list[str]) -> FleetColumns:
    """The nodes of a fleet as columns; a model's number is its index in ``models``."""
    counts = np.array([node.gpus for node in fleet.nodes], np.int64)
    width = int(counts.max(initial=1))
    present = np.arange(width) < counts[:, None]
    number = {name: i for i, name in enumerate(models)}
    return FleetColumns(
        cpu=np.array([node.cpu_milli for node in fleet.nodes], np.int64),
        gpus=np.where(present, WHOLE_GPU, 0).astype(np.int32),
        kind=present.astype(np.uint8),
        model=np.array([number.get(node.gpu_model, 0) for node in fleet.nodes], np.uint8),
    )


def replay(
    fleet: Fleet, columns: FleetColumns, made: ArrivalDecisions, typical: TypicalPodTable
) -> FragmentationCurve:
    """Allocation and fragmentation after each arrival.

    Raises:
        InvariantBrokenError: the decisions over-commit a node.
    """
    placed = np.flatnonzero(made.node != NOWHERE)
    pods = made.pod[placed]
    cpus = np.array([pod.cpu_milli for pod in fleet.pods], np.int64)[pods]
    milli = np.array([pod.gpu_milli for pod in fleet.pods], np.int64)[pods]
    chosen = (made.devices[placed, None] >> np.arange(columns.gpus.shape[1])) & 1
    taken = chosen * milli[:, None]
    nodes = made.node[placed]
    order = np.argsort(nodes, kind="stable")
    first = np.flatnonzero(np.diff(nodes[order], prepend=-1))
    free_cpu = columns.cpu[nodes[order]] - _within(cpus[order], first)
    free_gpus = (columns.gpus[nodes[order]] - _within(taken[order], first)).astype(np.int32)
    _check(free_cpu, free_gpus, nodes[order], fleet)
    start = _f(typical, columns, np.arange(len(columns.cpu)), columns.cpu, columns.gpus)
    after = _f(typical, columns, nodes[order], free_cpu, free_gpus)
    before = np.concatenate([[0.0], after[:-1]]) if len(after) else after
    before[first] = start[nodes[order][first]]
    growth = np.zeros(len(made.node))
    growth[placed[order]] = after - before
    gained = np.zeros(len(made.node), np.int64)
    gained[placed] = taken.sum(axis=1)
    return FragmentationCurve(np.cumsum(gained), start.sum() + np.cumsum(growth))


def whole_percents(arrived_pct: Floats, *series: Floats | Ints) -> tuple[Ints, list[Floats]]:
    """Series averaged within each whole percent of arrival.

    The first returned array contains every whole percent from the first arrival's to the last. A
    percent without arrivals repeats the preceding value.
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
    """Running sums within groups; ``first`` contains the start of each group."""
    total = np.cumsum(amounts, axis=0)
    if not len(first):
        return total
    sizes = np.diff(np.append(first, len(amounts)))
    before = total[first] - amounts[first]
    return total - np.repeat(before, sizes, axis=0)


def _f(
    typical: TypicalPodTable,
    columns: FleetColumns,
    nodes: Ints,
    cpu: Ints,
    gpus: npt.NDArray[np.int32],
) -> Floats:
    """float64[k]: fragmentation F of nodes with the given free CPU and GPU milli."""
    kind = columns.kind[nodes]
    model = np.broadcast_to(columns.model[nodes, None], kind.shape)
    devices = formulas.DeviceSlots(gpus, kind, model)
    return formulas.fragmentation(typical, cpu.astype(np.int32), devices, GPU_KIND)


def _check(cpu: Ints, gpus: npt.NDArray[np.int32], nodes: Ints, fleet: Fleet) -> None:
    """Check that no node is over-committed."""
    wrong = np.flatnonzero((cpu < 0) | (gpus < 0).any(axis=1))
    if len(wrong):
        name = fleet.nodes[int(nodes[wrong[0]])].name
        reason = f"node {name} is over-committed"
        raise InvariantBrokenError("law 1 (no over-commitment)", reason, "report this as a bug")
