"""Gödel's second manager of a node (NMNode), and what a node gives once both are counted.

Two agents may manage one machine: the kubelet tells what the node gives to pods, the node manager
what it keeps of its own capacity for others. What the second keeps, the first cannot give.
"""

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from stretto.api.core import Node
from stretto.api.node import NmNode
from stretto.api.quantity import amounts, format_amount
from stretto.base.errors import InputError
from stretto.state.cluster import Cluster
from stretto.state.units import Cure
from stretto.stores.store import Event, EventType

_DECODER: Final = msgspec.json.Decoder(NmNode)


def given(
    node: Mapping[str, int], capacity: Mapping[str, int], allocatable: Mapping[str, int]
) -> dict[str, int]:
    """What a node gives to pods where a node manager has a say, too.

    Of each resource: what the node gives, less what the manager keeps (its capacity less its
    allocatable), and not less than nothing; what the manager alone knows is added.
    """
    found = dict(node)
    for name in {*capacity, *allocatable}:
        if name in node:
            kept = max(0, capacity.get(name, 0) - allocatable.get(name, 0))
            found[name] = max(0, node[name] - kept)
        elif name in allocatable:
            found[name] = allocatable[name]
    return found


class NodeManagers:
    """The node managers of all nodes, over a cluster."""

    def __init__(self, cluster: Cluster) -> None:
        """None is known."""
        self._cluster = cluster
        self._managers: dict[str, NmNode] = {}
        #: What each of their nodes gives by itself.
        self._own: dict[str, dict[str, int]] = {}

    def adjusted(self, node: Node) -> Node:
        """A node that comes or changes, as it is with its manager."""
        name = node.metadata.name
        manager = self._managers.get(name)
        if manager is None:
            return node
        own = amounts(node.status.allocatable, f"node {name}: status.allocatable")
        self._own[name] = own
        told = {n: format_amount(n, amount) for n, amount in _with(own, manager).items()}
        status = msgspec.structs.replace(node.status, allocatable=told)
        return msgspec.structs.replace(node, status=status)

    def apply(self, events: Iterable[Event]) -> None:
        """Apply events of NMNodes; one that cannot be read fails alone."""
        cluster = self._cluster
        for event in events:
            name, key = event.record.name, f"nmnode {event.record.name}"
            cluster.abnormal.pop(key, None)
            if event.type is EventType.DELETED:
                self._managers.pop(name, None)
            else:
                try:
                    self._managers[name] = _DECODER.decode(event.record.body)
                except (msgspec.DecodeError, InputError, RecursionError) as error:
                    cluster.abnormal[key] = f"{key}: {error}"
                    self._managers.pop(name, None)
            self._settle(name)

    def _settle(self, name: str) -> None:
        """A node gives what it should now."""
        cluster, slot = self._cluster, self._cluster.nodes.by_name.get(name)
        if slot is None:
            return
        manager = self._managers.get(name)
        if name not in self._own:
            self._own[name] = cluster.ledger.offers(slot)
        own = self._own[name]
        cluster.ledger.set_allocatable(slot, own if manager is None else _with(own, manager))
        cluster.topology.resize(slot)
        cluster.changes.cures |= Cure.NODE_GREW
        if manager is None:
            del self._own[name]


def _with(own: Mapping[str, int], manager: NmNode) -> dict[str, int]:
    where, status = f"nmnode {manager.metadata.name}: status", manager.status
    return given(
        own,
        amounts(status.resource_capacity, f"{where}.resourceCapacity"),
        amounts(status.resource_allocatable, f"{where}.resourceAllocatable"),
    )
