"""Measured use of nodes, pods and best-effort pools, from the reports of node agents."""

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from stretto.api import codec
from stretto.api.types.cnr import CustomNodeResource, Usage
from stretto.api.types.effective_requests import requests
from stretto.api.types.pod import Pod
from stretto.api.wire.kinds import CUSTOM_NODE_RESOURCE, NODE, POD
from stretto.api.wire.quantity import Quantity, amount
from stretto.base.errors import InputError
from stretto.state.nodes.reports import MOST_CPU, MOST_MEMORY
from stretto.stores.store import Record

CPU: Final = "cpu"
MEMORY: Final = "memory"
MOST_USE: Final = {CPU: MOST_CPU, MEMORY: MOST_MEMORY}
"""Largest use of a machine by resource; a larger measurement is invalid."""


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
    #: RFC 3339 time of the measurement.
    measured: str | None


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
    #: CPU of the best-effort pool in milli-CPU; ``None`` for other levels.
    cpu_pool: int | None


def node_use(records: Iterable[Record]) -> list[NodeUseRow]:
    """Rows of the nodes, the busiest first."""
    found = list(records)
    reports, rows = _reports(found), []
    for record in found:
        if record.kind != NODE:
            continue
        status = msgspec.json.decode(record.body).get("status") or {}
        allocatable = status.get("allocatable") or {}
        report = reports.get(record.name)
        metric = report.status.node_metric_status if report is not None else None
        usage = metric.node_metric.generic_usage if metric and metric.node_metric else None
        cpu, memory = _amounts(usage)
        rows.append(
            NodeUseRow(
                record.name,
                cpu,
                amount(CPU, allocatable.get(CPU, 0), record.name),
                memory,
                amount(MEMORY, allocatable.get(MEMORY, 0), record.name),
                metric.update_time if metric else None,
            )
        )
    return sorted(rows, key=lambda row: (-(row.cpu or 0) / max(row.cpu_allocatable, 1), row.name))


def pod_use(records: Iterable[Record]) -> list[PodUseRow]:
    """Rows of the pods with a node, the largest request first."""
    found = list(records)
    levels = {
        key: group.qos_level
        for report in _reports(found).values()
        if report.status.node_metric_status is not None
        for group in report.status.node_metric_status.group_metric
        for key in group.pod_list
    }
    rows = []
    for record in found:
        if record.kind == POD and record.node:
            wanted = _requests(record)
            key = f"{record.namespace}/{record.name}"
            cpu, memory = wanted.get(CPU, 0), wanted.get(MEMORY, 0)
            rows.append(PodUseRow(key, record.node, cpu, memory, levels.get(key, "")))
    return sorted(rows, key=lambda row: (-row.cpu, -row.memory, row.name))


def pool_use(records: Iterable[Record]) -> list[PoolUseRow]:
    """Rows of the QoS levels of every node with a report."""
    rows = []
    for name, report in sorted(_reports(list(records)).items()):
        pool = report.status.resources.allocatable
        groups = {}
        if report.status.node_metric_status is not None:
            groups = {
                each.qos_level: each for each in report.status.node_metric_status.group_metric
            }
        for level in sorted({*groups, "reclaimed_cores"}):
            group = groups.get(level)
            cpu, memory = _amounts(group.generic_usage if group is not None else None)
            is_pool = level == "reclaimed_cores" and CPU in pool
            rows.append(
                PoolUseRow(
                    name,
                    level,
                    len(group.pod_list) if group is not None else 0,
                    cpu,
                    memory,
                    _measured(CPU, pool[CPU]) if is_pool else None,
                )
            )
    return rows


def _reports(records: Iterable[Record]) -> dict[str, CustomNodeResource]:
    """Reports by node; unreadable reports are skipped."""
    found = {}
    for record in records:
        if record.kind == CUSTOM_NODE_RESOURCE:
            try:
                found[record.name] = codec.decode_as(CustomNodeResource, record.body, record.name)
            except InputError:
                continue
    return found


def _requests(record: Record) -> Mapping[str, int]:
    """Requests of a pod; empty if the object cannot be decoded."""
    try:
        return requests(codec.decode_as(Pod, record.body, record.name).spec, record.name)
    except InputError:
        return {}


def _amounts(usage: Usage | None) -> tuple[int | None, int | None]:
    """CPU (milli-CPU) and memory (bytes) of a measurement."""
    if usage is None:
        return None, None
    return _measured(CPU, usage.cpu), _measured(MEMORY, usage.memory)


def _measured(resource: str, stated: Quantity | None) -> int | None:
    """Amount of a measurement as the scheduler reads it.

    It is ``None`` if it is absent or larger than any machine; a negative amount is 0.
    """
    if stated is None:
        return None
    try:
        found = amount(resource, stated, resource)
    except InputError:
        return None
    return max(found, 0) if found <= MOST_USE[resource] else None
