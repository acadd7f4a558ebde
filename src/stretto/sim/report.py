"""The report of a run: placed and pending pods, GPU usage by model, conflicts and speed.

It is computed from a plane and its ``StepCounters``, in real time and in virtual time alike.
``tables`` formats it as tables; ``stretto.sim.plots.run`` draws it.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec
import numpy as np

from stretto.framework.compiled import devices as formulas
from stretto.framework.compiled.typical import observed_typical_pods
from stretto.plane.plane import Plane
from stretto.sim.counters import StepCounters
from stretto.sim.pending import PendingPods, waiting_pods
from stretto.state.classes.table import GPU
from stretto.state.cluster.cluster import Cluster
from stretto.state.rows.devices import WHOLE, mask_to_text
from stretto.state.rows.lifecycle import PodState
from stretto.state.rows.resources import CPU, PODS, STORAGE

if TYPE_CHECKING:
    from stretto.sim.elasticity.scaling import ReplicaMove
    from stretto.sim.fitting.tides import SwitchReport

SCHEMA: Final = "stretto.run/v1"
"""Version of ``RunReport`` as JSON."""
NO_MODEL: Final = "GPU"
"""Name of GPUs on nodes that state no model."""


class BindLatency(msgspec.Struct, frozen=True):
    """Time from the first watch event of a pod to its bind, in milliseconds."""

    #: Median.
    p50_ms: float
    #: 90th percentile.
    p90_ms: float
    #: 99th percentile.
    p99_ms: float
    #: Maximum.
    max_ms: float


class ModelUse(msgspec.Struct, frozen=True):
    """Usage of the GPUs of one model."""

    #: The model.
    model: str
    #: Nodes with GPUs of this model.
    nodes: int
    #: Number of GPUs.
    gpus: int
    #: Allocated GPU milli.
    allocated_milli: int
    #: Allocated GPU milli, in percent of all.
    allocated_pct: float
    #: Free GPU milli that no typical pod can use, in percent of all; ``None`` if no typical pod
    #: requests a GPU.
    fragmented_pct: float | None


class ResourceUse(msgspec.Struct, frozen=True):
    """One resource over all nodes, in exact units (milli-CPU, bytes, counts)."""

    #: Name of the resource.
    resource: str
    #: Allocated amount.
    used: int
    #: Allocatable amount of all nodes.
    offered: int
    #: Allocated amount, in percent of the allocatable amount.
    used_pct: float


class PodPlacement(msgspec.Struct, frozen=True):
    """Placement of one pod at the end of a run."""

    #: ``namespace/name``.
    pod: str
    #: Its node; empty for a pending pod.
    node: str
    #: Its allocated devices, such as ``0,3``; empty for none.
    devices: str


class RunReport(msgspec.Struct, frozen=True, kw_only=True):
    """Results of one run."""

    #: Seconds from the start to the end, by the plane's clock.
    seconds: float
    #: Nodes at the end.
    nodes: int
    #: Pods that exist at the end.
    pods: int
    #: Pods on a node at the end.
    placed: int
    #: Pods without a node at the end.
    pending: int
    #: Pods placed per second, from the start to the last placement.
    pods_per_s: float
    #: Latency of the placed pods; null if no pod was placed.
    latency: BindLatency | None
    #: Refused claims.
    conflicts: int
    #: Refused claims in percent of all claims.
    conflict_pct: float
    #: Refused claims by cause.
    conflicts_by_cause: dict[str, int]
    #: Pods placed by shard.
    placed_by_shard: dict[str, int]
    #: Pending pods by reason, the most frequent reason first.
    waiting: tuple[PendingPods, ...]
    #: Usage of the GPUs, by model.
    models: tuple[ModelUse, ...]
    #: Usage of the other resources.
    resources: tuple[ResourceUse, ...]
    #: Seconds since the start: the times of ``placed_after``.
    after_s: list[float]
    #: Pods placed up to each time.
    placed_after: list[int]
    #: True if the run was interrupted.
    partial: bool = False
    #: Pods evicted by Stretto, by cause.
    evicted: dict[str, int] = {}
    #: Node of each pod that exists at the end, by name; only in the output of ``run --json``.
    placements: tuple[PodPlacement, ...] = ()


class TableData(NamedTuple):
    """One table, independent of its format."""

    #: Title; may be empty.
    title: str
    #: Names of the columns.
    columns: tuple[str, ...]
    #: The cells; ``None`` is an empty cell.
    rows: list[tuple[object, ...]]


def switch_table(switches: "Sequence[SwitchReport]") -> TableData:
    """Nodes that switched between the sides of tidal pools, one row each."""
    columns = ("at", "pool", "node", "becomes", "for", "evicts")
    rows: list[tuple[object, ...]] = [
        (
            f"{each.seconds:,.0f} s",
            each.pool,
            each.node,
            each.to,
            _one_or_many(each.beneficiaries),
            _one_or_many(each.evicted),
        )
        for each in switches
    ]
    return TableData("tidal pools", columns, rows)


def move_table(moves: "Sequence[ReplicaMove]") -> TableData:
    """Changes of the replicas of scaling groups, one row each."""
    columns = ("at", "policy", "group", "workload", "replicas")
    rows: list[tuple[object, ...]] = [
        (f"{m.seconds:,.0f} s", m.policy, m.group, m.workload, f"{m.before} → {m.after}")
        for m in moves
    ]
    return TableData("scaling groups", columns, rows)


def _one_or_many(pods: tuple[str, ...]) -> str:
    """One pod by its name, several pods by their number."""
    return pods[0] if len(pods) == 1 else f"{len(pods)} pods" if pods else ""


def summarise(plane: Plane, counters: StepCounters, *, partial: bool = False) -> RunReport:
    """The report of a run at this instant."""
    pods = plane.cluster.pods
    states = pods.state[: pods.length]
    placed = int(np.isin(states, [int(PodState.BOUND), int(PodState.ASSUMED)]).sum())
    refused = counters.refused.total()
    busy = counters.last - counters.start
    after, count = counters.progress()
    return RunReport(
        seconds=plane.clock.monotonic() - counters.start,
        nodes=len(plane.cluster.nodes.by_name),
        pods=len(pods),
        placed=placed,
        pending=len(pods) - placed,
        pods_per_s=counters.placed / busy if busy > 0 else 0.0,
        latency=_latency(counters),
        conflicts=refused,
        conflict_pct=100.0 * refused / max(1, refused + counters.placed),
        conflicts_by_cause={cause.value: n for cause, n in counters.refused.most_common()},
        placed_by_shard={str(number): n for number, n in sorted(counters.placed_by_shard.items())},
        waiting=waiting_pods(plane),
        models=_models(plane),
        resources=_resources(plane),
        after_s=after,
        placed_after=count,
        partial=partial,
        evicted={cause.value: n for cause, n in plane.cluster.evictions.counts.items() if n},
    )


def placements_of(cluster: Cluster) -> tuple[PodPlacement, ...]:
    """The pods of a cluster with their nodes, by namespace and name."""
    pods, names = cluster.pods, cluster.nodes.names
    slots = pods.slot.tolist()
    found = [
        PodPlacement(
            pods.key(row),
            names[slots[row]] if slots[row] >= 0 else "",
            mask_to_text(int(pods.devices[row])),
        )
        for row in pods.rows().tolist()
    ]
    return tuple(sorted(found, key=lambda each: each.pod))


def tables(report: RunReport) -> list[TableData]:
    """The report as tables; the first table has the totals."""
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


def _overall(report: RunReport) -> list[tuple[object, ...]]:
    """The totals of the run."""
    latency = report.latency
    shown = (
        f"{latency.p50_ms:,.1f} / {latency.p99_ms:,.1f} / {latency.max_ms:,.1f}" if latency else "-"
    )
    evicted = ", ".join(f"{count:,} {cause}" for cause, count in report.evicted.items())
    shards = ", ".join(f"{number}: {count:,}" for number, count in report.placed_by_shard.items())
    return [
        ("nodes", f"{report.nodes:,}"),
        ("pods on nodes", f"{report.placed:,}"),
        ("pods pending", f"{report.pending:,}"),
        *([("pods evicted", evicted)] if evicted else []),
        ("pods/s", f"{report.pods_per_s:,.0f}"),
        ("latency p50 / p99 / max (ms)", shown),
        ("conflicts", f"{report.conflicts:,} ({report.conflict_pct:.2f} %)"),
        ("placements by shard", shards or "-"),
        ("seconds", f"{report.seconds:,.2f}"),
    ]


def _latency(counters: StepCounters) -> BindLatency | None:
    waits = 1000.0 * counters.waits()
    if not len(waits):
        return None
    p50, p90, p99 = (float(each) for each in np.percentile(waits, (50, 90, 99)))
    return BindLatency(p50, p90, p99, float(waits.max()))


def _models(plane: Plane) -> tuple[ModelUse, ...]:
    """Usage of the GPUs by model, the model with the most GPUs first."""
    cluster = plane.cluster
    table, slots = cluster.ledger.devices, cluster.nodes.live_slots()
    kind = table.kind_number(GPU)
    present = table.kind[slots] == kind
    typical = plane.engine.typical
    if not len(typical.frequency):
        typical = observed_typical_pods(cluster)
    cpu = (cluster.ledger.alloc - cluster.ledger.used)[slots, CPU].clip(0, 1 << 30)
    columns = formulas.DeviceSlots(table.free[slots], table.kind[slots], table.model[slots])
    lost = formulas.fragmentation(typical, cpu.astype(np.int32), columns, kind)
    wanted = bool((typical.gpus > 0).any())
    first = np.argmax(present, axis=1)
    model = table.model[slots][np.arange(len(slots)), first]
    found = []
    for number in np.unique(model[present.any(axis=1)]).tolist():
        mine = present.any(axis=1) & (model == number)
        gpus = int(present[mine].sum())
        whole = gpus * WHOLE
        used = whole - int(table.free[slots][mine][present[mine]].sum())
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
    """Usage of each allocatable resource, without devices and without the ``pods`` resource.

    Local disks are omitted if no pod requests them, because every generated node has one.
    """
    ledger, slots = plane.cluster.ledger, plane.cluster.nodes.live_slots()
    found = []
    for column, name in enumerate(ledger.resources.names):
        offered, used = (
            int(ledger.alloc[slots, column].sum()),
            int(ledger.used[slots, column].sum()),
        )
        unasked = column == STORAGE and not used
        if offered and column != PODS and not unasked:
            found.append(ResourceUse(name, used, offered, 100.0 * used / offered))
    return tuple(found)
