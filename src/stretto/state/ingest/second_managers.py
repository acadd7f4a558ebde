"""Gödel's second manager of a node (NMNode), and what a node gives once both are counted.

Two agents may manage one machine: the kubelet tells what the node gives to pods, the node manager
what it keeps of its own capacity for others. What the second keeps, the first cannot give. A
machine that only a node manager tells of is a node for the pods that it starts, and for no others.
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
        #: Names of nodes that have a kubelet: a Node object.
        self._kubelets: set[str] = set()
        #: What each of their nodes gives by itself.
        self._own: dict[str, dict[str, int]] = {}

    # ------------------------------------------------------------ nodes

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

    def came(self, name: str) -> None:
        """A Node came or changed: the kubelet is there."""
        self._kubelets.add(name)
        self._manage(name)

    def left(self, name: str) -> None:
        """A Node has gone: where its machine has a node manager, that is left."""
        self._kubelets.discard(name)
        self._own.pop(name, None)
        self._settle(name)

    # ------------------------------------------------------------ managers

    def apply(self, events: Iterable[WatchEvent]) -> None:
        """Apply events of NMNodes; one that cannot be read fails alone."""
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
        """A node is there for those who manage it, and gives what it should now."""
        if name in self._kubelets:
            self._apply_amounts(name)
        elif name in self._managers and not self._cluster.config.whole:
            self._cluster.node_updates.put(_alone(self._managers[name]))
        else:  # kube-scheduler's own rules know nodes that have a kubelet
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
        cluster.changes.cures |= Cure.NODE_GREW
        if manager is None:
            del self._own[name]

    def _manage(self, name: str) -> None:
        """Say which agents a node has."""
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
    """A node manager with the identity that its store gives it."""
    meta = msgspec.structs.replace(manager.metadata, name=record.name, uid=record.uid)
    return msgspec.structs.replace(manager, metadata=meta)


def _alone(manager: NmNode) -> Node:
    """A machine that only a node manager tells of, as a node."""
    status = NodeStatus(allocatable=manager.status.resource_allocatable)
    return Node(metadata=manager.metadata, status=status)


def _with(own: Mapping[str, int], manager: NmNode) -> dict[str, int]:
    where, status = f"nmnode {manager.metadata.name}: status", manager.status
    return allocatable_of(
        own,
        amounts(status.resource_capacity, f"{where}.resourceCapacity"),
        amounts(status.resource_allocatable, f"{where}.resourceAllocatable"),
    )
