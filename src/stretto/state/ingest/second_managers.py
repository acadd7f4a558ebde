"""Gödel's node manager (NMNode), and the allocatable amounts of a node with both agents.

Two agents may manage one machine: the kubelet reports the allocatable amounts for pods, the node
manager reports the reserved part of its own capacity. The node manager's reservation reduces the
kubelet's allocatable. A machine with only a node manager is a node for the pods that this agent
starts.
"""

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from stretto.api.types.cnr import NmNode
from stretto.api.types.core import Node, NodeStatus
from stretto.api.types.handover_annotations import KUBELET, NODE_MANAGER
from stretto.api.wire.quantity import amounts, format_amount
from stretto.base.errors import InputError
from stretto.state.cluster.cluster import Cluster
from stretto.state.nodes.table import MANAGED_BY
from stretto.state.work.units import Cure
from stretto.stores.store import EventType, Record, WatchEvent

_DECODER: Final = msgspec.json.Decoder(NmNode)


def allocatable_of(
    node: Mapping[str, int], capacity: Mapping[str, int], allocatable: Mapping[str, int]
) -> dict[str, int]:
    """Allocatable amounts of a node that also has a node manager.

    For each resource: the node's allocatable minus the manager's reserved amount (its capacity
    minus its allocatable), at least 0. Resources that only the manager reports are added.
    """
    found = dict(node)
    for name in {*capacity, *allocatable}:
        if name in node:
            reserved = max(0, capacity.get(name, 0) - allocatable.get(name, 0))
            found[name] = max(0, node[name] - reserved)
        elif name in allocatable:
            found[name] = allocatable[name]
    return found


class NodeManagers:
    """The node managers of a cluster."""

    def __init__(self, cluster: Cluster) -> None:
        """Start without node managers."""
        self._cluster = cluster
        self._managers: dict[str, NmNode] = {}
        #: Names of nodes with a kubelet: those with a Node object.
        self._kubelets: set[str] = set()
        #: Allocatable amounts from each Node object alone.
        self._own: dict[str, dict[str, int]] = {}

    # ------------------------------------------------------------ nodes

    def adjusted(self, node: Node) -> Node:
        """Return a new or changed node, adjusted by its node manager."""
        name = node.metadata.name
        manager = self._managers.get(name)
        if manager is None:
            return node
        own = amounts(node.status.allocatable, f"node {name}: status.allocatable")
        self._own[name] = own
        adjusted = {n: format_amount(n, amount) for n, amount in _with(own, manager).items()}
        status = msgspec.structs.replace(node.status, allocatable=adjusted)
        return msgspec.structs.replace(node, status=status)

    def node_added(self, name: str) -> None:
        """Record that a Node object exists, and therefore a kubelet."""
        self._kubelets.add(name)
        self._manage(name)

    def node_removed(self, name: str) -> None:
        """Process the deletion of a Node: a machine with a node manager remains a node."""
        self._kubelets.discard(name)
        self._own.pop(name, None)
        self._settle(name)

    # ------------------------------------------------------------ managers

    def apply(self, events: Iterable[WatchEvent]) -> None:
        """Apply events of NMNodes; an unreadable one fails alone."""
        cluster = self._cluster
        for event in events:
            record, key = event.record, f"nmnode {event.record.name}"
            cluster.abnormal.pop(key, None)
            self._managers.pop(record.name, None)
            try:
                if event.type is not EventType.DELETED:
                    self._managers[record.name] = _named(_DECODER.decode(record.body), record)
                self._settle(record.name)
            except (msgspec.DecodeError, InputError, RecursionError) as error:
                cluster.abnormal[key] = f"{key}: {error}"
                self._managers.pop(record.name, None)
                self._settle(record.name)

    def _settle(self, name: str) -> None:
        """Create, update or remove the node that results from its agents."""
        if name in self._kubelets:
            self._apply_amounts(name)
        elif name in self._managers and not self._cluster.config.whole:
            self._cluster.node_updates.put(_alone(self._managers[name]))
        else:  # kube-scheduler's rules require a kubelet
            self._cluster.node_updates.remove(name)
        self._manage(name)

    def _apply_amounts(self, name: str) -> None:
        cluster, slot = self._cluster, self._cluster.nodes.by_name.get(name)
        if slot is None:
            return
        manager = self._managers.get(name)
        if name not in self._own:
            self._own[name] = cluster.ledger.offers(slot)
        own = self._own[name]
        cluster.ledger.set_allocatable(slot, own if manager is None else _with(own, manager))
        cluster.topology.resize(slot)
        cluster.changes.add_cures(Cure.NODE_GREW)
        if manager is None:
            del self._own[name]

    def _manage(self, name: str) -> None:
        """Record the agents of a node."""
        cluster, slot = self._cluster, self._cluster.nodes.by_name.get(name)
        if slot is None:
            return
        manager = self._managers.get(name)
        agents = MANAGED_BY[KUBELET] * (name in self._kubelets)
        agents |= MANAGED_BY[NODE_MANAGER] * (manager is not None)
        taints = manager.spec.taints if manager is not None else ()
        if cluster.nodes.manage(slot, agents, taints):
            cluster.node_updates.mark_static_changed(slot, Cure.NODE_TAINTS)


def _named(manager: NmNode, record: Record) -> NmNode:
    """A node manager with name and uid from its record."""
    meta = msgspec.structs.replace(manager.metadata, name=record.name, uid=record.uid)
    return msgspec.structs.replace(manager, metadata=meta)


def _alone(manager: NmNode) -> Node:
    """A node for a machine that only has a node manager."""
    status = NodeStatus(allocatable=manager.status.resource_allocatable)
    return Node(metadata=manager.metadata, status=status)


def _with(own: Mapping[str, int], manager: NmNode) -> dict[str, int]:
    where, status = f"nmnode {manager.metadata.name}: status", manager.status
    return allocatable_of(
        own,
        amounts(status.resource_capacity, f"{where}.resourceCapacity"),
        amounts(status.resource_allocatable, f"{where}.resourceAllocatable"),
    )
