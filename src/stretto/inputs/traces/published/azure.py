"""Azure VM traces as Microsoft publishes them: ``vmtable.csv.gz`` of V1 (2017) and V2 (2019).

The VM table has no header. Times are seconds from the start of the trace, in steps of five minutes.
A VM is a pod with its cores and memory, which runs from its creation to its deletion; its
deployment is its owner, and its category determines its priority class. V2 has buckets of sizes:
the upper bound of a bucket is used, and ``>24`` cores and ``>64`` GB are the next sizes on sale.
The trace has no hosts. Deployments, subscriptions and readings repeat the VM table or do not affect
placement; they are not read.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from stretto.inputs.neutral.bounds import EVERYTHING, TraceBounds, check_kept
from stretto.inputs.neutral.fleet import MAX_CPU_MILLI, MAX_MEMORY_MIB, Fleet, FleetPod
from stretto.inputs.neutral.layouts import FileLayout
from stretto.inputs.neutral.rows import TraceRow, trace_rows
from stretto.inputs.traces.downloads import table_files

VM_TABLE: Final = FileLayout(
    what="VM table",
    required=(
        "vmid",
        "subscriptionid",
        "deploymentid",
        "vmcreated",
        "vmdeleted",
        "maxcpu",
        "avgcpu",
        "p95maxcpu",
        "vmcategory",
        "vmcorecount",
        "vmmemory",
    ),
    header=False,
    cells={
        "vmcreated": r"\d+(\.\d+)?",
        "vmdeleted": r"\d+(\.\d+)?",
        "vmcategory": r"delay-insensitive|interactive|unknown",
        "vmcorecount": r">?\d+(\.\d+)?",
        "vmmemory": r">?\d+(\.\d+)?",
    },
    names=("vmtable*",),
)
"""Columns of the VM table; in V2 the last two are buckets."""
PRIORITIES: Final = {"interactive": 1000, "unknown": 500, "delay-insensitive": 100}
"""Priority of each category: interactive VMs precede those that tolerate delay."""
LARGE_CORES: Final = 32
"""Cores of the bucket ``>24`` of V2: the next size on sale."""
LARGE_MEMORY_GB: Final = 112
"""Memory of the bucket ``>64`` of V2: that of a large-memory VM with 16 cores."""
_MAX_TIME_S: Final = 10**10


class AzureTable(msgspec.Struct, frozen=True, kw_only=True):
    """A workload in azure-vmtable format."""

    #: The VM table, or the folder of the download, relative to the scenario.
    vms: str


def load_vm_table(path: Path, bounds: TraceBounds = EVERYTHING) -> Fleet:
    """The VMs of a download as pods, by arrival.

    Args:
        path: the VM table, or a folder with it.
        bounds: the part that is kept; a job is a deployment.

    Raises:
        InputError: there is no VM table, or a row cannot be used.
    """
    files = table_files(path, (VM_TABLE,))
    seen: set[str] = set()
    pods: list[FleetPod] = []
    for row in trace_rows(files[VM_TABLE.what], VM_TABLE):
        pod = _pod(row, bounds)
        if pod is None:
            continue
        if pod.name in seen:
            row.refuse("vmid", "a unique VM")
        seen.add(pod.name)
        pods.append(pod)
        check_kept(len(pods), str(path))
    return Fleet((), bounds.first_jobs(pods), path.name, "CC-BY-4.0", notes=tuple(_notes(pods)))


def _pod(row: TraceRow, bounds: TraceBounds) -> FleetPod | None:
    """The pod of a VM; ``None`` if it is outside the bounds."""
    created = row.number("vmcreated", 0, _MAX_TIME_S)
    owner = row.text("deploymentid")
    deleted = row.number("vmdeleted", 0, _MAX_TIME_S)
    if not bounds.keeps(owner or row.name("vmid"), created, deleted):
        return None
    if deleted < created:
        row.refuse("vmdeleted", f"a time not before vmcreated {created:g}")
    category = row.text("vmcategory").lower() or "unknown"
    if category not in PRIORITIES:
        row.refuse("vmcategory", f"one of {', '.join(PRIORITIES)}")
    cores = _size(row, "vmcorecount", LARGE_CORES, MAX_CPU_MILLI // 1000)
    memory = _size(row, "vmmemory", LARGE_MEMORY_GB, MAX_MEMORY_MIB // 1024)
    return FleetPod(
        name=f"vm-{row.name('vmid')}",
        cpu_milli=round(1000 * cores),
        memory_mib=round(1024 * memory),
        arrival_s=created,
        duration_s=deleted - created,
        owner=owner,
        priority=PRIORITIES[category],
        priority_class=f"azure-{category}",
    )


def _size(row: TraceRow, column: str, large: float, high: float) -> float:
    """Cores or GB of a VM; a bucket ``>N`` is the next size on sale."""
    cell = row.text(column)
    if cell.startswith(">"):
        bound = cell[1:].strip()
        if not bound.replace(".", "", 1).isdecimal():
            row.refuse(column, "a number, or a bucket such as >24")
        return max(large, float(bound))
    return row.number(column, 0, high)


def _notes(pods: list[FleetPod]) -> Iterator[str]:
    large = sum(pod.cpu_milli == 1000 * LARGE_CORES for pod in pods)
    if large:
        yield f"{large:,} VMs have {LARGE_CORES} cores, the size of the bucket >24"
