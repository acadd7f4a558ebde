"""The memory part of the reclaim study: loans of each estimator on measured memory.

Nodes are filled with virtual machines of a trace by their requests, and the machines run for the
whole time. In each step of five minutes an estimator reads the memory of the step before and
computes the headroom, which reclaimed pods use completely. If the machines leave less memory than
the headroom, the excess is killed. The trace has no caches and no NUMA nodes, so each node is one
NUMA node without caches.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import msgspec
from msgspec import UNSET, UnsetType

from stretto.base.rng import Rng
from stretto.capacity.headroom.readings import CoreLevel, MemoryContainer, NumaMemory
from stretto.capacity.reclaim.estimators import estimator
from stretto.capacity.reclaim.reading import (
    HeadroomEstimator,
    HeadroomReading,
    NodeMemory,
    OwnerPod,
)
from stretto.explain.records.curves import PlotTexts
from stretto.framework.profile.capacity.reclaim import MemoryEstimator, MemoryRules, ReclaimRules
from stretto.inputs.traces.measured_use import STEP_S
from stretto.inputs.traces.memory_use import VmMemory
from stretto.sim.plots.figures import Pictures, draw_bars
from stretto_lab.studies.reclaim.sweep import HINDSIGHT, REQUESTS, WARM_UP_H
from stretto_lab.studies.reclaim.tasks import HOUR_S

GIB: Final = 1 << 30
WATERMARK: Final = 10.0
"""The kernel's default ``watermark_scale_factor``."""
METHODS: Final = tuple(each for each in MemoryEstimator if each is not MemoryEstimator.SAME)
"""The estimators that are compared."""


class MemoryStudy(msgspec.Struct, frozen=True):
    """Size of the study."""

    #: Nodes.
    nodes: int = 20
    #: Memory of a node in GiB.
    gib: int = 256
    #: Hours after the warm-up.
    hours: float = 48.0
    #: Percent of the memory that virtual machines may request.
    requested: int = 90
    #: Seed of the choice of virtual machines.
    seed: int = 0

    @property
    def runs(self) -> int:
        """Number of points."""
        return len(METHODS) + 2


class MemoryPoint(msgspec.Struct, frozen=True):
    """One lender; percentages are those of all memory."""

    #: The estimator, ``requests`` or ``hindsight``.
    lender: str
    #: Mean headroom.
    loaned_pct: float
    #: Mean memory that reclaimed pods used.
    batch_pct: float
    #: Mean memory that virtual machines and reclaimed pods used.
    node_pct: float
    #: Percent of steps in which the virtual machines left less than the headroom.
    short_pct: float
    #: Mean memory of reclaimed pods that was killed per hour.
    killed_pct_per_h: float
    #: Largest part of a node's memory that was killed in one step.
    worst_pct: float


class MemoryStudyResult(msgspec.Struct, frozen=True):
    """Estimators of reclaimed memory: ``stretto study reclaim --memory``."""

    #: Options of the study.
    study: MemoryStudy
    #: Number of virtual machines in the trace.
    machines: int
    #: The runs.
    points: list[MemoryPoint]
    #: True if the study was interrupted; absent if it was not.
    partial: bool | UnsetType = UNSET


class _Sums(msgspec.Struct):
    """Sums over steps and nodes, in bytes."""

    #: Measured steps.
    steps: int = 0
    #: Headroom.
    loaned: float = 0.0
    #: Memory used by reclaimed pods.
    batch: float = 0.0
    #: Memory used by virtual machines.
    owned: float = 0.0
    #: Steps with less memory than the headroom.
    short: int = 0
    #: Memory that was killed.
    killed: float = 0.0
    #: Largest amount that was killed in one step of one node.
    worst: float = 0.0

    def add(self, loan: float, owned: int, left: int) -> None:
        """Count one step of one node."""
        over = max(loan - left, 0.0)
        self.steps += 1
        self.loaned += loan
        self.batch += loan - over
        self.owned += owned
        self.short += over > 0
        self.killed += over
        self.worst = max(self.worst, over)


def memory_points(study: MemoryStudy, vms: Mapping[str, VmMemory]) -> Iterator[MemoryPoint]:
    """Run every lender and yield the points; ``requests`` is the first lender."""
    rng = Rng(study.seed).child("reclaim-memory")
    nodes = [_filled(study, vms, rng.child(number)) for number in range(study.nodes)]
    for lender in (REQUESTS, *(each.value for each in METHODS), HINDSIGHT):
        sums = _Sums()
        for node in nodes:
            _run(lender, node, study, sums)
        yield _point(lender, sums, study)


def _filled(study: MemoryStudy, vms: Mapping[str, VmMemory], rng: Rng) -> list[VmMemory]:
    """Virtual machines in a random order; one that does not fit is left out."""
    names, free = sorted(vms), study.gib * GIB * study.requested // 100
    chosen = []
    for index in rng.numpy().permutation(len(names)).tolist():
        vm = vms[names[index]]
        if vm.request <= free:
            chosen.append(vm)
            free -= vm.request
    return chosen


def _run(lender: str, vms: Sequence[VmMemory], study: MemoryStudy, sums: _Sums) -> None:
    """Run one lender over the steps of one node; figures exclude the warm-up."""
    whole, requested = study.gib * GIB, sum(vm.request for vm in vms)
    warm_up = WARM_UP_H * HOUR_S // STEP_S
    model, batch = _model(lender), 0
    for step in range(round((WARM_UP_H + study.hours) * HOUR_S / STEP_S)):
        owned = sum(_used(vm, step) for vm in vms)
        left = max(whole - owned, 0)
        if model is not None:
            loan = model.estimate(_reading(vms, batch, whole, step)).memory
        else:
            loan = whole - requested if lender == REQUESTS else left
        batch = min(loan, left)
        if step >= warm_up:
            sums.add(loan, owned, left)


def _model(lender: str) -> HeadroomEstimator | None:
    """The estimator of a lender with the defaults of the profile."""
    if lender in (REQUESTS, HINDSIGHT):
        return None
    return estimator(ReclaimRules(memory=MemoryRules(MemoryEstimator(lender))))


def _used(vm: VmMemory, step: int) -> int:
    """Used bytes of a virtual machine, at most its request; a series that ends starts again."""
    return min(vm.use[step % len(vm.use)], vm.request)


def _reading(vms: Sequence[VmMemory], batch: int, whole: int, step: int) -> HeadroomReading:
    """Return the state of a node that its agent measured in the step before."""
    used = [_used(vm, max(step - 1, 0)) for vm in vms]
    owners = tuple(
        OwnerPod(str(number), (0, vm.request), (0, use), float((step + 1) * STEP_S))
        for number, (vm, use) in enumerate(zip(vms, used, strict=True))
    )
    total = sum(used) + batch
    free = float(max(whole - total, 0))
    pods = [
        MemoryContainer(
            owner.uid,
            CoreLevel.SHARED,
            float(owner.request[1]),
            rss=float(use),
            usage=float(use),
            numas=(0,),
        )
        for owner, use in zip(owners, used, strict=True)
    ]
    if batch:
        amount = float(batch)
        pods.append(
            MemoryContainer(
                "batch",
                CoreLevel.RECLAIMED,
                amount,
                rss=amount,
                usage=amount,
                numas=(0,),
                numa_memory={0: amount},
            )
        )
    memory = NodeMemory({0: NumaMemory(free, 0.0, float(whole))}, tuple(pods), free, WATERMARK)
    return HeadroomReading((0, whole), (0, total), (0, batch), owners, float(step * STEP_S), memory)


def _point(lender: str, sums: _Sums, study: MemoryStudy) -> MemoryPoint:
    """Return the figures as shares."""
    node = study.gib * GIB
    whole = max(sums.steps, 1) * node
    return MemoryPoint(
        lender=lender,
        loaned_pct=round(100 * sums.loaned / whole, 1),
        batch_pct=round(100 * sums.batch / whole, 1),
        node_pct=round(100 * (sums.owned + sums.batch) / whole, 1),
        short_pct=round(100 * sums.short / max(sums.steps, 1), 2),
        killed_pct_per_h=round(100 * sums.killed / whole * HOUR_S / STEP_S, 3),
        worst_pct=round(100 * sums.worst / node, 1),
    )


def memory_plots(points: Sequence[MemoryPoint]) -> Pictures:
    """Plot the memory that reclaimed pods used, with the share of short steps, for each lender."""
    safe = max(
        (each for each in points if each.lender != HINDSIGHT and not each.short_pct),
        key=lambda each: each.batch_pct,
    )
    bars = {f"{each.lender}, short in {each.short_pct:.1f} %": each.batch_pct for each in points}
    title = f"Reclaimed pods use {safe.batch_pct:.0f} % of the memory without a shortage"
    texts = PlotTexts(
        f"{title} ({safe.lender})",
        "used by reclaimed pods, % of all memory",
        "",
    )
    return draw_bars("reclaim-memory", bars, texts)
