"""The nodes as a grid of cells: a layout that changes with nodes, and frames with a byte per node.

A frame of 20,000 nodes has 20 kB. The browser draws it; the layout maps each byte to a node.
"""

from enum import IntEnum
from typing import Final

import msgspec
import numpy as np
import numpy.typing as npt

from stretto.api.wire.labels import ZONE_LABEL
from stretto.state.cluster.cluster import Cluster
from stretto.state.rows.devices import DeviceColumns

ABSENT: Final = 0
"""The byte of a node without the resource."""
STEPS: Final = 200
"""Bytes 1 to ``STEPS + 1`` represent a use of 0 to 100 %."""
_POOL_LABELS: Final = (
    "node.kubernetes.io/instance-type",
    "karpenter.sh/nodepool",
    "cloud.google.com/gke-nodepool",
    "eks.amazonaws.com/nodegroup",
)
_NOT_READY: Final = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
"""Taints of nodes that are not ready."""
GROUPINGS: Final = {"zone": (ZONE_LABEL,), "rack": ("rack",), "pool": _POOL_LABELS}
"""The labels that group nodes, by grouping; the first label present is used."""


class NodeState(IntEnum):
    """Scheduling state of a node."""

    #: The node accepts pods.
    OPEN = 0
    #: The node is cordoned.
    CORDONED = 1
    #: The node has a taint that excludes pods without a toleration.
    TAINTED = 2
    #: The node is not ready or does not answer.
    NOT_READY = 3


class NodeLayout(msgspec.Struct, frozen=True):
    """Mapping of cells to nodes."""

    #: Number that changes with the layout.
    version: int
    #: Names of the nodes, by zone and name.
    names: tuple[str, ...]
    #: The state of each node, as a ``NodeState``.
    states: tuple[int, ...]
    #: Names of the groups, and the group of each node, by grouping.
    groups: dict[str, tuple[tuple[str, ...], tuple[int, ...]]]
    #: Resources that a frame can show.
    columns: tuple[str, ...]


class NodeGrid:
    """Layout and frames of one cluster; valid until its nodes change."""

    def __init__(self, cluster: Cluster) -> None:
        """Lay out the live nodes of a cluster by zone and name."""
        nodes, ledger = cluster.nodes, cluster.ledger
        slots = nodes.live_slots()
        order = sorted(slots.tolist(), key=lambda slot: (nodes.zones[slot], nodes.names[slot]))
        #: int64[node]: the slot of each cell.
        self.slots: npt.NDArray[np.int64] = np.array(order, np.int64)
        offered = np.flatnonzero((ledger.alloc[self.slots] > 0).any(axis=0)).tolist()
        names = ledger.resources.names
        self._columns = {names[column]: column for column in offered}
        self._holders = _holders(ledger.devices, self.slots)
        labels = [cluster.nodes.labels.of(slot) for slot in order]
        #: The layout, which the browser reads once.
        self.layout = NodeLayout(
            version=int(nodes.version),
            names=tuple(nodes.names[slot] for slot in order),
            states=tuple(int(_state_of(cluster, slot)) for slot in order),
            groups={name: _grouped(labels, keys) for name, keys in GROUPINGS.items()},
            columns=(*self._columns, *self._holders),
        )

    def frame(self, cluster: Cluster, column: str) -> bytes:
        """Return one byte per node: its use of a resource; ``ABSENT`` if it lacks the resource.

        An over-committed node has the byte of 100 %.
        """
        offered, used = self._amounts(cluster, column)
        cells = used / np.maximum(offered, 1.0)
        np.clip(cells, 0.0, 1.0, out=cells)
        cells *= STEPS
        cells += 1.5  # the half rounds
        cells[offered <= 0] = ABSENT
        return bytes(cells.astype(np.uint8).tobytes())

    def _amounts(
        self, cluster: Cluster, column: str
    ) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
        """Return the amounts of a column on each node, and their used part; 0 if it is unknown."""
        offered = np.zeros(len(self.slots), np.float32)
        used = np.zeros(len(self.slots), np.float32)
        index = self._columns.get(column)
        if index is not None:
            offered[:] = cluster.ledger.alloc[self.slots, index]
            used[:] = cluster.ledger.used[self.slots, index]
        elif column in self._holders:
            places = self._holders[column]
            found = cluster.ledger.devices.use(self.slots[places], column)
            offered[places], used[places] = found
        return offered, used


def _holders(
    devices: DeviceColumns, slots: npt.NDArray[np.int64]
) -> dict[str, npt.NDArray[np.int64]]:
    """Return the places of the nodes that have devices of a kind, by kind."""
    found = {kind: np.flatnonzero(devices.use(slots, kind)[0]) for kind in devices.kinds}
    return {kind: places for kind, places in found.items() if len(places)}


def _state_of(cluster: Cluster, slot: int) -> NodeState:
    nodes = cluster.nodes
    taints = nodes.taint_sets[nodes.taint_set[slot]]
    if any(each.key in _NOT_READY for each in taints):
        return NodeState.NOT_READY
    if nodes.unschedulable[slot]:
        return NodeState.CORDONED
    is_closed = any(each.effect != "PreferNoSchedule" for each in taints)
    return NodeState.TAINTED if is_closed else NodeState.OPEN


def _grouped(
    labels: list[dict[str, str]], keys: tuple[str, ...]
) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Return sorted group names, and the group of each node; nodes without a label are last."""
    values = [next((each[key] for key in keys if key in each), "") for each in labels]
    names = sorted(set(values), key=lambda value: (value == "", value))
    numbers = {name: number for number, name in enumerate(names)}
    return tuple(names), tuple(numbers[value] for value in values)
