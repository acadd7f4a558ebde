"""Invariant 1: amounts, devices and host ports of every node, recomputed from its pods."""

from collections.abc import Iterator

import numpy as np

from stretto.explain.doctor.findings import DoctorCheck, Finding
from stretto.explain.words.amounts import format_amount
from stretto.state.cluster.cluster import Cluster
from stretto.state.queries.invariants import check_all
from stretto.state.rows.devices import MAX_DEVICES, WHOLE
from stretto.state.rows.pods import NO_SLOT
from stretto.state.rows.resources import PODS

NAMED = 5
"""Number of pods of a node that a finding names, the largest first."""


def over_committed(cluster: Cluster) -> Iterator[Finding]:
    """Nodes whose pods request more of a resource than is allocatable."""
    ledger = cluster.ledger
    live = cluster.nodes.live_slots()
    width = len(ledger.resources)
    over = np.argwhere(ledger.used[live, :width] > ledger.alloc[live, :width])
    for place, column in over.tolist():
        slot = int(live[place])
        resource = ledger.resources.names[column]
        used, has = int(ledger.used[slot, column]), int(ledger.alloc[slot, column])
        node = cluster.nodes.names[slot]
        detail = (
            f"its pods request {format_amount(resource, used)} of {format_amount(resource, has)}"
        )
        if column == PODS:
            detail = f"it has {used} pods and allows {has}"
        pods = _largest(cluster, slot, column)
        yield Finding(
            DoctorCheck.OVER_COMMITTED,
            f"node {node} is over-committed in {resource}: {detail}",
            (f"Node {node}", *pods),
        )


def _largest(cluster: Cluster, slot: int, column: int) -> list[str]:
    """The pods of a node that request most of a resource."""
    pods = cluster.pods
    rows = pods.on_slot(slot)
    requests = cluster.classes.requests_of(pods.class_id[rows])
    amounts = requests[:, column] if column < requests.shape[1] else np.zeros(len(rows))
    order = np.argsort(-amounts, kind="stable")[:NAMED]
    return [f"Pod {pods.key(int(rows[i]))}" for i in order.tolist()]


def device_clashes(cluster: Cluster) -> Iterator[Finding]:
    """Devices that are over-allocated, and allocated devices that do not exist on the node."""
    table, pods = cluster.ledger.devices, cluster.pods
    for slot, device in np.argwhere((table.kind > 0) & (table.free < 0)).tolist():
        node, free = cluster.nodes.names[slot], int(table.free[slot, device])
        holders = [row for row in pods.on_slot(slot).tolist() if pods.devices[row] >> device & 1]
        keys = [pods.key(row) for row in holders]
        yield Finding(
            DoctorCheck.DEVICE_CLASH,
            f"node {node}: device {device} is allocated to {', '.join(keys)}, "
            f"{WHOLE - free} thousandths in total",
            (f"Node {node}", *(f"Pod {key}" for key in keys)),
        )
    yield from _missing_devices(cluster)


def _missing_devices(cluster: Cluster) -> Iterator[Finding]:
    """Pods with fewer allocated devices than they request."""
    table, pods = cluster.ledger.devices, cluster.pods
    for row in _special_rows(cluster):
        pod, slot = cluster.classes[int(pods.class_id[row])], int(pods.slot[row])
        mask = int(pods.devices[row])
        for request in pod.devices:
            kind = table.kind_number(request.kind)
            held = [d for d in range(MAX_DEVICES) if mask >> d & 1 and table.kind[slot, d] == kind]
            if len(held) < request.count:
                key, node = pods.key(row), cluster.nodes.names[slot]
                yield Finding(
                    DoctorCheck.DEVICE_CLASH,
                    f"pod {key} requests {request.count} {request.kind} and has {len(held)} "
                    f"on node {node}",
                    (f"Pod {key}", f"Node {node}"),
                )


def port_clashes(cluster: Cluster) -> Iterator[Finding]:
    """Pods of one node that use the same host port."""
    pods = cluster.pods
    by_slot: dict[int, list[int]] = {}
    for row in _special_rows(cluster):
        if cluster.classes[int(pods.class_id[row])].ports:
            by_slot.setdefault(int(pods.slot[row]), []).append(row)
    for slot, rows in by_slot.items():
        node = cluster.nodes.names[slot]
        for place, row in enumerate(rows):
            ports = cluster.classes[int(pods.class_id[row])].ports
            for other in rows[:place]:
                theirs = cluster.classes[int(pods.class_id[other])].ports
                shared = [p for p in ports if any(p.conflicts(their) for their in theirs)]
                if shared:
                    one, two = pods.key(other), pods.key(row)
                    yield Finding(
                        DoctorCheck.PORT_CLASH,
                        f"node {node}: pods {one} and {two} both use host port "
                        f"{shared[0].port}/{shared[0].protocol}",
                        (f"Node {node}", f"Pod {one}", f"Pod {two}"),
                    )


def ledger_differences(cluster: Cluster) -> Iterator[Finding]:
    """Differences between the incrementally updated ledger and a recount."""
    for breach in check_all(cluster):
        yield Finding(DoctorCheck.LEDGER, breach.what)


def _special_rows(cluster: Cluster) -> list[int]:
    """Rows of pods on known nodes that request more than plain amounts: devices or host ports."""
    pods = cluster.pods
    rows = np.flatnonzero(pods.slot[: pods.length] != NO_SLOT)
    found: list[int] = rows[cluster.classes.special[pods.class_id[rows]] > 0].tolist()
    return found
