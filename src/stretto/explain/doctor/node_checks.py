"""Law 1 on live state: amounts, devices and host ports of every node, counted anew from pods."""

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
"""Pods of a node that are named beside it, the largest first."""


def over_committed(cluster: Cluster) -> Iterator[Finding]:
    """Nodes whose pods ask for more of a resource than the node may give."""
    ledger = cluster.ledger
    live = cluster.nodes.live_slots()
    width = len(ledger.resources)
    over = np.argwhere(ledger.used[live, :width] > ledger.alloc[live, :width])
    for place, column in over.tolist():
        slot = int(live[place])
        resource = ledger.resources.names[column]
        used, has = int(ledger.used[slot, column]), int(ledger.alloc[slot, column])
        node = cluster.nodes.names[slot]
        asked = (
            f"its pods ask for {format_amount(resource, used)} of {format_amount(resource, has)}"
        )
        if column == PODS:
            asked = f"it has {used} pods and places for {has}"
        pods = _largest(cluster, slot, column)
        yield Finding(
            DoctorCheck.OVER_COMMITTED,
            f"node {node} is over-committed in {resource}: {asked}",
            (f"Node {node}", *pods),
        )


def _largest(cluster: Cluster, slot: int, column: int) -> list[str]:
    """The pods of a node that ask for most of a resource."""
    pods = cluster.pods
    rows = pods.on_slot(slot)
    asks = cluster.classes.requests_of(pods.class_id[rows])
    amounts = asks[:, column] if column < asks.shape[1] else np.zeros(len(rows))
    order = np.argsort(-amounts, kind="stable")[:NAMED]
    return [f"Pod {pods.key(int(rows[i]))}" for i in order.tolist()]


def device_clashes(cluster: Cluster) -> Iterator[Finding]:
    """Devices that are given to more than they have room for, and devices that do not exist."""
    table, pods = cluster.ledger.devices, cluster.pods
    for slot, device in np.argwhere((table.kind > 0) & (table.free < 0)).tolist():
        node, free = cluster.nodes.names[slot], int(table.free[slot, device])
        holders = [row for row in pods.on_slot(slot).tolist() if pods.devices[row] >> device & 1]
        keys = [pods.key(row) for row in holders]
        yield Finding(
            DoctorCheck.DEVICE_CLASH,
            f"node {node}: device {device} is given to {', '.join(keys)}, "
            f"{WHOLE - free} thousandths in all",
            (f"Node {node}", *(f"Pod {key}" for key in keys)),
        )
    yield from _missing_devices(cluster)


def _missing_devices(cluster: Cluster) -> Iterator[Finding]:
    """Pods that hold fewer devices of their node than they ask for."""
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
                    f"pod {key} asks for {request.count} {request.kind} and holds {len(held)} "
                    f"that node {node} has",
                    (f"Pod {key}", f"Node {node}"),
                )


def port_clashes(cluster: Cluster) -> Iterator[Finding]:
    """Pods of one node that want the same host port."""
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
    """What the engine keeps step by step and what counting gives, where they differ."""
    for breach in check_all(cluster):
        yield Finding(DoctorCheck.BOOKS, breach.what)


def _special_rows(cluster: Cluster) -> list[int]:
    """Rows on known nodes whose claims are more than amounts."""
    pods = cluster.pods
    rows = np.flatnonzero(pods.slot[: pods.length] != NO_SLOT)
    found: list[int] = rows[cluster.classes.special[pods.class_id[rows]] > 0].tolist()
    return found
