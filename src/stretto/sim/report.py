"""The report at the end of a run: placed, pending and why, use by GPU model, conflicts, speed.

It is made of what a plane shows and what a ``StepCounters`` has counted, and is the same for a run
in real time and for one in virtual time. ``tables`` lays it out for people, ``plots`` draws it.
"""

from typing import Final, NamedTuple

import msgspec
import numpy as np

from stretto.framework.compiled import devices as formulas
from stretto.framework.compiled.typical import observed_typical_pods
from stretto.plane.plane import Plane
from stretto.sim.counters import StepCounters
from stretto.sim.pending import PendingPods, waiting_pods
from stretto.sim.plots import PlotLine, PlotTexts, bars_png, curves_png
from stretto.state.classes.table import GPU
from stretto.state.rows.devices import WHOLE
from stretto.state.rows.lifecycle import PodState
from stretto.state.rows.resources import CPU, PODS

SCHEMA: Final = "stretto.run/v1"
"""Version of the form below as JSON."""
NO_MODEL: Final = "GPU"
"""Name of GPUs whose nodes name no model."""


class BindLatency(msgspec.Struct, frozen=True):
    """From the first sight of a pod to its bind, in milliseconds."""

    #: Half of the pods took no longer.
    p50_ms: float
    #: Nine in ten took no longer.
    p90_ms: float
    #: All but one in a hundred took no longer.
    p99_ms: float
    #: The longest.
    max_ms: float


class ModelUse(msgspec.Struct, frozen=True):
    """The GPUs of one model."""

    #: The model.
    model: str
    #: Nodes that have such GPUs.
    nodes: int
    #: GPUs.
    gpus: int
    #: Milli allocated.
    allocated_milli: int
    #: Milli allocated, in percent of what there is.
    allocated_pct: float
    #: Milli that are free and of no use to a typical pod, in percent of what there is; ``None``
    #: where no typical pod wants a GPU, so that nothing would be of use.
    fragmented_pct: float | None


class ResourceUse(msgspec.Struct, frozen=True):
    """One resource over all nodes, in exact units (milli-CPU, bytes, pieces)."""

    #: Its name.
    resource: str
    #: Allocated.
    used: int
    #: What the nodes offer.
    offered: int
    #: Allocated, in percent.
    used_pct: float


class RunReport(msgspec.Struct, frozen=True, kw_only=True):
    """One run."""

    #: Seconds from the start to the end, by the plane's clock.
    seconds: float
    #: Nodes in the end.
    nodes: int
    #: Pods that exist in the end.
    pods: int
    #: Pods that are on a node in the end.
    placed: int
    #: Pods that are on none.
    pending: int
    #: Pods placed a second, from the start to the last placement.
    pods_per_s: float
    #: Latency of what was placed; null where nothing was.
    latency: BindLatency | None
    #: Claims that were refused.
    conflicts: int
    #: Refused claims in percent of all claims.
    conflict_pct: float
    #: Refused claims by cause.
    conflicts_by_cause: dict[str, int]
    #: Pods placed by shard.
    placed_by_shard: dict[str, int]
    #: Why pods are pending, the commonest reason first.
    waiting: tuple[PendingPods, ...]
    #: Use of the GPUs, by model.
    models: tuple[ModelUse, ...]
    #: Use of the other resources.
    resources: tuple[ResourceUse, ...]
    #: Seconds since the start, for ``placed_after``.
    after_s: list[float]
    #: Pods placed by then.
    placed_after: list[int]
    #: Whether the run was interrupted.
    partial: bool = False


class TableData(NamedTuple):
    """One table, for whoever draws it."""

    #: Above it; may be empty.
    title: str
    #: Names of the columns.
    columns: tuple[str, ...]
    #: The cells; ``None`` is an empty one.
    rows: list[tuple[object, ...]]


def summarise(plane: Plane, meter: StepCounters, *, partial: bool = False) -> RunReport:
    """The report of a run as it stands now."""
    pods = plane.cluster.pods
    states = pods.state[: pods.length]
    placed = int(np.isin(states, [int(PodState.BOUND), int(PodState.ASSUMED)]).sum())
    refused = meter.refused.total()
    busy = meter.last - meter.start
    after, count = meter.way()
    return RunReport(
        seconds=plane.clock.monotonic() - meter.start,
        nodes=len(plane.cluster.nodes.by_name),
        pods=len(pods),
        placed=placed,
        pending=len(pods) - placed,
        pods_per_s=meter.placed / busy if busy > 0 else 0.0,
        latency=_latency(meter),
        conflicts=refused,
        conflict_pct=100.0 * refused / max(1, refused + meter.placed),
        conflicts_by_cause={cause.value: n for cause, n in meter.refused.most_common()},
        placed_by_shard={str(number): n for number, n in sorted(meter.placed_by_shard.items())},
        waiting=waiting_pods(plane),
        models=_models(plane),
        resources=_resources(plane),
        after_s=after,
        placed_after=count,
        partial=partial,
    )


def tables(report: RunReport) -> list[TableData]:
    """The report as tables, the overall figures first."""
    found = [TableData("", ("", "run"), _overall(report))]
    if report.waiting:
        rows: list[tuple[object, ...]] = [
            (each.pods, each.code, each.refusal, each.example) for each in report.waiting
        ]
        found.append(TableData("pending", ("pods", "why", "mostly", "for example"), rows))
    if report.models:
        columns = ("model", "nodes", "GPUs", "allocated %", "fragmented %")
        rows = [
            (each.model, each.nodes, each.gpus, each.allocated_pct, each.fragmented_pct)
            for each in report.models
        ]
        found.append(TableData("GPUs", columns, rows))
    rows = [(each.resource, each.used_pct) for each in report.resources]
    found.append(TableData("other resources", ("resource", "allocated %"), rows))
    return found


def plots(report: RunReport) -> dict[str, bytes]:
    """The report as PNG files by name."""
    placed = [float(count) for count in report.placed_after]
    way = PlotLine("", report.after_s, placed, steps=True)
    found = {
        "placed.png": curves_png(
            [way], PlotTexts("pods placed over time", "seconds", "pods placed")
        )
    }
    if report.models:
        parts = ("allocated", "fragmented", "free and of use")
        bars = {
            each.model: (
                each.allocated_pct,
                each.fragmented_pct or 0.0,
                max(0.0, 100.0 - each.allocated_pct - (each.fragmented_pct or 0.0)),
            )
            for each in report.models
        }
        words = PlotTexts("GPU milli by model", "model", "% of the model's GPU milli")
        found["gpus.png"] = bars_png(bars, parts, words)
    return found


def _overall(report: RunReport) -> list[tuple[object, ...]]:
    """The figures that are not about one thing."""
    latency = report.latency
    shown = (
        f"{latency.p50_ms:,.1f} / {latency.p99_ms:,.1f} / {latency.max_ms:,.1f}" if latency else "-"
    )
    shards = ", ".join(f"{number}: {count:,}" for number, count in report.placed_by_shard.items())
    return [
        ("nodes", f"{report.nodes:,}"),
        ("pods placed", f"{report.placed:,}"),
        ("pods pending", f"{report.pending:,}"),
        ("pods/s", f"{report.pods_per_s:,.0f}"),
        ("latency p50 / p99 / max (ms)", shown),
        ("conflicts", f"{report.conflicts:,} ({report.conflict_pct:.2f} %)"),
        ("placed by shard", shards or "-"),
        ("seconds", f"{report.seconds:,.2f}"),
    ]


def _latency(meter: StepCounters) -> BindLatency | None:
    waits = 1000.0 * meter.waits()
    if not len(waits):
        return None
    p50, p90, p99 = (float(each) for each in np.percentile(waits, (50, 90, 99)))
    return BindLatency(p50, p90, p99, float(waits.max()))


def _models(plane: Plane) -> tuple[ModelUse, ...]:
    """Use of the GPUs by model, the commonest first."""
    cluster = plane.cluster
    table, slots = cluster.ledger.devices, cluster.nodes.live_slots()
    kind = table.kind_number(GPU)
    there = table.kind[slots] == kind
    typical = plane.engine.typical
    if not len(typical.frequency):
        typical = observed_typical_pods(cluster)
    cpu = (cluster.ledger.alloc - cluster.ledger.used)[slots, CPU].clip(0, 1 << 30)
    columns = formulas.DeviceSlots(table.free[slots], table.kind[slots], table.model[slots])
    lost = formulas.fragmentation(typical, cpu.astype(np.int32), columns, kind)
    wanted = bool((typical.gpus > 0).any())
    first = np.argmax(there, axis=1)
    model = table.model[slots][np.arange(len(slots)), first]
    found = []
    for number in np.unique(model[there.any(axis=1)]).tolist():
        mine = there.any(axis=1) & (model == number)
        gpus = int(there[mine].sum())
        whole = gpus * WHOLE
        used = whole - int(table.free[slots][mine][there[mine]].sum())
        found.append(
            ModelUse(
                model=table.model_names[number] or NO_MODEL,
                nodes=int(mine.sum()),
                gpus=gpus,
                allocated_milli=used,
                allocated_pct=100.0 * used / whole,
                fragmented_pct=100.0 * float(lost[mine].sum()) / whole if wanted else None,
            )
        )
    return tuple(sorted(found, key=lambda each: (-each.gpus, each.model)))


def _resources(plane: Plane) -> tuple[ResourceUse, ...]:
    """Use of everything that is no device, where nodes offer it; places for pods left out."""
    ledger, slots = plane.cluster.ledger, plane.cluster.nodes.live_slots()
    found = []
    for column, name in enumerate(ledger.resources.names):
        offered, used = (
            int(ledger.alloc[slots, column].sum()),
            int(ledger.used[slots, column].sum()),
        )
        if offered and column != PODS:
            found.append(ResourceUse(name, used, offered, 100.0 * used / offered))
    return tuple(found)
