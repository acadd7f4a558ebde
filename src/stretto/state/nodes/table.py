"""Static facts of nodes, by slot: names, labels, taints, cordons.

These are properties of the node object, unlike the usage in the ``ledger``. Lists of taints are
interned: a cluster has thousands of nodes and a handful of distinct lists, so a taint rule is
evaluated once per list. ``put`` returns the change, so that the caller marks the slot as changed
and wakes only the pods that the change may help.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from stretto.api.types.core import Node, Taint
from stretto.api.types.handover_annotations import KUBELET, NODE_MANAGER, OWNER
from stretto.api.wire.meta import ObjectMeta
from stretto.api.wire.selectors import NODE_NAME, NodeTerm, Operator, SelectorRule
from stretto.base.copies import copied_with
from stretto.state.nodes.images import NodeImages
from stretto.state.nodes.labels import BoolArray, LabelColumns, SlotArray
from stretto.state.nodes.measured_pods import MeasuredPods
from stretto.state.nodes.reports import NodeReports
from stretto.state.numa.ledger import NumaTopology
from stretto.state.rows.shared_values import SharedValues
from stretto.state.work.units import Cure

ZONE_KEYS: Final = ("topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone")
"""Labels with a node's zone: the current one and its deprecated predecessor."""
MANAGED_BY: Final = {KUBELET: 1, NODE_MANAGER: 2}
"""Bits of the agents that may manage a node."""
_TaintKey = tuple[tuple[str, str, str], ...]
NO_RANK: Final = np.iinfo(np.int32).max
"""Name rank of slots without a node: after every node."""


class NodeFacts:
    """Names, labels, taints and cordons of all slots."""

    def __init__(self, *, images: bool = False, topology: NumaTopology | None = None) -> None:
        """Start without slots.

        Args:
            images: true to store the images that nodes report.
            topology: the NUMA ledger; ``None`` if NUMA nodes are not tracked.
        """
        #: Incremented on every change of any node; equal versions imply equal results.
        self.version: int = 0
        #: uint8[slot]: 1 where the slot has a node.
        self.live: npt.NDArray[np.uint8] = np.zeros(0, np.uint8)
        #: Names by slot; empty where the slot has no node.
        self.names: list[str] = []
        #: Slots by name.
        self.by_name: dict[str, int] = {}
        #: Uids by slot.
        self.uids: list[str] = []
        #: resourceVersions by slot.
        self.versions: list[str] = []
        #: Zone label values by slot; empty if the node has none.
        self.zones: list[str] = []
        #: Labels of every slot.
        self.labels = LabelColumns()
        #: Images that nodes report.
        self.images = NodeImages(wanted=images)
        #: Reports of node agents.
        self.reports = NodeReports()
        #: NUMA ledger; ``None`` if NUMA nodes are not tracked.
        self.topology = topology
        #: int32[slot]: index into ``taint_sets``; 0 is "no taints".
        self.taint_set: npt.NDArray[np.int32] = np.zeros(0, np.int32)
        #: uint8[slot]: 1 where the node is cordoned.
        self.unschedulable: npt.NDArray[np.uint8] = np.zeros(0, np.uint8)
        #: uint8[slot]: ``MANAGED_BY`` bits of the node's agents.
        self.managers: npt.NDArray[np.uint8] = np.zeros(0, np.uint8)
        #: int32[slot]: like ``taint_set``, for pods that a node manager starts.
        self.manager_taints: npt.NDArray[np.int32] = np.zeros(0, np.int32)
        self._taints: SharedValues[_TaintKey, tuple[Taint, ...]] = SharedValues(())
        self._taints.add((), ())
        self._rank: npt.NDArray[np.int32] = np.zeros(0, np.int32)
        self._rank_is_stale = False

    def __len__(self) -> int:
        """Number of live nodes."""
        return len(self.by_name)

    @property
    def size(self) -> int:
        """Number of slots, live or not."""
        return len(self.live)

    @property
    def name_rank(self) -> npt.NDArray[np.int32]:
        """int32[slot]: position in the order of names, recomputed after nodes were added.

        Removed nodes may leave gaps; slots without a node come last.
        """
        if self._rank_is_stale:
            slots = [self.by_name[name] for name in sorted(self.by_name)]
            self._rank = np.full(self.size, NO_RANK, np.int32)
            self._rank[slots] = np.arange(len(slots), dtype=np.int32)
            self._rank_is_stale = False
        return self._rank

    def showing(self, pods: MeasuredPods) -> "NodeFacts":
        """Return the same nodes with other measured pods."""
        return copied_with(self, reports=self.reports.showing(pods))

    def live_slots(self) -> SlotArray:
        """int64[k]: slots with a node, ascending."""
        return np.flatnonzero(self.live)

    def grow(self, size: int) -> None:
        """Grow to ``size`` slots."""
        missing = size - self.size
        if missing <= 0:
            return
        zeros = np.zeros(missing, np.uint8)
        self.live = np.concatenate([self.live, zeros])
        self.unschedulable = np.concatenate([self.unschedulable, zeros])
        self.taint_set = np.concatenate([self.taint_set, zeros.astype(np.int32)])
        self.managers = np.concatenate([self.managers, zeros])
        self.manager_taints = np.concatenate([self.manager_taints, zeros.astype(np.int32)])
        self._rank = np.concatenate([self._rank, np.full(missing, NO_RANK, np.int32)])
        for texts in (self.names, self.uids, self.versions, self.zones):
            texts.extend([""] * missing)
        self.labels.grow(size)

    def put(self, slot: int, node: Node) -> Cure:
        """Set a slot's node and return the change; ``NONE`` if only the resourceVersion changed.

        Raises:
            ValueError: another slot has a node of this name: a bug in the caller.
        """
        meta, spec = node.metadata, node.spec
        self.grow(slot + 1)
        changed = Cure.NONE
        if not self.live[slot] or self.uids[slot] != meta.uid or self.names[slot] != meta.name:
            self._settle(slot, meta.name)
            self.uids[slot] = meta.uid
            self.managers[slot] = MANAGED_BY[KUBELET]
            changed = Cure.NODE_ADDED
            self.images.recount()
        self.images.put(slot, node.status.images)
        self.versions[slot] = meta.resource_version
        if self.labels.put(slot, meta.labels):
            changed |= Cure.NODE_LABELS
            self.zones[slot] = zone_name(meta.labels)
        if self._set_taints(self.taint_set, slot, spec.taints):
            changed |= Cure.NODE_TAINTS
        if self.unschedulable[slot] != spec.unschedulable:
            self.unschedulable[slot] = spec.unschedulable
            changed |= Cure.NODE_TAINTS
        self.version += bool(changed)
        return changed

    def manage(self, slot: int, managers: int, taints: Sequence[Taint]) -> bool:
        """Set the agents of a node and its node manager's taints; return whether they changed."""
        changed = self._set_taints(self.manager_taints, slot, taints)
        changed = changed or bool(self.managers[slot] != managers)
        self.managers[slot] = managers
        self.version += changed
        return changed

    def remove(self, slot: int) -> None:
        """Remove a slot's node."""
        if not self.live[slot]:
            return
        del self.by_name[self.names[slot]]
        for texts in (self.names, self.uids, self.versions, self.zones):
            texts[slot] = ""
        self.live[slot] = self.unschedulable[slot] = 0
        self.labels.remove(slot)
        self.images.remove(slot)
        self.images.recount()
        self._set_taints(self.taint_set, slot, ())
        self._set_taints(self.manager_taints, slot, ())
        self.managers[slot] = 0
        self._rank[slot] = NO_RANK
        self.version += 1

    def slots_named(self, names: Sequence[str] | frozenset[str]) -> SlotArray:
        """int64[k]: the slots of the named nodes that exist, ascending."""
        found = sorted(self.by_name[name] for name in names if name in self.by_name)
        return np.array(found, np.int64)

    def matches(self, terms: Sequence[NodeTerm], slots: SlotArray) -> BoolArray:
        """bool[k]: slots that match any of the terms; an empty list matches no slot."""
        mask = np.zeros(len(slots), np.bool_)
        for term in terms:
            mask |= self.matches_term(term, slots)
        return mask

    def matches_term(self, term: NodeTerm, slots: SlotArray) -> BoolArray:
        """bool[k]: slots that match one term; a term without rules matches no slot."""
        if not term.labels.rules and not term.fields.rules:
            return np.zeros(len(slots), np.bool_)
        mask = self.labels.all_match(term.labels.rules, slots)
        for rule in term.fields.rules:
            mask &= self._field_matches(rule, slots)
        return mask

    @property
    def taint_sets(self) -> Sequence[tuple[Taint, ...]]:
        """Distinct lists of taints by number; a free number has no taints."""
        return self._taints.values

    def taints_by(self, launcher: str) -> npt.NDArray[np.int32]:
        """int32[slot]: index into ``taint_sets`` for pods that this agent starts."""
        return self.manager_taints if launcher == NODE_MANAGER else self.taint_set

    def taint_ids_in(self, numbers: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
        """The distinct values among some indices into ``taint_sets``."""
        if len(numbers) == 1:
            return numbers
        used = np.zeros(len(self.taint_sets), np.bool_)
        used[numbers] = True
        return np.flatnonzero(used).astype(np.int32)

    def _field_matches(self, rule: SelectorRule, slots: SlotArray) -> BoolArray:
        """bool[k]: slots that match a rule on the node's name."""
        if rule.key != NODE_NAME:
            return np.zeros(len(slots), np.bool_)
        is_named = np.zeros(self.size, np.bool_)
        is_named[self.slots_named(rule.values)] = True
        named: BoolArray = is_named[slots]
        return named if rule.operator is Operator.IN else ~named

    def _settle(self, slot: int, name: str) -> None:
        """Assign a node name to a slot."""
        if self.by_name.get(name, slot) != slot:
            raise ValueError(f"node {name!r} is on slot {self.by_name[name]}, not {slot}")
        if self.live[slot]:
            del self.by_name[self.names[slot]]
        self.by_name[name] = slot
        self.names[slot] = name
        self.live[slot] = 1
        self._rank_is_stale = True

    def _set_taints(
        self, column: npt.NDArray[np.int32], slot: int, taints: Sequence[Taint]
    ) -> bool:
        """Set a slot's list of taints; return whether it changed."""
        key = tuple([(taint.key, taint.value, taint.effect) for taint in taints])
        before, after = int(column[slot]), self._taints.find(key)
        if after == before:
            return False
        if after < 0:
            after = self._taints.add(key, tuple(taints))
        column[slot] = after
        self._taints.use(after)
        if before:
            self._taints.release(before)
        return True


def lane_of(meta: ObjectMeta, shard: str) -> int:
    """The lane of a node for one shard: 1 if the shard owns it, otherwise 0."""
    return int(bool(shard) and meta.annotations.get(OWNER) == shard)


def zone_name(labels: dict[str, str]) -> str:
    """The zone in a node's labels; empty if there is none."""
    return next((labels[key] for key in ZONE_KEYS if key in labels), "")
