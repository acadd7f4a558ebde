"""Changes of nodes: Node objects and node-agent reports, applied to every table by slot."""

from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt

from stretto.api.types.cnr import CustomNodeResource
from stretto.api.types.core import Node
from stretto.api.wire.quantity import amounts
from stretto.state.cluster.charges import PodCharges
from stretto.state.cluster.config import ClusterConfig
from stretto.state.cluster.devices import charge_again, take_reported
from stretto.state.cluster.tables import NodeTables, PodTables
from stretto.state.nodes.table import lane_of, zone_name
from stretto.state.rows.pods import NO_SLOT
from stretto.state.rows.promises import NodeRatio
from stretto.state.rows.resources import CPU, MEMORY, check_amounts
from stretto.state.work.units import Cure


class NodeUpdates:
    """Adds, changes and removes nodes."""

    def __init__(
        self, config: ClusterConfig, on_nodes: NodeTables, of_pods: PodTables, charges: PodCharges
    ) -> None:
        """Apply changes to these tables; pods on nodes are charged through ``charges``."""
        #: Called with the slots whose node object changed.
        self.listeners: list[Callable[[npt.NDArray[np.int64]], None]] = []
        self._config = config
        self._ledger, self._topology, self._nodes = (
            on_nodes.ledger,
            on_nodes.topology,
            on_nodes.nodes,
        )
        self._pods, self._classes, self._domains = of_pods.pods, of_pods.classes, of_pods.domains
        self._of_pods, self._charges = of_pods, charges

    def put(self, node: Node) -> None:
        """Add or update a node."""
        name = node.metadata.name
        slot = self._nodes.by_name.get(name)
        if slot is not None and self._nodes.uids[slot] != node.metadata.uid:
            self.remove(name)
            slot = None
        allocatable = amounts(node.status.allocatable, f"node {name}: status.allocatable")
        check_amounts(allocatable, f"node {name}: status.allocatable")
        self._ledger.resources.register_offered(allocatable, f"node {name}: status.allocatable")
        kinds, table = self._config.device_kinds, self._ledger.devices
        devices = take_reported(node, allocatable, kinds, table)
        zone = zone_name(node.metadata.labels)
        lane = lane_of(node.metadata, self._config.shard)
        if slot is not None and self._must_move(slot, zone, lane):
            self.remove(name)  # its pods follow as strays
            slot = None
        if slot is None:
            slot = self._ledger.add_node(zone, allocatable, lane)
            self._add_node(node, slot, devices)
            return
        changed = self._nodes.put(slot, node)
        if self._ledger.offers(slot) != {kind: n for kind, n in allocatable.items() if n}:
            self._ledger.set_allocatable(slot, allocatable)
            self._topology.resize(slot)
            changed |= Cure.NODE_GREW
        if self._install_devices(slot, devices):
            changed |= Cure.NODE_GREW
            self._apply_report(name, slot)
        if changed:
            self.mark_static_changed(slot, changed)

    def remove(self, name: str) -> None:
        """Remove a node; its pods become strays until they are seen on another node or end."""
        slot = self._nodes.by_name.get(name)
        if slot is None:
            return
        rows = self._pods.on_slot(slot)
        self._pods.slot[rows] = NO_SLOT
        self._pods.log.extend(rows)
        if len(rows):
            self._charges.charge_unplaced(rows.tolist(), name)
        self._charges.reservations.release_node(slot)
        self._charges.offers.release_node(slot)
        self._topology.clear(slot)
        self._nodes.reports.node_removed(name, slot, rows)
        self._nodes.remove(slot)
        self._ledger.remove_node(slot)
        self._notify(slot)
        self._charges.changes.add_cures(Cure.NODE_LEFT)

    def _add_node(self, node: Node, slot: int, devices: dict[str, tuple[int, str]]) -> None:
        self._nodes.grow(self._ledger.slots.size)
        self._domains.grow(self._ledger.slots.size)
        self._nodes.put(slot, node)
        self._install_devices(slot, devices)
        self._nodes.reports.created_at[node.metadata.name] = node.metadata.creation_timestamp or ""
        self._apply_report(node.metadata.name, slot)
        for row in self._charges.take_strays(node.metadata.name):
            self._charges.charge(row, slot, int(self._pods.devices[row]))
            self._of_pods.evictions.follow(row)
        self.mark_static_changed(slot, Cure.NODE_ADDED)

    def set_ratios(self, name: str, ratios: Mapping[str, NodeRatio]) -> bool:
        """Set the overcommit ratios of a node; returns whether a ratio or cap changed."""
        slot = self._nodes.by_name.get(name)
        if slot is None:
            return False
        began = bool(ratios) and not self._ledger.promises.is_overcommitted(slot)
        changed = self._ledger.set_ratios(slot, ratios)
        if began:
            self._charges.hold_again(slot)
        if changed:
            self._topology.resize(slot)
            self.mark_static_changed(slot, Cure.NODE_GREW)
        return changed

    def put_report(self, report: CustomNodeResource) -> None:
        """Apply a node agent's report: NUMA nodes, their devices, and load."""
        name = report.metadata.name
        self._nodes.reports.put(report)
        slot = self._nodes.by_name.get(name)
        if slot is not None:
            self._apply_report(name, slot)
            self._charges.changes.add_cures(Cure.NODE_GREW | Cure.NODE_LABELS)

    def drop_report(self, name: str) -> None:
        """Remove a node's report and its NUMA nodes."""
        self._nodes.reports.drop(name)
        slot = self._nodes.by_name.get(name)
        if slot is not None:
            self._apply_report(name, slot)

    def _apply_report(self, name: str, slot: int) -> None:
        """Apply the report of a node to its slot; problems are recorded in ``abnormal``."""
        if not self._nodes.reports.knows(name, slot):
            return
        layout, problems = self._nodes.reports.settle(name, slot)
        key = f"customnoderesource {name}"
        self._ledger.set_pool(slot, layout.pool)
        if layout.numbers or slot in self._topology.numbers:
            problems += self._topology.install(slot, layout, self._pods.row)
            for row in self._topology.without_numa_nodes(self._pods.on_slot(slot).tolist()):
                pod = self._classes[int(self._pods.class_id[row])]
                self._topology.give_back(row)
                self._pods.devices[row] = self._topology.take(
                    row, slot, int(self._pods.devices[row]), pod
                )
            if self._ledger.promises.is_overcommitted(slot):
                self._charges.hold_again(slot)
        if self._nodes.reports.renewed:
            self._record_requested(slot)
        self._charges.abnormal.pop(key, None)
        if problems:
            self._charges.abnormal[key] = f"customnoderesource {name}: " + "; ".join(problems)
        self.mark_static_changed(slot, Cure.NONE)

    def _record_requested(self, slot: int) -> None:
        """Record requests and use of the pods in a node's measurement.

        It does not include later pods.
        """
        rows = self._pods.on_slot(slot)
        requests = self._classes.requests_of(self._pods.class_id[rows])[:, [CPU, MEMORY]]
        used = self._ledger.used[slot, [CPU, MEMORY]]
        self._nodes.reports.renew_pods(slot, rows, self._pods.key, (used, requests))

    def _install_devices(self, slot: int, devices: dict[str, tuple[int, str]]) -> bool:
        """Install a node's devices on its slot if they differ; pods keep their devices.

        A pod whose device is gone is charged for another device, because its request still counts.
        """
        table = self._ledger.devices
        if table.inventory(slot) == devices:
            return False
        rows = self._pods.on_slot(slot)
        table.clear(slot)
        for kind, (count, model) in devices.items():
            table.install(slot, kind, count, model)
        charge_again(table, slot, rows.tolist(), self._of_pods, self._topology)
        self._charges.reservations.take_devices_again(slot)
        self._charges.offers.take_again(slot)
        return True

    def _must_move(self, slot: int, zone: str, lane: int) -> bool:
        """Return whether a node must change its slot; only empty nodes move for a lane alone."""
        moved = self._ledger.slots.lane_of(slot) != lane and not self._ledger.used[slot].any()
        return self._nodes.zones[slot] != zone or moved

    def mark_static_changed(self, slot: int, changed: Cure) -> None:
        """Record a change of a slot other than usage, and its cures."""
        self._ledger.touch_static([slot])
        self._notify(slot)
        self._charges.changes.add_cures(changed)

    def _notify(self, slot: int) -> None:
        slots = np.array([slot], np.int64)
        for listener in self.listeners:
            listener(slots)
