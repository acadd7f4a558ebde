"""Measured use of nodes, pods and best-effort pools, from the reports of node agents.

Use is read as the scheduler reads it. Each row has the age of the report, and a row with a stale
report comes after those with a current one.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Final

import msgspec

from stretto.api import codec
from stretto.api.types.cnr import Usage
from stretto.api.types.effective_requests import requests
from stretto.api.types.pod import Pod
from stretto.api.wire.kinds import NODE, POD
from stretto.api.wire.quantity import Quantity, amount
from stretto.base.errors import InputError
from stretto.explain.inventory.use.reports import (
    DEFAULT_EXPIRY,
    ReportExpiry,
    ReportFacts,
    ReportsOfNodes,
)
from stretto.state.nodes.reports import read_use
from stretto.stores.store import Record

CPU: Final = "cpu"
MEMORY: Final = "memory"
RECLAIMED: Final = "reclaimed_cores"
"""QoS level of the pods that use the pool of a node."""


class NodeUseRow(msgspec.Struct, frozen=True):
    """Use of a node; a field is ``None`` if it is not measured."""

    #: The node.
    name: str
    #: Used CPU in milli-CPU.
    cpu: int | None
    #: Allocatable CPU in milli-CPU.
    cpu_allocatable: int
    #: Used memory in bytes.
    memory: int | None
    #: Allocatable memory in bytes.
    memory_allocatable: int
    #: The report of the node.
    report: ReportFacts


class PodUseRow(msgspec.Struct, frozen=True):
    """Requests of a pod, and whether its node reports measurements of the pod."""

    #: Namespace and name.
    name: str
    #: Node of the pod.
    node: str
    #: Requested CPU in milli-CPU.
    cpu: int
    #: Requested memory in bytes.
    memory: int
    #: QoS level in the report; empty for a pod without a measurement.
    level: str
    #: The report of the node.
    report: ReportFacts


class PoolUseRow(msgspec.Struct, frozen=True):
    """Use by QoS level on a node, and the CPU limit of the level."""

    #: The node.
    node: str
    #: QoS level.
    level: str
    #: Number of measured pods.
    pods: int
    #: Used CPU in milli-CPU.
    cpu: int | None
    #: Used memory in bytes.
    memory: int | None
    #: CPU of the best-effort pool in milli-CPU; ``None`` for other levels and for no pool.
    cpu_pool: int | None
    #: The report of the node.
    report: ReportFacts


def node_use(records: Iterable[Record], expiry: ReportExpiry = DEFAULT_EXPIRY) -> list[NodeUseRow]:
    """Rows of the nodes: those with a current report first, then the busiest first."""
    found = list(records)
    reports = ReportsOfNodes(found, expiry.at, expiry.use_s)
    rows = [_node_row(record, reports) for record in found if record.kind == NODE]
    return sorted(
        rows,
        key=lambda row: (
            row.report.is_old,
            -(row.cpu or 0) / max(row.cpu_allocatable, 1),
            row.name,
        ),
    )


def pod_use(records: Iterable[Record], expiry: ReportExpiry = DEFAULT_EXPIRY) -> list[PodUseRow]:
    """Rows of the pods with a node, the largest request first."""
    found = list(records)
    reports = ReportsOfNodes(found, expiry.at, expiry.use_s)
    levels = {
        key: group.qos_level
        for name in reports.by_name
        for group in reports.groups(name)
        for key in group.pod_list
    }
    rows = []
    for record in found:
        if record.kind == POD and record.node:
            wanted = _requests(record)
            key = f"{record.namespace}/{record.name}"
            cpu, memory = wanted.get(CPU, 0), wanted.get(MEMORY, 0)
            facts = reports.facts(record.node, [])
            rows.append(PodUseRow(key, record.node, cpu, memory, levels.get(key, ""), facts))
    return sorted(rows, key=lambda row: (-row.cpu, -row.memory, row.name))


def pool_use(records: Iterable[Record], expiry: ReportExpiry = DEFAULT_EXPIRY) -> list[PoolUseRow]:
    """Rows of the QoS levels of every node with a report."""
    found = list(records)
    reports = ReportsOfNodes(found, expiry.at, expiry.pool_s)
    nodes, rows = {record.name for record in found if record.kind == NODE}, []
    for name in sorted({*reports.by_name, *reports.unreadable}):
        by_level = {each.qos_level: each for each in reports.groups(name)}
        for level in sorted({*by_level, RECLAIMED}):
            problems = [] if name in nodes else ["there is no node of this name"]
            group = by_level.get(level)
            cpu, memory = _use(group.generic_usage if group is not None else None, problems.append)
            offered = reports.pool(name).get(CPU) if level == RECLAIMED else None
            cpu_pool = _amount(CPU, offered, problems.append)
            pods = len(group.pod_list) if group is not None else 0
            facts = reports.facts(name, problems)
            rows.append(PoolUseRow(name, level, pods, cpu, memory, cpu_pool, facts))
    return rows


def _node_row(record: Record, reports: ReportsOfNodes) -> NodeUseRow:
    """Row of a node."""
    problems: list[str] = []
    status = msgspec.json.decode(record.body).get("status") or {}
    allocatable = status.get("allocatable") or {}
    cpu, memory = _use(reports.usage(record.name), problems.append)
    whole = [_amount(each, allocatable.get(each), problems.append) for each in (CPU, MEMORY)]
    facts = reports.facts(record.name, problems)
    return NodeUseRow(record.name, cpu, whole[0] or 0, memory, whole[1] or 0, facts)


def _requests(record: Record) -> Mapping[str, int]:
    """Requests of a pod; empty if the object cannot be decoded."""
    try:
        return requests(codec.decode_as(Pod, record.body, record.name).spec, record.name)
    except InputError:
        return {}


def _use(usage: Usage | None, complain: Callable[[str], None]) -> tuple[int | None, int | None]:
    """CPU (milli-CPU) and memory (bytes) of a measurement; ``None`` for those that it omits."""
    found = None if usage is None else read_use(usage, complain)
    if usage is None or found is None:
        return None, None
    cpu, memory = found
    return cpu if usage.cpu is not None else None, memory if usage.memory is not None else None


def _amount(resource: str, stated: Quantity | None, complain: Callable[[str], None]) -> int | None:
    """Stated amount of a resource; ``None`` if it is absent or malformed."""
    try:
        return None if stated is None else amount(resource, stated, resource)
    except InputError as error:
        complain(str(error))
        return None
