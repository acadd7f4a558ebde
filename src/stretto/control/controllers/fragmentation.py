"""Fragmentation of the free capacity of a cluster, before and after moves."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from stretto.state.classes.table import GPU
from stretto.state.cluster.cluster import Cluster
from stretto.state.numa.ledger import DEVICE_BITS
from stretto.state.rows.devices import MAX_DEVICES, WHOLE
from stretto.state.rows.resources import CPU, MEMORY, PODS


class Move(NamedTuple):
    """The move of one pod."""

    #: Row of the pod.
    row: int
    #: Serial of the pod.
    serial: int
    #: ``namespace/name`` of the pod.
    pod: str
    #: Owner of the pod, ``Kind/namespace/name``.
    owner: str
    #: Current node of the pod.
    source: str
    #: Target node.
    target: str
    #: Number of the node or GPU that the move helps to free: the moves of one number are useful
    #: only together.
    step: int = 0


class FreeCapacity(NamedTuple):
    """Fragmentation of the free capacity of a cluster."""

    #: Number of nodes without any pod.
    empty_nodes: int
    #: Number of completely free GPUs.
    free_gpus: int
    #: Free thousandths of GPUs on GPUs in use.
    stranded_milli: int
    #: Requested CPU on nodes in use, in percent.
    cpu_in_use: float
    #: Requested memory on nodes in use, in percent.
    memory_in_use: float


def capacity_after(cluster: Cluster, moves: Sequence[Move] = ()) -> FreeCapacity:
    """Fragmentation of the ledger after some moves."""
    ledger, pods, by_name = cluster.ledger, cluster.pods, cluster.nodes.by_name
    used, free = ledger.used.copy(), ledger.devices.free.copy()
    for move in moves:
        pod = cluster.classes[int(pods.class_id[move.row])]
        source, target = by_name[move.source], by_name[move.target]
        for column, amount in (*pod.requests, (PODS, 1)):
            used[source, column] -= amount
            used[target, column] += amount
        for request in pod.devices:
            mask = int(pods.devices[move.row]) & DEVICE_BITS
            for d in range(MAX_DEVICES):
                free[source, d] += request.milli * (mask >> d & 1)
            _fill(free[target], ledger.devices.kind[target] > 0, request.milli, request.count)
    live = ledger.slots.live > 0
    in_use = live & (used[:, PODS] > 0)
    gpus = ledger.devices.kind == ledger.devices.kind_number(GPU)
    part = gpus & (free > 0) & (free < WHOLE)
    return FreeCapacity(
        empty_nodes=int((live & ~in_use).sum()),
        free_gpus=int((gpus & (free == WHOLE)).sum()),
        stranded_milli=int(free[part].sum()),
        cpu_in_use=_percent(used[in_use, CPU].sum(), ledger.alloc[in_use, CPU].sum()),
        memory_in_use=_percent(used[in_use, MEMORY].sum(), ledger.alloc[in_use, MEMORY].sum()),
    )


def _fill(
    free: "np.ndarray[tuple[int, ...], np.dtype[np.int32]]", usable: object, milli: int, count: int
) -> None:
    """Allocate devices of a node, best fit first."""
    here = np.asarray(usable, np.bool_)
    for _ in range(count):
        fits = np.flatnonzero(here & (free >= milli))
        if len(fits):
            free[fits[np.argmin(free[fits])]] -= milli


def _percent(part: float, whole: float) -> float:
    return round(100.0 * float(part) / float(whole), 1) if whole else 0.0
