"""The laws as checks on live state: what must hold whatever has happened.

Each check returns what it found wrong, in words; an empty list is good news. They recompute from
the rows what the engine keeps up to date step by step, so a bug in the upkeep shows. They are run
after every step of the fault simulator, and by whoever wants to know in production.
"""

from typing import NamedTuple

import numpy as np

from stretto.state.cluster.cluster import Cluster
from stretto.state.cluster.reservations import add_reserved
from stretto.state.rows.devices import MAX_DEVICES
from stretto.state.rows.lifecycle import PodState
from stretto.state.rows.pods import NO_SLOT
from stretto.state.work.claims import Plan, Verdict

PLACED = (PodState.NOMINATED, PodState.ASSUMED, PodState.BOUND)
"""States in which a pod holds its node's resources."""


class InvariantBreach(NamedTuple):
    """One law, broken."""

    #: Number of the law in the design.
    law: int
    #: What is wrong, with names and amounts.
    what: str


def check_all(cluster: Cluster) -> list[InvariantBreach]:
    """Every check of one cluster's own books."""
    return [
        *ledger_equals_rows(cluster),
        *devices_equal_rows(cluster),
        *ports_equal_rows(cluster),
        *numa_nodes_equal_rows(cluster),
        *rows_are_in_order(cluster),
    ]


def ledger_equals_rows(cluster: Cluster) -> list[InvariantBreach]:
    """Used amounts are the sum over the pods on each slot, neither more nor less."""
    ledger, pods = cluster.ledger, cluster.pods
    rows = _placed_rows(cluster)
    width = len(ledger.resources)
    expected = np.zeros_like(ledger.used)
    asks = cluster.classes.requests_of(pods.class_id[rows])[:, : expected.shape[1]]
    np.add.at(expected[:, : asks.shape[1]], pods.slot[rows], asks)
    add_reserved(cluster.reservations, expected)
    for hold in cluster.topology.holdings.values():
        for column, amount in hold.extra:
            expected[hold.slot, column] += amount
    wrong = np.argwhere(expected[:, :width] != ledger.used[:, :width])
    return [
        InvariantBreach(
            1,
            f"node {cluster.nodes.names[slot] or slot}: {ledger.resources.names[r]} is booked as "
            f"{ledger.used[slot, r]}, its pods take {expected[slot, r]}",
        )
        for slot, r in wrong.tolist()
    ]


def devices_equal_rows(cluster: Cluster) -> list[InvariantBreach]:
    """Free milli of every device is what its pods leave."""
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
    wrong = np.argwhere((table.kind > 0) & (table.free + taken != 1000))
    return [
        InvariantBreach(
            1,
            f"node {cluster.nodes.names[slot] or slot}: device {d} has {table.free[slot, d]} free, "
            f"its pods leave {1000 - taken[slot, d]}",
        )
        for slot, d in wrong.tolist()
    ]


def ports_equal_rows(cluster: Cluster) -> list[InvariantBreach]:
    """Host ports in use on a node are those of its pods."""
    table, pods = cluster.ledger.ports, cluster.pods
    expected = np.zeros_like(table.used)
    rows = _placed_rows(cluster)
    for row in rows[cluster.classes.special[pods.class_id[rows]] > 0].tolist():
        ports = cluster.classes[int(pods.class_id[row])].ports
        expected[pods.slot[row]] |= table.own_mask(ports)
    for place in cluster.reservations.places.values():
        if place.pod.ports:
            expected[place.slot] |= table.own_mask(place.pod.ports)
    wrong = np.flatnonzero((expected != table.used).any(axis=1))
    return [
        InvariantBreach(
            1, f"node {cluster.nodes.names[slot] or slot}: host ports differ from its pods'"
        )
        for slot in wrong.tolist()
    ]


def numa_nodes_equal_rows(cluster: Cluster) -> list[InvariantBreach]:
    """What is taken of every NUMA node is what its pods hold, and what agents say others hold."""
    topology, pods = cluster.topology, cluster.pods
    expected = topology.foreign()
    found = []
    for row, hold in topology.holdings.items():
        if row >= 0 and pods.slot[row] != hold.slot:
            found.append(
                InvariantBreach(1, f"pod {pods.key(row)} holds NUMA nodes of a node it is not on")
            )
        for zone, column, amount in hold.parts:
            expected[hold.slot, zone, column] += amount
    for slot in np.unique(np.argwhere(expected != topology.taken)[:, 0]).tolist():
        name = cluster.nodes.names[slot] or slot
        found.append(
            InvariantBreach(1, f"node {name}: its NUMA nodes differ from what its pods hold")
        )
    return found


def overcommitted(cluster: Cluster) -> list[InvariantBreach]:
    """Nodes whose pods take more than they may give (lawful only where others caused it)."""
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
    """A pod that waits holds no slot, one that is placed holds a live one or is a stray."""
    pods, slots = cluster.pods, cluster.ledger.slots
    found = []
    for row in pods.rows().tolist():
        state, slot = PodState(int(pods.state[row])), int(pods.slot[row])
        if state not in PLACED and slot != NO_SLOT:
            found.append(
                InvariantBreach(3, f"pod {pods.key(row)} is {state.name} but holds slot {slot}")
            )
        if state in PLACED and not cluster.node_of(row):
            found.append(InvariantBreach(3, f"pod {pods.key(row)} is {state.name} but on no node"))
        if slot != NO_SLOT and not slots.live[slot]:
            found.append(
                InvariantBreach(3, f"pod {pods.key(row)} is on slot {slot}, where no node lives")
            )
        if slot != NO_SLOT and pods.generation[row] != slots.generation[slot]:
            found.append(
                InvariantBreach(3, f"pod {pods.key(row)} is on an earlier node of slot {slot}")
            )
        if pods.row(pods.uid[row]) != row:
            found.append(InvariantBreach(3, f"pod {pods.key(row)}: its uid leads to another row"))
    return found


def gangs_are_complete(plan: Plan, verdict: Verdict) -> list[InvariantBreach]:
    """Of every unit of a plan, enough claims were granted for it to stand, or none."""
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
