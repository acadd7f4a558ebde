"""The plots of one run: allocation over time, pending pods by reason, and a map of the nodes."""

from collections.abc import Sequence
from itertools import groupby
from typing import Final

import numpy as np
import numpy.typing as npt

from stretto.explain.records.curves import PlotLine, PlotTexts
from stretto.explain.words.amounts import format_count
from stretto.sim.occupancy import GPU, NAMES, OccupancySample
from stretto.sim.plots.figures import HeatCells, Pictures, draw_bars, draw_curves, draw_heat
from stretto.sim.report import RunReport
from stretto.state.cluster.cluster import Cluster
from stretto.state.rows.devices import WHOLE
from stretto.state.rows.resources import CPU, MEMORY

NAMED_NODES: Final = 16
"""Maximum number of nodes that the map labels one by one; a larger map labels device models."""
NARROW: Final = 0.05
"""Minimum part of the map for the label of a group of nodes."""
REASONS: Final = 10
"""Maximum number of reasons shown; the others share one bar."""


def run_plots(
    report: RunReport, samples: tuple[Sequence[OccupancySample], bool], cluster: Cluster
) -> Pictures:
    """The plots by file name.

    Args:
        report: the report of the run.
        samples: the timeline of the run; true in second place if its times are scenario seconds.
        cluster: the state at the end.
    """
    found = _allocated(*samples, has_devices=bool(report.models))
    if report.waiting:
        found |= _pending(report)
    return found | _nodes(cluster, report)


def _allocated(
    samples: Sequence[OccupancySample], of_scenario: bool, *, has_devices: bool
) -> Pictures:
    """The allocated part of each resource over time."""
    names = [name for name in NAMES if name != GPU or has_devices]
    times = [sample.time_s for sample in samples]
    lines = [
        PlotLine(name, times, [100 * sample.used[number] for sample in samples], number, steps=True)
        for number, name in enumerate(names)
    ]
    ends = ", ".join(f"{line.y[-1]:.0f} % of {line.label}" for line in lines)
    texts = PlotTexts(
        f"Allocated at the end: {ends}",
        "seconds of the scenario" if of_scenario else "seconds of the run",
        "allocated, % of allocatable",
        from_0=True,
        at_end=True,
    )
    return draw_curves("allocated", lines, texts)


def _pending(report: RunReport) -> Pictures:
    """Pending pods by reason at the end."""
    counts: dict[str, float] = {}
    for number, each in enumerate(report.waiting):
        why = f"{each.code}: {each.refusal}" if each.refusal else each.code
        name = why if number < REASONS else "other reasons"
        counts[name] = counts.get(name, 0.0) + each.pods
    main = report.waiting[0].refusal or report.waiting[0].code
    title = f"{report.pending:,} of {format_count(report.pods, 'pod')} pending, mostly {main}"
    return draw_bars("pending", counts, PlotTexts(title, "pods", ""))


# ---------------------------------------------------------------- nodes


def _nodes(cluster: Cluster, report: RunReport) -> Pictures:
    """The allocated part of each device of each node, or of CPU and memory without devices."""
    slots = cluster.nodes.live_slots()
    if not len(slots):
        return {}
    if not report.models:
        return _resource_map(cluster, slots)
    devices = cluster.ledger.devices
    slots = slots[(devices.kind[slots] > 0).any(axis=1)]
    used = np.where(devices.kind[slots] > 0, 1.0 - devices.free[slots] / WHOLE, np.nan)
    used = used[:, (devices.kind[slots] > 0).any(axis=0)]
    first = np.argmax(devices.kind[slots] > 0, axis=1)
    models = [devices.model_names[n] for n in devices.model[slots, first].tolist()]
    order = sorted(range(len(slots)), key=lambda i: (models[i], -float(np.nansum(used[i]))))
    names = [
        (cluster.nodes.names[int(slots[i])] if len(slots) <= NAMED_NODES else models[i] or GPU)
        for i in order
    ]
    whole, idle = int(np.isfinite(used).sum()), int((np.nansum(used, axis=1) == 0).sum())
    title = (
        f"{np.nansum(used):,.0f} of {whole:,} devices allocated; "
        f"{idle:,} of {format_count(len(slots), 'node')} without a device in use"
    )
    texts = PlotTexts(title, _along(len(slots), "model"), "device")
    rows = [str(number) for number in range(used.shape[1])]
    return draw_heat("nodes", HeatCells(used[order].T, rows, _groups(names)), texts)


def _resource_map(cluster: Cluster, slots: npt.NDArray[np.int64]) -> Pictures:
    ledger = cluster.ledger
    alloc = ledger.alloc[slots][:, [CPU, MEMORY]].astype(np.float64)
    used = np.where(alloc > 0, ledger.used[slots][:, [CPU, MEMORY]] / np.maximum(alloc, 1), np.nan)
    order = np.argsort(-np.nan_to_num(used[:, 0]), kind="stable")
    names = [cluster.nodes.names[int(slot)] for slot in slots[order]]
    shown = _groups(names) if len(slots) <= NAMED_NODES else []
    idle = int((np.nan_to_num(used).sum(axis=1) == 0).sum())
    title = f"{idle:,} of {format_count(len(slots), 'node')} idle at the end"
    texts = PlotTexts(title, _along(len(slots), "cpu in use"), "")
    return draw_heat("nodes", HeatCells(used[order].T, ["cpu", "memory"], shown), texts)


def _along(nodes: int, order: str) -> str:
    return "nodes" if nodes <= NAMED_NODES else f"{nodes:,} nodes, by {order}"


def _groups(names: Sequence[str]) -> list[tuple[str, int]]:
    """Runs of equal names with their first position; narrow runs have no name."""
    found, at = list[tuple[str, int]](), 0
    for name, members in groupby(names):
        size = len(list(members))
        found.append((name if size >= NARROW * len(names) else "", at))
        at += size
    return found
