"""Compiled arrays for placement inside domains and on NUMA nodes.

``kernels.groups`` (compiled) and ``kernels.numpy.groups`` read no other topology data.
"""

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from stretto.framework.compiled.tables import DEVICE_REQUESTS
from stretto.state.classes.annotations import NumaBinding
from stretto.state.numa.layout import MAX_NUMA_NODES
from stretto.state.numa.ledger import NUMA_COLUMNS
from stretto.state.rows.devices import MAX_DEVICES

NO_BINDING: Final = 0
"""Code of classes whose NUMA nodes the kubelet chooses."""
CODES: Final = {NumaBinding.ONE: 1, NumaBinding.WHOLE: 2, NumaBinding.SOCKET: 3}
"""Codes of bindings, as the kernels know them."""
OWN: Final = 1 << 20
"""Added to the value of a slot of the own partition: it is tried before any other."""


class NumaSnapshot(NamedTuple):
    """A snapshot of the NUMA nodes of all slots."""

    #: uint8[slot]: how many NUMA nodes.
    count: npt.NDArray[np.uint8]  # type: ignore[assignment]  # hides tuple.count, unused
    #: int8[slot, numa]: index of the socket.
    socket: npt.NDArray[np.int8]
    #: int64[slot, numa, column]: what there is.
    alloc: npt.NDArray[np.int64]
    #: int64[slot, numa, column]: what is free.
    free: npt.NDArray[np.int64]
    #: int64[slot, column]: the average NUMA node, rounded up; 0 where none reports the resource.
    average: npt.NDArray[np.int64]
    #: int32[slot, numa, 2]: CPU and memory in scan steps that a whole NUMA node takes of its node.
    share: npt.NDArray[np.int32]
    #: int8[slot, device]: NUMA node of each device.
    device_numa_node: npt.NDArray[np.int8]


class NumaRequests(NamedTuple):
    """NUMA requests of the classes of one call, by their number in the call."""

    #: int32[class]: code of the binding; 0 for none.
    binding: npt.NDArray[np.int32]
    #: int64[class, column]: amounts.
    amount: npt.NDArray[np.int64]
    #: uint8[class, column]: 1 where the resource counts for the number of whole NUMA nodes.
    aligned: npt.NDArray[np.uint8]
    #: uint8[class, request]: the same for device requests.
    device_aligned: npt.NDArray[np.uint8]


class DomainSearch(NamedTuple):
    """The domains to search, in the order in which they are tried."""

    #: int32[k]: slots, domain after domain; the slots of one domain in the order of ties.
    slots: npt.NDArray[np.int32]
    #: int32[domain + 1]: first slot of each domain.
    start: npt.NDArray[np.int32]
    #: uint8[k]: 1 where a slot is of the own partition.
    own: npt.NDArray[np.uint8]
    #: int64[1]: slot after the last pick, where equal slots rotate.
    cursor: npt.NDArray[np.int64]


class DomainCaps(NamedTuple):
    """How many pods each value of some node labels may still take."""

    #: int32[cap, k]: number of the label's value on each slot of the search; -1 for none.
    domain: npt.NDArray[np.int32]
    #: int32[cap, value]: pods that it may still take.
    capacity: npt.NDArray[np.int32]


class PlacementJob(NamedTuple):
    """The pods to place, and the result arrays."""

    #: int32[class]: class ids.
    class_id: npt.NDArray[np.int32]
    #: int32[pod]: number of each pod's class in ``class_id``.
    local: npt.NDArray[np.int32]
    #: int32[unit + 1]: first pod of each unit.
    start: npt.NDArray[np.int32]
    #: int32[unit]: pods that must be placed or none is.
    at_least: npt.NDArray[np.int32]
    #: uint8[unit]: 1 ends the job when the unit fails.
    blocking: npt.NDArray[np.uint8]
    #: int32[pod]: answer: the slot, -1 for none, -2 for not tried.
    slot: npt.NDArray[np.int32]
    #: int32[pod]: answer: bit mask of devices and NUMA nodes.
    mask: npt.NDArray[np.int32]


class PlacementWork(NamedTuple):
    """Everything of a call but the classes and the snapshot."""

    #: NUMA nodes.
    numa: NumaSnapshot
    #: Requests for NUMA nodes.
    requests: NumaRequests
    #: How units must be spread.
    caps: DomainCaps
    #: The domains to search.
    search: DomainSearch
    #: What is to be placed.
    job: PlacementJob


def no_numa_nodes(slots: int) -> NumaSnapshot:
    """Tables for nodes without reported NUMA nodes."""
    return NumaSnapshot(
        np.zeros(slots, np.uint8),
        np.zeros((slots, MAX_NUMA_NODES), np.int8),
        np.zeros((slots, MAX_NUMA_NODES, NUMA_COLUMNS), np.int64),
        np.zeros((slots, MAX_NUMA_NODES, NUMA_COLUMNS), np.int64),
        np.zeros((slots, NUMA_COLUMNS), np.int64),
        np.zeros((slots, MAX_NUMA_NODES, 2), np.int32),
        np.full((slots, MAX_DEVICES), -1, np.int8),
    )


def no_numa_requests(classes: int) -> NumaRequests:
    """Classes without NUMA requests, to be filled in."""
    return NumaRequests(
        np.zeros(classes, np.int32),
        np.zeros((classes, NUMA_COLUMNS), np.int64),
        np.zeros((classes, NUMA_COLUMNS), np.uint8),
        np.zeros((classes, DEVICE_REQUESTS), np.uint8),
    )


def no_caps(slots: int) -> DomainCaps:
    """No cap."""
    return DomainCaps(np.zeros((0, slots), np.int32), np.zeros((0, 0), np.int32))
