"""What a run came to: placed and pending, by GPU model, conflicts, speed and waits."""

from collections.abc import Sequence
from typing import Final

import msgspec
import numpy as np
import numpy.typing as npt

from stretto.explain.inquiry import Inquiry
from stretto.explain.pending import reasons_of
from stretto.explain.scene import Scene
from stretto.framework import formulas_devices as formulas
from stretto.framework.contract import View
from stretto.framework.program import TypicalPods
from stretto.inputs.objects import GPU
from stretto.plane import Plane
from stretto.sim.live import LiveRun
from stretto.state.devices import WHOLE
from stretto.state.lifecycle import PodState
from stretto.state.resources import CPU, MEMORY

SCHEMA: Final = "stretto.run/v1"
"""Version of the report as JSON."""
EXPLAINED: Final = 1_000_000
"""Answers of nodes that are worked out to say why pods wait: a second or so."""
_CONFLICTS: Final = (
    "node changed",
    "no longer fits",
    "node no longer eligible",
    "too few of the gang left",
)


class ModelRow(msgspec.Struct, frozen=True):
    """The GPUs of one model."""

    #: Name of the model; ``all`` for the sum.
    model: str
    #: Nodes that have it.
    nodes: int
    #: GPUs.
    gpus: int
    #: Share of the GPU milli that is allocated, in percent.
    allocated_pct: float
    #: Free GPU milli that typical pods could not use, in percent of all.
    fragmented_pct: float


class PendingRow(msgspec.Struct, frozen=True):
    """Pods that wait for one reason."""

    #: How many.
    pods: int
    #: Sort of reason.
    tier: str
    #: Stable code of the reason.
    code: str
    #: The reason in a sentence, of the example.
    sentence: str
    #: One of them, as ``namespace/name``.
    example: str


class Waits(msgspec.Struct, frozen=True):
    """How long pods waited from first sight to bind, in milliseconds."""

    #: Half of them waited less.
    p50: float
    #: Nine in ten waited less.
    p90: float
    #: Ninety-nine in a hundred waited less.
    p99: float
    #: The longest wait.
    longest: float


class RunReport(msgspec.Struct, frozen=True, kw_only=True):
    """A run in figures."""

    #: Name of the scenario.
    scenario: str
    #: Name of the profile or policy.
    profile: str
    #: Seed of every draw.
    seed: int
    #: Scheduler shards.
    shards: int
    #: Whether it was interrupted: more would have come.
    partial: bool
    #: Whether it went on with an interrupted run.
    resumed: bool
    #: Nodes.
    nodes: int
    #: Pods that came.
    pods: int
    #: Pods on nodes at the end.
    placed: int
    #: Pods that had a node and have left.
    ended: int
    #: Pods without node at the end.
    pending: int
    #: Why they wait, the commonest reason first.
    reasons: tuple[PendingRow, ...]
    #: The GPUs by model, the sum last; empty without GPUs.
    gpu_models: tuple[ModelRow, ...]
    #: CPU asked for by placed pods, in percent of what the nodes offer.
    cpu_pct: float
    #: Memory asked for by placed pods, in percent of what the nodes offer.
    memory_pct: float
    #: Claims that were refused because somebody else was faster.
    conflicts: int
    #: Pods bound in this run (a pod that was bound, left and came back counts again).
    bound: int
    #: Seconds from the start to the last bind.
    seconds: float
    #: Pods bound per second.
    pods_per_s: float
    #: How long pods waited; ``None`` where none was bound.
    wait_ms: Waits | None
    #: A pod that has a node, to ask about; empty where none has.
    placed_example: str = ""


class Outline(msgspec.Struct, frozen=True):
    """What is known of a run before it begins."""

    #: Name of the scenario.
    scenario: str
    #: Seed of every draw.
    seed: int
    #: Whether it goes on with an interrupted run.
    resumed: bool


def report_of(
    run: LiveRun, plane: Plane, outline: Outline, scene: Scene, partial: bool
) -> RunReport:
    """The figures of a run, as it is now."""
    sample = run.sample()
    seconds = max(run.last_bind - run.start, 1e-9)
    cluster = plane.cluster
    pods = cluster.pods
    bound = np.flatnonzero(pods.state[: pods.length] == PodState.BOUND)
    return RunReport(
        scenario=outline.scenario,
        profile=plane.config.profile.name,
        seed=outline.seed,
        shards=len(plane.shards),
        partial=partial,
        resumed=outline.resumed,
        nodes=len(cluster.nodes),
        pods=sample.arrived,
        placed=sample.placed,
        ended=sample.ended,
        pending=sample.pending,
        reasons=pending_rows(scene),
        gpu_models=model_rows(scene, run.typical),
        cpu_pct=_used_pct(plane, CPU),
        memory_pct=_used_pct(plane, MEMORY),
        conflicts=sum(plane.binder.counts[cause] for cause in _CONFLICTS),
        bound=run.bound,
        seconds=seconds if run.bound else 0.0,
        pods_per_s=run.bound / seconds,
        wait_ms=_waits(run.waits_s()),
        placed_example=pods.key(int(bound[len(bound) // 2])) if len(bound) else "",
    )


def pending_rows(scene: Scene) -> tuple[PendingRow, ...]:
    """Why pods wait: one row a reason, worked out once for each class."""
    cluster = scene.cluster
    pods = cluster.pods
    states = pods.state[: pods.length]
    over = (PodState.BOUND, PodState.ASSUMED, PodState.GONE)
    rows = np.flatnonzero(~np.isin(states, over))
    classes, first, counts = np.unique(pods.class_id[rows], return_index=True, return_counts=True)
    view, slots = scene.view(), cluster.nodes.live_slots()
    found: dict[tuple[str, str], PendingRow] = {}
    most = EXPLAINED // max(1, len(slots)) + 1
    for place in np.argsort(-counts, kind="stable")[:most].tolist():
        row, count = int(rows[first[place]]), int(counts[place])
        inquiry = Inquiry(scene.profile.filters, cluster.classes[int(classes[place])], view, slots)
        unit = scene.notes.unit_of(row)
        why = reasons_of(inquiry, PodState(int(states[row])), unit, None)[0]
        key = (why.tier.value, why.code.value)
        before = found.get(key)
        found[key] = (
            PendingRow(count, *key, why.sentence, pods.key(row))
            if before is None
            else msgspec.structs.replace(before, pods=before.pods + count)
        )
    rows_found = sorted(found.values(), key=lambda each: -each.pods)
    left = len(rows) - sum(each.pods for each in rows_found)
    if left:
        sentence = "There are too many kinds of pods to ask them all; ask explain."
        row = int(rows[first[np.argmin(counts)]])
        rows_found.append(PendingRow(left, "other", "not-asked", sentence, pods.key(row)))
    return tuple(rows_found)


def model_rows(scene: Scene, typical: TypicalPods) -> tuple[ModelRow, ...]:
    """Allocation and fragmentation by GPU model; fragmentation as the FGD study measures it."""
    view, slots = scene.view(), scene.cluster.nodes.live_slots()
    columns, table = view.columns, scene.cluster.ledger.devices
    kind = table.kind_number(GPU)
    there = columns.device_kind[slots] == kind
    if not there.any():
        return ()
    free = np.where(there, columns.device_free[slots], 0).clip(0)
    lost = _fragmented(typical, view, slots, kind)
    model = np.where(there.any(axis=1), columns.device_model[slots, there.argmax(axis=1)], 0)
    names = table.model_names
    rows = []
    for number in np.unique(model[there.any(axis=1)]).tolist():
        mine = there.any(axis=1) & (model == number)
        rows.append(_model_row(names[number] or "unnamed", there[mine], free[mine], lost[mine]))
    rows.sort(key=lambda row: (-row.gpus, row.model))
    has = there.any(axis=1)
    return (*rows, _model_row("all", there[has], free[has], lost[has]))


def _model_row(
    name: str,
    there: npt.NDArray[np.bool_],
    free: npt.NDArray[np.int32],
    lost: npt.NDArray[np.float64],
) -> ModelRow:
    gpus = int(there.sum())
    total = gpus * WHOLE
    allocated = 100 * (total - int(free.sum())) / total
    return ModelRow(name, len(there), gpus, allocated, 100 * float(lost.sum()) / total)


def _fragmented(
    typical: TypicalPods, view: View, slots: npt.NDArray[np.int64], kind: int
) -> npt.NDArray[np.float64]:
    """float64[k]: free GPU milli that the typical pods could not use."""
    columns = view.columns
    devices = formulas.Devices(
        columns.device_free[slots], columns.device_kind[slots], columns.device_model[slots]
    )
    return formulas.fragmentation(typical, columns.free[CPU, slots].clip(0), devices, kind)


def _used_pct(plane: Plane, column: int) -> float:
    """What is taken of a resource, in percent of what the nodes offer."""
    ledger, slots = plane.cluster.ledger, plane.cluster.nodes.live_slots()
    offered = int(ledger.alloc[slots, column].sum())
    return 100 * int(ledger.used[slots, column].sum()) / offered if offered else 0.0


def _waits(seconds: npt.NDArray[np.float64]) -> Waits | None:
    if not len(seconds):
        return None
    ms = 1000 * np.percentile(seconds, [50, 90, 99, 100])
    return Waits(*(round(float(each), 3) for each in ms))


def rows_of_models(rows: Sequence[ModelRow]) -> list[tuple[object, ...]]:
    """The GPU table as it is shown."""
    return [
        (row.model, row.nodes, row.gpus, f"{row.allocated_pct:.1f}", f"{row.fragmented_pct:.1f}")
        for row in rows
    ]
