"""Invariants as checks on live state.

Each check returns the breaches that it found, as text; an empty list means none. The checks
recompute from the rows the values that the engine updates incrementally, so they reveal bugs in the
incremental code. They run after every step of the fault simulator, and on demand in production.
"""

from typing import NamedTuple

import numpy as np

from stretto.state.cluster.cluster import Cluster
from stretto.state.cluster.offers import add_offered, add_offered_devices
from stretto.state.cluster.reservations import add_reserved
from stretto.state.rows.devices import MAX_DEVICES
from stretto.state.rows.lifecycle import PodState
from stretto.state.rows.pods import NO_SLOT
from stretto.state.work.claims import Plan, Verdict

PLACED = (PodState.NOMINATED, PodState.ASSUMED, PodState.BOUND)
"""States in which a pod uses its node's resources."""


class InvariantBreach(NamedTuple):
    """One broken invariant."""

    #: Number of the invariant in the design.
    law: int
    #: The breach, with names and amounts.
    what: str


def check_all(cluster: Cluster) -> list[InvariantBreach]:
    """Run all checks of one cluster's own data."""
    return [
        *ledger_equals_rows(cluster),
        *devices_equal_rows(cluster),
        *ports_equal_rows(cluster),
        *numa_nodes_equal_rows(cluster),
        *rows_are_in_order(cluster),
        *evictions_follow_pods(cluster),
    ]


def ledger_equals_rows(cluster: Cluster) -> list[InvariantBreach]:
    """Check that used amounts equal the sum over the pods on each slot."""
    ledger, pods = cluster.ledger, cluster.pods
    rows = _placed_rows(cluster)
    width = len(ledger.resources)
    expected = np.zeros_like(ledger.used)
    requests = cluster.classes.requests_of(pods.class_id[rows])[:, : expected.shape[1]]
    np.add.at(expected[:, : requests.shape[1]], pods.slot[rows], requests)
    add_reserved(cluster.reservations, expected)
    add_offered(cluster.offers, expected)
    for holding in cluster.topology.holdings.values():
        for column, amount in holding.extra:
            expected[holding.slot, column] += amount
    wrong = np.argwhere(expected[:, :width] != ledger.used[:, :width])
    return [
        InvariantBreach(
            1,
            f"node {cluster.nodes.names[slot] or slot}: {ledger.resources.names[r]} used is "
            f"{ledger.used[slot, r]}, expected {expected[slot, r]}",
        )
        for slot, r in wrong.tolist()
    ]


def devices_equal_rows(cluster: Cluster) -> list[InvariantBreach]:
    """Check that the free milli of every device equals its total minus its pods' shares."""
    table, pods = cluster.ledger.devices, cluster.pods
    taken = np.zeros_like(table.free)
    for row in _placed_rows(cluster).tolist():
        slot, mask = int(pods.slot[row]), int(pods.devices[row])
        for request in cluster.classes[int(pods.class_id[row])].devices:
            kind = table.kind_number(request.kind)
            for d in range(MAX_DEVICES):
                if mask >> d & 1 and table.kind[slot, d] == kind:
                    taken[slot, d] += request.milli
    for place in cluster.reservations.places.values():
        for request in place.pod.devices:
            for d in range(MAX_DEVICES):
                taken[place.slot, d] += request.milli * (place.mask >> d & 1)
    add_offered_devices(cluster.offers, taken)
    wrong = np.argwhere((table.kind > 0) & (table.free + taken != 1000))
    return [
        InvariantBreach(
            1,
            f"node {cluster.nodes.names[slot] or slot}: device {d} has {table.free[slot, d]} free, "
            f"expected {1000 - taken[slot, d]}",
        )
        for slot, d in wrong.tolist()
    ]


def ports_equal_rows(cluster: Cluster) -> list[InvariantBreach]:
    """Check that the host ports in use on a node are those of its pods and of frameworks."""
    table, pods = cluster.ledger.ports, cluster.pods
    expected = np.zeros_like(table.used)
    rows = _placed_rows(cluster)
    for row in rows[cluster.classes.special[pods.class_id[rows]] > 0].tolist():
        ports = cluster.classes[int(pods.class_id[row])].ports
        expected[pods.slot[row]] |= table.own_mask(ports)
    for place in cluster.reservations.places.values():
        if place.pod.ports:
            expected[place.slot] |= table.own_mask(place.pod.ports)
    for slot, _ in cluster.offers:
        expected[slot] |= table.own_mask(table.reserved_on(slot))
    wrong = np.flatnonzero((expected != table.used).any(axis=1))
    return [
        InvariantBreach(
            1, f"node {cluster.nodes.names[slot] or slot}: host ports differ from its pods'"
        )
        for slot in wrong.tolist()
    ]


def numa_nodes_equal_rows(cluster: Cluster) -> list[InvariantBreach]:
    """Check that the usage of every NUMA node equals its pods' allocations plus reported usage."""
    topology, pods = cluster.topology, cluster.pods
    expected = topology.foreign()
    found = []
    for row, holding in topology.holdings.items():
        if row >= 0 and pods.slot[row] != holding.slot:
            found.append(InvariantBreach(1, f"pod {pods.key(row)} has NUMA nodes of another node"))
        for numa_node, column, amount in holding.parts:
            expected[holding.slot, numa_node, column] += amount
    for slot in np.unique(np.argwhere(expected != topology.taken)[:, 0]).tolist():
        name = cluster.nodes.names[slot] or slot
        found.append(InvariantBreach(1, f"node {name}: its NUMA nodes differ from its pods"))
    return found


def overcommitted(cluster: Cluster) -> list[InvariantBreach]:
    """Find nodes whose pods use more than allocatable (only other components may cause this)."""
    ledger = cluster.ledger
    over = np.argwhere(ledger.used > ledger.alloc)
    found = [
        InvariantBreach(
            1,
            f"node {cluster.nodes.names[slot] or slot}: {_name(cluster, r)} is over-committed, "
            f"{ledger.used[slot, r]} of {ledger.alloc[slot, r]}",
        )
        for slot, r in over.tolist()
        if ledger.slots.live[slot]
    ]
    full = np.unique(np.argwhere(cluster.topology.taken > cluster.topology.alloc)[:, 0])
    found.extend(
        InvariantBreach(1, f"node {cluster.nodes.names[slot]}: a NUMA node of it is over-committed")
        for slot in full.tolist()
    )
    short = np.argwhere((ledger.devices.kind > 0) & (ledger.devices.free < 0))
    found.extend(
        InvariantBreach(1, f"node {cluster.nodes.names[slot]}: device {d} is over-committed")
        for slot, d in short.tolist()
    )
    return found


def rows_are_in_order(cluster: Cluster) -> list[InvariantBreach]:
    """Check that a pending pod has no slot, and that a placed pod has a live slot or is a stray."""
    pods, slots = cluster.pods, cluster.ledger.slots
    found = []
    for row in pods.rows().tolist():
        state, slot = PodState(int(pods.state[row])), int(pods.slot[row])
        if state not in PLACED and slot != NO_SLOT:
            found.append(
                InvariantBreach(3, f"pod {pods.key(row)} is {state.name} but has slot {slot}")
            )
        if state in PLACED and not cluster.node_of(row):
            found.append(InvariantBreach(3, f"pod {pods.key(row)} is {state.name} but on no node"))
        if slot != NO_SLOT and not slots.live[slot]:
            found.append(
                InvariantBreach(3, f"pod {pods.key(row)} is on slot {slot}, which has no node")
            )
        if slot != NO_SLOT and pods.generation[row] != slots.generation[slot]:
            found.append(
                InvariantBreach(3, f"pod {pods.key(row)} is on an earlier node of slot {slot}")
            )
        if pods.row(pods.uid[row]) != row:
            found.append(InvariantBreach(3, f"pod {pods.key(row)}: its uid leads to another row"))
    return found


def evictions_follow_pods(cluster: Cluster) -> list[InvariantBreach]:
    """Check that an eviction in progress is registered on the slot of its pod."""
    pods, found = cluster.pods, []
    for row, eviction in cluster.evictions.in_progress.items():
        slot = int(pods.slot[row])
        if pods.serial[row] == eviction.serial and slot not in (NO_SLOT, eviction.slot):
            text = f"pod {pods.key(row)} is on slot {slot}, its eviction on slot {eviction.slot}"
            found.append(InvariantBreach(3, text))
    return found


def gangs_are_complete(plan: Plan, verdict: Verdict) -> list[InvariantBreach]:
    """Check that no unit of a plan was granted some claims but fewer than required."""
    granted = {*verdict.granted.tolist(), *verdict.nominated.tolist()}
    found = []
    for unit in plan.units:
        count = sum(1 for row in plan.rows[unit.start : unit.stop].tolist() if row in granted)
        if 0 < count < unit.at_least:
            found.append(
                InvariantBreach(
                    2, f"unit {unit.unit.key}: {count} claims granted, {unit.at_least} needed"
                )
            )
    return found


def _placed_rows(cluster: Cluster) -> "np.ndarray[tuple[int], np.dtype[np.int64]]":
    pods = cluster.pods
    return np.flatnonzero(pods.slot[: pods.length] != NO_SLOT)


def _name(cluster: Cluster, column: int) -> str:
    names = cluster.ledger.resources.names
    return names[column] if column < len(names) else str(column)
