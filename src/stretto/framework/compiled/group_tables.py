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
"""Code of classes whose NUMA nodes the kubelet selects."""
CODES: Final = {NumaBinding.ONE: 1, NumaBinding.WHOLE: 2, NumaBinding.SOCKET: 3}
"""Codes of bindings in the kernels."""
OWN: Final = 1 << 20
"""Bonus of a slot of the own partition, which is tried before all others."""


class NumaSnapshot(NamedTuple):
    """A snapshot of the NUMA nodes of all slots."""

    #: uint8[slot]: number of NUMA nodes.
    count: npt.NDArray[np.uint8]  # type: ignore[assignment]  # hides tuple.count, unused
    #: int8[slot, numa]: index of the socket.
    socket: npt.NDArray[np.int8]
    #: int64[slot, numa, column]: allocatable amounts.
    alloc: npt.NDArray[np.int64]
    #: int64[slot, numa, column]: free amounts.
    free: npt.NDArray[np.int64]
    #: int64[slot, column]: amounts of the average NUMA node, rounded up; 0 if no NUMA node reports
    #: them.
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
    #: uint8[class, column]: 1 if the resource counts for the number of whole NUMA nodes.
    aligned: npt.NDArray[np.uint8]
    #: uint8[class, request]: the same for device requests.
    device_aligned: npt.NDArray[np.uint8]


class DomainSearch(NamedTuple):
    """The domains to search, in the order of the trials."""

    #: int32[k]: slots, domain after domain; the slots of one domain in the order of ties.
    slots: npt.NDArray[np.int32]
    #: int32[domain + 1]: first slot of each domain.
    start: npt.NDArray[np.int32]
    #: uint8[k]: 1 if a slot is in the own partition.
    own: npt.NDArray[np.uint8]
    #: int64[1]: slot after the last pick, at which the rotation of equal slots continues.
    cursor: npt.NDArray[np.int64]


class DomainCaps(NamedTuple):
    """Remaining number of pods for each value of some node labels."""

    #: int32[cap, k]: number of the label's value on each slot of the search; -1 for none.
    domain: npt.NDArray[np.int32]
    #: int32[cap, value]: remaining pods of the value.
    capacity: npt.NDArray[np.int32]


class PlacementJob(NamedTuple):
    """The pods to place, and the result arrays."""

    #: int32[class]: class ids.
    class_id: npt.NDArray[np.int32]
    #: int32[pod]: number of each pod's class in ``class_id``.
    local: npt.NDArray[np.int32]
    #: int32[unit + 1]: first pod of each unit.
    start: npt.NDArray[np.int32]
    #: int32[unit]: minimum number of pods of a unit; with fewer places, none is placed.
    at_least: npt.NDArray[np.int32]
    #: uint8[unit]: 1 if the failure of the unit ends the job.
    blocking: npt.NDArray[np.uint8]
    #: int32[pod]: result: the slot, -1 for none, -2 for not tried.
    slot: npt.NDArray[np.int32]
    #: int32[pod]: result: bit mask of devices and NUMA nodes.
    mask: npt.NDArray[np.int32]


class PlacementWork(NamedTuple):
    """Arguments of a call except the classes and the snapshot."""

    #: NUMA nodes.
    numa: NumaSnapshot
    #: Requests for NUMA nodes.
    requests: NumaRequests
    #: Limits of pods by label value.
    caps: DomainCaps
    #: The domains to search.
    search: DomainSearch
    #: The pods to place.
    job: PlacementJob


def no_numa_nodes(slots: int) -> NumaSnapshot:
    """Return tables for nodes without reported NUMA nodes."""
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
    """Return tables of classes without NUMA requests, for the caller to fill."""
    return NumaRequests(
        np.zeros(classes, np.int32),
        np.zeros((classes, NUMA_COLUMNS), np.int64),
        np.zeros((classes, NUMA_COLUMNS), np.uint8),
        np.zeros((classes, DEVICE_REQUESTS), np.uint8),
    )


def no_caps(slots: int) -> DomainCaps:
    """Return tables without caps."""
    return DomainCaps(np.zeros((0, slots), np.int32), np.zeros((0, 0), np.int32))
