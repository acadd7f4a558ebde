"""The cluster as one engine process knows it: nodes, pods, and what is charged where.

Two things write here and nothing else: watch events (``ingest``) and the binder's claims. Both go
through ``charge`` and ``refund``, which keep the ledger's exact amounts, devices and ports in step
with the pods' rows. Pods on a node that is not known (yet, or any more) are kept as strays and
charged when the node comes.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

import msgspec
import numpy as np
import numpy.typing as npt

from stretto.api.types.cnr import CustomNodeResource
from stretto.api.types.core import Node
from stretto.api.types.godel import PodGroup, Queue
from stretto.api.wire.quantity import amounts
from stretto.base.errors import InputError
from stretto.state.affinity.index import PopulationRegistry
from stretto.state.classes.annotations import MICRO_TOPOLOGY
from stretto.state.classes.preemption_attributes import PreemptionAttributeTable
from stretto.state.classes.table import GPU, GPU_DEVICES, PodClasses
from stretto.state.cluster.reservations import PlaceReservations
from stretto.state.nodes.table import NodeFacts, lane_of, zone_name
from stretto.state.numa.ledger import DEVICE_BITS, NumaTopology
from stretto.state.objects import ClusterObjects
from stretto.state.rows.devices import MAX_DEVICES, mask_to_text
from stretto.state.rows.ledger import Ledger
from stretto.state.rows.lifecycle import PodState
from stretto.state.rows.pods import NO_SLOT, Pods
from stretto.state.rows.resources import CPU, MEMORY, check_amounts
from stretto.state.work.changes import ClusterChanges
from stretto.state.work.claims import SnapshotBasis
from stretto.state.work.evictions import Evictions
from stretto.state.work.units import Cure
from stretto.stores.store import Record

GPU_PRODUCT: Final = "nvidia.com/gpu.product"
"""Node label that names the model of its GPUs."""
SCHEDULER_NAME: Final = "stretto"
"""Name under which pods ask for this scheduler."""


class ClusterConfig(msgspec.Struct, frozen=True):
    """What the model of the cluster must be told."""

    #: Names under which pods ask for this scheduler.
    scheduler_names: frozenset[str] = frozenset({SCHEDULER_NAME})
    #: Resources managed device by device, with the node label that names their model.
    device_kinds: Mapping[str, str] = msgspec.field(default_factory=lambda: {GPU: GPU_PRODUCT})
    #: Priority of pods that state none.
    default_priority: int = 0
    #: Blocks of each zone that are filled side by side: the number of shards.
    fan_out: int = 1
    #: Shard whose nodes, by their annotation, lie in blocks of their own; empty for no one's.
    shard: str = ""
    #: Whether pods and nodes are kept in full too, for rules that read whole objects.
    whole: bool = False
    #: Whether the records of pods that name claims or disks are kept, for rules about volumes.
    volumes: bool = False
    #: Whether the images of nodes are kept, and those of pods are part of their class.
    images: bool = False


class Cluster:
    """Nodes, pods, classes and the ledger, kept in step."""

    def __init__(self, config: ClusterConfig | None = None) -> None:
        """An empty cluster."""
        #: What it was told.
        self.config = config if config is not None else ClusterConfig()
        #: Exact amounts by slot.
        self.ledger = Ledger(self.config.fan_out, pools=not self.config.whole)
        #: Static facts by slot.
        self.nodes = NodeFacts(images=self.config.images)
        #: NUMA nodes of machines, and who holds what of them.
        self.topology = self.nodes.topology = NumaTopology(self.ledger)
        #: Pods as rows.
        self.pods = Pods()
        #: Classes of pods.
        self.classes = PodClasses(self.ledger.resources, tuple(self.config.device_kinds))
        #: Namespaces, owners, claims, volumes and the like; nodes too where they are kept whole.
        self.objects = ClusterObjects()
        #: The last record of each pod by uid, where pods are kept whole.
        self.records: dict[str, Record] = {}
        #: Places of pods that have gone, kept for their successors.
        self.keeps = PlaceReservations(self.ledger, self.topology, self.pods)
        #: What preemption and budgets ask of pods.
        self.traits = PreemptionAttributeTable()
        #: Pods that are to leave, and the claims that wait for their room.
        self.evictions = Evictions(self.pods)
        #: What rules between pods count, and what classes want of it.
        self.domains = PopulationRegistry(self.pods, self.classes, self.objects)
        #: PodGroups by ``namespace/name``.
        self.groups: dict[str, PodGroup] = {}
        #: Queues by name.
        self.queues: dict[str, Queue] = {}
        #: Keys of the PodGroups that say where they go as a whole, or how they are spread.
        self.directed: set[str] = set()
        #: Names of nodes recommended to the next pods of a unit, by its key.
        self.recommended: dict[str, list[str]] = {}
        #: What each Movement recommends, by its name.
        self.movements: dict[str, dict[str, list[str]]] = {}
        #: Values of PriorityClasses by name.
        self.priorities: dict[str, int] = {}
        #: What the last batches meant, for the dispatcher to absorb.
        self.changes = ClusterChanges()
        #: Objects that could not be read: key to what is wrong with them.
        self.abnormal: dict[str, str] = {}
        #: Versions of what we wrote about pods ourselves: news to nobody here when it is seen.
        self.own_writes: set[int] = set()
        #: Called with the slots whose node object changed.
        self.static_listeners: list[Callable[[npt.NDArray[np.int64]], None]] = []
        #: Wall clock less engine clock, in seconds: what times written by others are read by.
        self.wall_offset = 0.0
        self._strays: dict[str, set[int]] = {}

    @property
    def basis(self) -> SnapshotBasis:
        """What a snapshot taken now would reflect."""
        return SnapshotBasis(self.ledger.head, self.objects.version)

    @property
    def domains_basis(self) -> tuple[int, int, int]:
        """What a decision between pods taken now would follow from: numbering, counts, nodes."""
        return self.domains.counts.epoch, self.domains.counts.head, self.nodes.version

    def placement_cures(self, class_ids: npt.NDArray[np.int32] | int) -> Cure:
        """What pods of these classes may cure by coming: nothing, where no rule counts them."""
        if not self.config.whole and not np.any(self.classes.counted[class_ids]):
            return Cure.NONE
        self.domains.record_placed(() if self.config.whole else class_ids)
        return Cure.POD_PLACED

    # ------------------------------------------------------------ nodes

    def put_node(self, node: Node) -> None:
        """Add a node, or take over what changed on one."""
        name = node.metadata.name
        slot = self.nodes.by_name.get(name)
        if slot is not None and self.nodes.uids[slot] != node.metadata.uid:
            self.remove_node(name)
            slot = None
        allocatable = amounts(node.status.allocatable, f"node {name}: status.allocatable")
        check_amounts(allocatable, f"node {name}: status.allocatable")
        self.ledger.resources.register_offered(allocatable, f"node {name}: status.allocatable")
        devices = self._devices_of(node, allocatable)
        zone = zone_name(node.metadata.labels)
        lane = lane_of(node.metadata, self.config.shard)
        if slot is not None and self._is_on_other_node(
            slot, zone, lane
        ):  # its pods follow as strays
            self.remove_node(name)
            slot = None
        if slot is None:
            slot = self.ledger.add_node(zone, allocatable, lane)
            self._add_node(node, slot, devices)
            return
        changed = self.nodes.put(slot, node)
        if self.ledger.offers(slot) != {kind: n for kind, n in allocatable.items() if n}:
            self.ledger.set_allocatable(slot, allocatable)
            self.topology.resize(slot)
            changed |= Cure.NODE_GREW
        if self._install_devices(slot, devices):
            changed |= Cure.NODE_GREW
            self._apply_report(name, slot)
        if changed:
            self.mark_static_changed(slot, changed)

    def remove_node(self, name: str) -> None:
        """Forget a node; its pods become strays until they are seen elsewhere or end."""
        slot = self.nodes.by_name.get(name)
        if slot is None:
            return
        rows = self.pods.on_slot(slot)
        self.pods.slot[rows] = NO_SLOT
        self.pods.log.extend(rows)
        if len(rows):
            self._strays.setdefault(name, set()).update(rows.tolist())
        self.keeps.release_node(slot)
        self.topology.clear(slot)
        self.nodes.reports.node_removed(name, slot)
        self.nodes.remove(slot)
        self.ledger.remove_node(slot)
        self._tell(slot)
        self.changes.cures |= Cure.NODE_LEFT

    def _add_node(self, node: Node, slot: int, devices: dict[str, tuple[int, str]]) -> None:
        self.nodes.grow(self.ledger.slots.size)
        self.domains.grow(self.ledger.slots.size)
        self.nodes.put(slot, node)
        self._install_devices(slot, devices)
        self.nodes.reports.created_at[node.metadata.name] = node.metadata.creation_timestamp or ""
        self._apply_report(node.metadata.name, slot)
        for row in sorted(self._strays.pop(node.metadata.name, ())):
            self.charge(row, slot, int(self.pods.devices[row]))
        self.mark_static_changed(slot, Cure.NODE_ADDED)

    # ------------------------------------------------------------ reports of node agents

    def put_report(self, report: CustomNodeResource) -> None:
        """Take over what a node's agent reports: NUMA nodes, devices in them, load."""
        name = report.metadata.name
        self.nodes.reports.put(report)
        slot = self.nodes.by_name.get(name)
        if slot is not None:
            self._apply_report(name, slot)
            self.changes.cures |= Cure.NODE_GREW | Cure.NODE_LABELS

    def drop_report(self, name: str) -> None:
        """A node's report is gone: nothing is known of its NUMA nodes any more."""
        self.nodes.reports.drop(name)
        slot = self.nodes.by_name.get(name)
        if slot is not None:
            self._apply_report(name, slot)

    def _apply_report(self, name: str, slot: int) -> None:
        """Put what is reported of a node on its slot; what is wrong with it is told."""
        if not self.nodes.reports.knows(name, slot):
            return
        layout, problems = self.nodes.reports.settle(name, slot)
        key = f"customnoderesource {name}"
        self.ledger.set_pool(slot, layout.pool)
        if layout.numbers or slot in self.topology.numbers:
            problems += self.topology.install(slot, layout, self.pods.row)
            for row in self.topology.without_numa_nodes(self.pods.on_slot(slot).tolist()):
                pod = self.classes[int(self.pods.class_id[row])]
                self.topology.give_back(row)
                self.pods.devices[row] = self.topology.take(
                    row, slot, int(self.pods.devices[row]), pod
                )
        self._record_requested(slot)
        self.abnormal.pop(key, None)
        if problems:
            self.abnormal[key] = f"customnoderesource {name}: " + "; ".join(problems)
        self.mark_static_changed(slot, Cure.NONE)

    def _record_requested(self, slot: int) -> None:
        """Remember what the pods in a node's measurement ask: later ones are not in it."""
        reports, asked = self.nodes.reports, self.ledger.used[slot, [CPU, MEMORY]].copy()
        for row in self.pods.on_slot(slot).tolist():
            if not reports.is_measured(slot, self.pods.key(row)):
                wants = dict(self.classes[int(self.pods.class_id[row])].requests)
                asked -= [wants.get(CPU, 0), wants.get(MEMORY, 0)]
        reports.requested[slot] = asked

    def bind_annotations(self, row: int, mask: int) -> dict[str, str] | None:
        """What is written on a pod with its bind: its devices and its NUMA nodes."""
        notes = {}
        if mask & DEVICE_BITS:
            notes[GPU_DEVICES] = mask_to_text(mask)
        stated = self.topology.annotation_of(row)
        if stated:
            notes[MICRO_TOPOLOGY] = stated
        return notes or None

    def _devices_of(self, node: Node, allocatable: dict[str, int]) -> dict[str, tuple[int, str]]:
        """Take managed device kinds out of the amounts: kind to (count, model)."""
        found: dict[str, tuple[int, str]] = {}
        for kind, label in self.config.device_kinds.items():
            count = min(allocatable.pop(kind, 0), MAX_DEVICES - sum(n for n, _ in found.values()))
            if count > 0:
                model = node.metadata.labels.get(label, "")
                self.ledger.devices.model_number(model)  # refused here, before anything changes
                found[kind] = (count, model)
        return found

    def _install_devices(self, slot: int, devices: dict[str, tuple[int, str]]) -> bool:
        """Put a node's devices on its slot where they differ; pods keep what they hold."""
        table = self.ledger.devices
        if table.inventory(slot) == devices:
            return False
        rows = self.pods.on_slot(slot)
        table.clear(slot)
        for kind, (count, model) in devices.items():
            table.install(slot, kind, count, model)
        for row in rows.tolist():
            for request in self.classes[int(self.pods.class_id[row])].devices:
                table.take(slot, int(self.pods.devices[row]), request)
        return True

    def _is_on_other_node(self, slot: int, zone: str, lane: int) -> bool:
        """Whether a node's slot is another's place; for a lane alone only empty nodes move."""
        moved = self.ledger.slots.lane_of(slot) != lane and not self.ledger.used[slot].any()
        return self.nodes.zones[slot] != zone or moved

    def mark_static_changed(self, slot: int, changed: Cure) -> None:
        """Something else than usage has changed on a slot, which may help some pods."""
        self.ledger.touch_static([slot])
        self._tell(slot)
        self.changes.cures |= changed

    def _tell(self, slot: int) -> None:
        slots = np.array([slot], np.int64)
        for listener in self.static_listeners:
            listener(slots)

    # ------------------------------------------------------------ pods on nodes

    def charge(self, row: int, slot: int, mask: int = 0, note: str = "") -> None:
        """Put a pod on a slot and take what its class asks there.

        A pod of devices that comes without a mask (placed by somebody else) gets the likely ones;
        one of NUMA nodes those that ``note`` (its micro-topology) states, or the likely ones.
        """
        pod = self.classes[int(self.pods.class_id[row])]
        if pod.devices and not mask & DEVICE_BITS:
            for request in pod.devices:
                mask |= self.ledger.devices.guess(slot, request)
        if pod.annotations.numa is not None:
            mask = self.topology.take(row, slot, self._stated(row, slot, mask, note), pod)
        for request in pod.devices:
            self.ledger.devices.take(slot, mask, request)
        if pod.ports:
            self.ledger.ports.learn(pod.ports)
            self.ledger.ports.take(slot, pod.ports)
        self.ledger.charge(slot, pod.requests)
        self.changes.cures |= self.placement_cures(pod.id)
        self.pods.slot[row] = slot
        self.pods.log.add(row)
        self.pods.generation[row] = self.ledger.slots.generation[slot]
        self.pods.devices[row] = mask

    def _stated(self, row: int, slot: int, mask: int, note: str) -> int:
        """A claim's mask with the NUMA nodes that a note on the pod states."""
        if not note:
            return mask
        pod = f"pod {self.pods.key(row)}"
        try:
            return mask | self.topology.mask_of(slot, note, pod)
        except InputError as error:
            self.abnormal[pod] = str(error)
            return mask

    def leave(self, row: int, *, ours: bool) -> None:
        """Take an ended pod off its slot; its place may be kept, unless we asked it to go."""
        pod = self.classes[int(self.pods.class_id[row])]
        keeps = pod.annotations.reserves and not ours and self.pods.slot[row] != NO_SLOT
        if keeps := keeps and self.pods.state[row] == PodState.BOUND:
            self.keeps.keep(row, pod)
        self.refund(row)
        if keeps:
            self.keeps.settle()
        self.keeps.forget(row)

    def refund(self, row: int) -> None:
        """Take a pod off its slot and give back what it had there."""
        slot = int(self.pods.slot[row])
        if slot == NO_SLOT:
            for rows in self._strays.values():
                rows.discard(row)
            return
        pod = self.classes[int(self.pods.class_id[row])]
        for request in pod.devices:
            self.ledger.devices.take(slot, int(self.pods.devices[row]), request, -1)
        if pod.annotations.numa is not None:
            self.topology.give_back(row)
        if pod.ports:
            self.ledger.ports.release(slot, pod.ports)
        self.ledger.charge(slot, pod.requests, -1)
        self.pods.slot[row] = NO_SLOT
        self.pods.log.add(row)
        self.pods.devices[row] = 0
        self.changes.cures |= Cure.POD_LEFT

    def charge_plain(self, rows: npt.NDArray[np.int64], slots: npt.NDArray[np.int32]) -> None:
        """Charge many pods of plain classes (amounts only) at once."""
        if len(rows):
            self.changes.cures |= self.placement_cures(self.pods.class_id[rows])
        self._add_amounts(rows, slots, 1)
        self.pods.slot[rows] = slots
        self.pods.log.extend(rows)
        self.pods.generation[rows] = self.ledger.slots.generation[slots]

    def uncharge_plain(self, rows: npt.NDArray[np.int64], slots: npt.NDArray[np.int32]) -> None:
        """Take back what ``charge_plain`` did."""
        self._add_amounts(rows, slots, -1)
        self.pods.slot[rows] = NO_SLOT
        self.pods.log.extend(rows)

    def _add_amounts(
        self, rows: npt.NDArray[np.int64], slots: npt.NDArray[np.int32], sign: int
    ) -> None:
        self.ledger.widen()
        asks = self.classes.requests_of(self.pods.class_id[rows])
        width = min(asks.shape[1], self.ledger.used.shape[1])
        for column in range(width):  # a third of the price of all columns in one call
            np.add.at(self.ledger.used[:, column], slots, sign * asks[:, column])
        self.ledger.touch(slots)

    def charge_unplaced(self, rows: Sequence[int], name: str) -> None:
        """Remember pods that are on a node which is not known."""
        self._strays.setdefault(name, set()).update(rows)

    def node_of(self, row: int) -> str:
        """Name of the node a pod is claimed for or bound to; empty for none."""
        slot = int(self.pods.slot[row])
        if slot != NO_SLOT:
            return self.nodes.names[slot]
        return next((name for name, rows in self._strays.items() if row in rows), "")
