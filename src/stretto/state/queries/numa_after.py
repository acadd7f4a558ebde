"""One node as it will be once some pods have left it, for questions of devices and NUMA nodes.

What leaves is taken off the books for as long as a question is asked, and put back: so the one form
that chooses and judges NUMA nodes (``state.numa.ledger``) answers here too.
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
"""Rows from here down stand for pods that are asked about and are not charged."""

Claimed = tuple[PodClass, int]
"""A pod's class and its mask of devices and NUMA nodes."""


@contextmanager
def without_rows(cluster: Cluster, slot: int, going: Collection[int]) -> Iterator[None]:
    """While it lasts, some rows that are charged on a slot hold nothing of it."""
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
        hold = topology.holdings.get(row)
        if hold is not None and hold.slot == slot:
            held[row] = hold
            topology.give_back(row)
    ledger.used[slot] -= used
    devices.free[slot] += freed
    try:
        yield
    finally:
        devices.free[slot] -= freed
        ledger.used[slot] += used
        for row, hold in held.items():
            topology.restore_claims(row, hold)


@contextmanager
def with_claims(
    cluster: Cluster, slot: int, claims: Sequence[Claimed]
) -> Iterator[Sequence[Claimed]]:
    """While it lasts, some claims hold their amounts, devices and NUMA nodes of a slot.

    Yields those that hold them: all of them, or the first of them up to one that does not fit.
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
    """Masks of devices and NUMA nodes that pods could have one beside the other.

    Shares of devices go to the fullest device that has room, whole ones to the first free.

    Args:
        cluster: the cluster.
        slot: the slot.
        class_ids: the pods' classes.
        going: rows that leave the slot.
        others: claims beside which they would stand.

    Returns:
        A mask each, or ``None`` where there is no room for all of them.
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
    """Whether the NUMA nodes of some claims hold them together, as the books are now.

    Whole NUMA nodes take more of the node than their pods ask for: that must be there, too.
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
    """Devices of a request's kind that a mask names."""
    table = cluster.ledger.devices
    kind = table.kind_number(request.kind)
    return [d for d in range(MAX_DEVICES) if mask >> d & 1 and table.kind[slot, d] == kind]


def _mask_for(cluster: Cluster, slot: int, pod: PodClass) -> int | None:
    """Devices and NUMA nodes for one more pod, as the books are now."""
    table, topology, zones, mask = cluster.ledger.devices, cluster.topology, 0, 0
    if pod.annotations.numa is not None:
        zones = topology.choose(slot, pod)
        if not zones:
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
            and (not zones or _is_inside(cluster, slot, d, zones))
        ]
        if len(right) < request.count:
            return None
        right.sort(key=lambda d: (int(free[d]), d))
        for d in right[: request.count]:
            mask |= 1 << d
            free[d] -= request.milli
    return with_numa_nodes(mask, zones)


def _is_inside(cluster: Cluster, slot: int, device: int, zones: int) -> bool:
    """Whether a device is in one of some NUMA nodes, or nobody says where it is."""
    where = int(cluster.topology.device_numa_node[slot, device])
    return where == UNKNOWN or bool(zones >> where & 1)
