"""Exact check whether pods fit a node after evictions, from the ledger and the rows.

Preemption performs it before evictions, and the binder performs it again afterwards; tests compare
the search for victims with it.
"""

from collections.abc import Collection, Sequence
from itertools import chain
from typing import Final

import numpy as np
import numpy.typing as npt

from stretto.base.amounts import add_amounts
from stretto.state.classes.table import PodClass
from stretto.state.cluster.cluster import Cluster
from stretto.state.queries.numa_after import numa_choice_of, numa_nodes_fit, without_rows
from stretto.state.rows.resources import PODS

_NOTHING: Final[frozenset[int]] = frozenset()


def fits_after_eviction(
    cluster: Cluster,
    slot: int,
    wanted: Sequence[tuple[int, int]],
    going: Collection[int] = _NOTHING,
) -> bool:
    """Return whether pods fit a slot after the removal of other pods.

    Args:
        cluster: the cluster.
        slot: the slot; the caller checks that its node is live and eligible.
        wanted: (class id, device mask) of the pods, neither charged there nor in ``going``.
        going: rows charged there that are removed.
    """
    ledger, classes = cluster.ledger, cluster.classes
    ledger.widen()
    pods = [classes[class_id] for class_id, _ in wanted]
    used = amounts_of(cluster, [class_id for class_id, _ in wanted])
    requested = used > 0
    used += ledger.used[slot]
    used -= amounts_of(cluster, [int(cluster.pods.class_id[row]) for row in going])
    for row in going:  # whole NUMA nodes use more of the node than requested
        holding = cluster.topology.holdings.get(row)
        for column, amount in holding.extra if holding is not None and holding.slot == slot else ():
            used[column] -= amount
    requested[PODS] = True
    if (used > allocatable_after(cluster, slot, wanted, going))[requested].any():
        return False
    if any(pod.ports for pod in pods) and not _ports_fit(cluster, slot, pods, going):
        return False
    masks = [mask for _, mask in wanted]
    if any(pod.devices for pod in pods) and not _devices_fit(cluster, slot, pods, masks, going):
        return False
    if all(pod.annotations.numa is None for pod in pods):
        return True
    with without_rows(cluster, slot, going):
        return numa_nodes_fit(cluster, slot, list(zip(pods, masks, strict=True)))


def allocatable_after(
    cluster: Cluster, slot: int, wanted: Sequence[tuple[int, int]], going: Collection[int]
) -> npt.NDArray[np.int64]:
    """int64[resource]: promised amounts of a slot with some pods and without others.

    Args:
        cluster: the cluster.
        slot: the slot.
        wanted: (class id, device mask) of further pods.
        going: rows charged there that are removed.
    """
    held: dict[int, int] = {}
    charges, classes = cluster.charges, cluster.classes
    if not cluster.ledger.promises.is_overcommitted(slot):
        return cluster.ledger.alloc_with(slot, held)
    more = [(classes[class_id], mask) for class_id, mask in wanted]
    needs = [charges.needs(pod, slot, mask) for pod, mask in more if pod.annotations.is_exclusive]
    for sign, some in ((1, needs), (-1, [charges.held_by(row) for row in going])):
        add_amounts(held, chain.from_iterable(some), sign)
    return cluster.ledger.alloc_with(slot, held)


def amounts_of(cluster: Cluster, class_ids: Sequence[int]) -> npt.NDArray[np.int64]:
    """int64[resource]: total requests of pods of these classes, including pod slots."""
    total = np.zeros(cluster.ledger.used.shape[1], np.int64)
    if class_ids:
        requests = cluster.classes.requests_of(np.array(class_ids, np.int32)).sum(axis=0)
        width = min(len(requests), len(total))
        total[:width] = requests[:width]
    return total


def devices_after_eviction(
    cluster: Cluster, slot: int, going: Collection[int]
) -> npt.NDArray[np.int32]:
    """int32[device]: free milli of a slot's devices after the removal of these rows."""
    table, pods = cluster.ledger.devices, cluster.pods
    free: npt.NDArray[np.int32] = table.free[slot].copy()
    for row in going:
        for request in cluster.classes[int(pods.class_id[row])].devices:
            for device in numa_choice_of(cluster, slot, int(pods.devices[row]), request):
                free[device] += request.milli
    return free


def charge_after_eviction(
    cluster: Cluster, row: int, slot: int, mask: int, going: Collection[int]
) -> None:
    """Charge a claim to a slot whose capacity is still used by pods being evicted."""
    if cluster.classes[int(cluster.pods.class_id[row])].annotations.numa is None:
        cluster.charges.charge(row, slot, mask)
        return
    with without_rows(cluster, slot, going):
        cluster.charges.charge(row, slot, mask)


def settle_numa_nodes(cluster: Cluster, row: int) -> None:
    """Assign NUMA nodes to a pod whose victims have all ended."""
    pods = cluster.pods
    pod = cluster.classes[int(pods.class_id[row])]
    if pod.annotations.numa is not None:
        cluster.topology.give_back(row)
        slot, mask = int(pods.slot[row]), int(pods.devices[row])
        pods.devices[row] = cluster.topology.take(row, slot, mask, pod)


def ports_after_eviction(
    cluster: Cluster, slot: int, going: Collection[int]
) -> npt.NDArray[np.uint64]:
    """uint64[word]: host ports in use on a slot after the removal of these rows."""
    table, pods = cluster.ledger.ports, cluster.pods
    taken = table.own_mask(table.reserved_on(slot))
    for row in pods.on_slot(slot).tolist():
        if row not in going:
            taken |= table.own_mask(cluster.classes[int(pods.class_id[row])].ports)
    for place in cluster.reservations.places.values():
        if place.slot == slot:
            taken |= table.own_mask(place.pod.ports)
    return taken


def _ports_fit(
    cluster: Cluster, slot: int, wanted: Sequence[PodClass], going: Collection[int]
) -> bool:
    table = cluster.ledger.ports
    for pod in wanted:
        cluster.ledger.learn_ports(pod.ports)
    taken = ports_after_eviction(cluster, slot, going)
    for pod in wanted:
        if (taken & table.conflict_mask(pod.ports)).any():
            return False
        taken |= table.own_mask(pod.ports)
    return True


def _devices_fit(
    cluster: Cluster,
    slot: int,
    wanted: Sequence[PodClass],
    masks: Sequence[int],
    going: Collection[int],
) -> bool:
    table = cluster.ledger.devices
    free = devices_after_eviction(cluster, slot, going)
    for pod, mask in zip(wanted, masks, strict=True):
        for request in pod.devices:
            allowed = table.model_mask(request.models)
            chosen = numa_choice_of(cluster, slot, mask, request)
            if len(chosen) != request.count:
                return False
            free[chosen] -= request.milli
            if (free[chosen] < 0).any():
                return False
            if not all(allowed >> int(table.model[slot, d]) & 1 for d in chosen):
                return False
    return True
