"""State of one node after evictions, for queries about devices and NUMA nodes.

The removed pods are released for the duration of the query and charged again afterwards, so that
these queries use the only implementation that chooses and checks NUMA nodes
(``state.numa.ledger``).
"""

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from typing import Final

import numpy as np
import numpy.typing as npt

from stretto.state.classes.annotations import NumaBinding
from stretto.state.classes.table import PodClass
from stretto.state.cluster.cluster import Cluster
from stretto.state.numa.ledger import UNKNOWN, NumaHolding, with_numa_nodes
from stretto.state.rows.devices import MAX_DEVICES, DeviceRequest
from stretto.state.rows.resources import CPU, MEMORY

ASIDE: Final = -(1 << 40)
"""Largest row number of pods of a query, which are not charged otherwise."""

Claimed = tuple[PodClass, int]
"""A pod's class and its mask of devices and NUMA nodes."""


@contextmanager
def without_rows(cluster: Cluster, slot: int, going: Collection[int]) -> Iterator[None]:
    """Context manager in which some rows charged to a slot use none of it."""
    topology, ledger, devices = cluster.topology, cluster.ledger, cluster.ledger.devices
    ledger.widen()
    used: npt.NDArray[np.int64] = np.zeros(ledger.used.shape[1], np.int64)
    freed: npt.NDArray[np.int32] = np.zeros(MAX_DEVICES, np.int32)
    held: dict[int, NumaHolding] = {}
    for row in going:
        pod = cluster.classes[int(cluster.pods.class_id[row])]
        for column, amount in pod.requests:
            used[column] += amount
        for request in pod.devices:
            freed[numa_choice_of(cluster, slot, int(cluster.pods.devices[row]), request)] += (
                request.milli
            )
        holding = topology.holdings.get(row)
        if holding is not None and holding.slot == slot:
            held[row] = holding
            topology.give_back(row)
    ledger.used[slot] -= used
    devices.free[slot] += freed
    try:
        yield
    finally:
        devices.free[slot] -= freed
        ledger.used[slot] += used
        for row, holding in held.items():
            topology.restore_claims(row, holding)


@contextmanager
def with_claims(
    cluster: Cluster, slot: int, claims: Sequence[Claimed]
) -> Iterator[Sequence[Claimed]]:
    """Context manager in which some claims use their amounts, devices and NUMA nodes of a slot.

    Yields the charged claims: all of them, or those before the first that does not fit.
    """
    topology, free = cluster.topology, cluster.ledger.devices.free[slot]
    before, rows, taken = free.copy(), count(ASIDE, -1), list[int]()
    used, held = cluster.ledger.used[slot], list[Claimed]()
    try:
        for pod, mask in claims:
            if pod.annotations.numa is not None:
                if not topology.covers(slot, mask, pod):
                    break
                taken.append(next(rows))
                topology.take(taken[-1], slot, mask, pod)
            for request in pod.devices:
                free[numa_choice_of(cluster, slot, mask, request)] -= request.milli
            for column, amount in pod.requests:
                used[column] += amount
            held.append((pod, mask))
        yield held
    finally:
        free[:] = before
        for pod, _ in held:
            for column, amount in pod.requests:
                used[column] -= amount
        for row in taken:
            topology.give_back(row)


def numa_claims_for(
    cluster: Cluster,
    slot: int,
    class_ids: Sequence[int],
    going: Collection[int] = frozenset(),
    others: Sequence[Claimed] = (),
) -> list[int] | None:
    """Masks of devices and NUMA nodes that fit all of some pods together.

    Shares go to the fullest device with enough capacity, whole devices to the first free ones.

    Args:
        cluster: the cluster.
        slot: the slot.
        class_ids: the pods' classes.
        going: rows that are removed from the slot.
        others: claims that use their part at the same time.

    Returns:
        One mask per pod, or ``None`` if they do not all fit.
    """
    pods = [cluster.classes[class_id] for class_id in class_ids]
    if not any(pod.devices or pod.annotations.numa is not None for pod in pods):
        return [0] * len(pods)
    masks: list[int] = []
    with without_rows(cluster, slot, going):
        for pod in pods:
            mine = list(zip(pods, masks, strict=False))
            with with_claims(cluster, slot, [*others, *mine]) as held:
                mask = (
                    _mask_for(cluster, slot, pod) if len(held) == len(others) + len(mine) else None
                )
            if mask is None:
                return None
            masks.append(mask)
    return masks


def numa_nodes_fit(cluster: Cluster, slot: int, wanted: Sequence[Claimed]) -> bool:
    """Return whether the NUMA nodes of some claims fit all of them, in the current state.

    Whole NUMA nodes use more of the node than their pods request; the excess must be free, too.
    """
    ledger, amounts = cluster.ledger, [CPU, MEMORY]
    whole = any(
        pod.annotations.numa is not None and pod.annotations.numa.binding is NumaBinding.WHOLE
        for pod, _ in wanted
    )
    with with_claims(cluster, slot, wanted) as held:
        if len(held) < len(wanted):
            return False
        fits = ledger.used[slot, amounts] <= ledger.alloc[slot, amounts]
        return not whole or bool(fits.all())


def numa_choice_of(cluster: Cluster, slot: int, mask: int, request: DeviceRequest) -> list[int]:
    """Devices of a request's kind in a mask."""
    table = cluster.ledger.devices
    kind = table.kind_number(request.kind)
    return [d for d in range(MAX_DEVICES) if mask >> d & 1 and table.kind[slot, d] == kind]


def _mask_for(cluster: Cluster, slot: int, pod: PodClass) -> int | None:
    """Devices and NUMA nodes for one more pod, in the current state."""
    table, topology, numa_nodes, mask = cluster.ledger.devices, cluster.topology, 0, 0
    if pod.annotations.numa is not None:
        numa_nodes = topology.choose(slot, pod)
        if not numa_nodes:
            return None
    free = table.free[slot].copy()
    for request in pod.devices:
        kind, models = table.kind_number(request.kind), table.model_mask(request.models)
        right = [
            d
            for d in range(MAX_DEVICES)
            if table.kind[slot, d] == kind
            and models >> int(table.model[slot, d]) & 1
            and free[d] >= request.milli
            and (not numa_nodes or _is_inside(cluster, slot, d, numa_nodes))
        ]
        if len(right) < request.count:
            return None
        right.sort(key=lambda d: (int(free[d]), d))
        for d in right[: request.count]:
            mask |= 1 << d
            free[d] -= request.milli
    return with_numa_nodes(mask, numa_nodes)


def _is_inside(cluster: Cluster, slot: int, device: int, numa_nodes: int) -> bool:
    """Return whether a device is on one of some NUMA nodes, or its location is unknown."""
    where = int(cluster.topology.device_numa_node[slot, device])
    return where == UNKNOWN or bool(numa_nodes >> where & 1)
