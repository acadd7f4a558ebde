"""Measured use of nodes, pods and best-effort pools, from the reports of node agents."""

from collections.abc import Iterable, Mapping

import msgspec

from stretto.api import codec
from stretto.api.types.cnr import CustomNodeResource, Usage
from stretto.api.types.effective_requests import requests
from stretto.api.types.pod import Pod
from stretto.api.wire.kinds import CUSTOM_NODE_RESOURCE, NODE, POD
from stretto.api.wire.quantity import Quantity, amount
from stretto.base.errors import InputError
from stretto.stores.store import Record

CPU = "cpu"
MEMORY = "memory"


class NodeUseRow(msgspec.Struct, frozen=True):
    """Use of a node; ``None`` where nothing is measured."""

    #: The node.
    name: str
    #: Used milli-CPU.
    cpu: int | None
    #: Allocatable milli-CPU.
    cpu_allocatable: int
    #: Used bytes.
    memory: int | None
    #: Allocatable bytes.
    memory_allocatable: int
    #: RFC 3339 time of the measurement.
    measured: str | None


class PodUseRow(msgspec.Struct, frozen=True):
    """What a pod requests, and whether its node measures it."""

    #: Namespace and name.
    name: str
    #: Its node.
    node: str
    #: Requested milli-CPU.
    cpu: int
    #: Requested bytes.
    memory: int
    #: QoS level in the report; empty for a pod that is not measured yet.
    level: str


class PoolUseRow(msgspec.Struct, frozen=True):
    """Use by QoS level on a node, and what the level may use."""

    #: The node.
    node: str
    #: QoS level.
    level: str
    #: Measured pods.
    pods: int
    #: Used milli-CPU.
    cpu: int | None
    #: Used bytes.
    memory: int | None
    #: Milli-CPU of the best-effort pool; ``None`` for other levels.
    cpu_pool: int | None


def node_use(records: Iterable[Record]) -> list[NodeUseRow]:
    """Nodes, the busiest first."""
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
    """Pods on nodes, the largest request first."""
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
    """QoS levels of every node with a report."""
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
    """Reports by node; unreadable ones are left out."""
    found = {}
    for record in records:
        if record.kind == CUSTOM_NODE_RESOURCE:
            try:
                found[record.name] = codec.decode_as(CustomNodeResource, record.body, record.name)
            except InputError:
                continue
    return found


def _requests(record: Record) -> Mapping[str, int]:
    """What a pod requests; empty if it cannot be read."""
    try:
        return requests(codec.decode_as(Pod, record.body, record.name).spec, record.name)
    except InputError:
        return {}


def _amounts(usage: Usage | None) -> tuple[int | None, int | None]:
    """Milli-CPU and bytes of a measurement."""
    if usage is None:
        return None, None
    return _measured(CPU, usage.cpu), _measured(MEMORY, usage.memory)


def _measured(resource: str, stated: Quantity | None) -> int | None:
    """An amount; ``None`` for an absent one, and for one that no machine can have."""
    if stated is None:
        return None
    try:
        return amount(resource, stated, resource)
    except InputError:
        return None
