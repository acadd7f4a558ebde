"""The volume of each PVC of a pod on each node, exactly as in upstream's volume binder.

Results that do not depend on the node are computed once: the PVCs by state, the suitable volumes of
each PVC, and the nodes for which each could be provisioned. Nodes with equal results share one
decision.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Final, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from stretto.api.types.storage import (
    NO_PROVISIONER,
    SELECTED_NODE,
    STORAGE,
    CsiStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    TopologyTerm,
    class_name,
    requested_size,
)
from stretto.api.wire import quantity, selectors
from stretto.framework.model.eligible import meets_any
from stretto.framework.model.nodes import NodeColumns
from stretto.framework.model.pod_facts import SchedulingFacts
from stretto.framework.model.snapshot import ParitySnapshot
from stretto.framework.model.status import BoolArray, IntArray
from stretto.framework.volume_binder.pvcs import PvcsByState, pvc_key, pvcs_of
from stretto.framework.volume_binder.supply import VolumeSupply, supplies_of
from stretto.state.work.claims import VolumeChoice

ANSWERS: Final = 64
"""Maximum number of cached decisions for PVCs with equal requirements."""
_CONFLICT, _UNMATCHED, _NO_CAPACITY, _LOST, _BITS = 1, 2, 4, 8, 4
"""Reasons of a refusal as bits; the higher bits contain the number of an error."""

NODE_CONFLICT: Final = "node(s) didn't match PersistentVolume's node affinity"
BIND_CONFLICT: Final = "node(s) didn't find available persistent volumes to bind"
NO_SPACE: Final = "node(s) did not have enough free storage"
NO_VOLUME: Final = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"


class VolumeDecision(NamedTuple):
    """The decision about a pod's PVCs on a node."""

    #: Reasons why the node is rejected.
    reasons: tuple[str, ...]
    #: Volumes to bind, with their PVCs.
    taken: tuple[tuple[PersistentVolume, PersistentVolumeClaim], ...] = ()
    #: PVCs whose volumes are to be provisioned.
    made: tuple[PersistentVolumeClaim, ...] = ()
    #: Error if the node cannot be evaluated.
    error: str = ""

    @property
    def choice(self) -> VolumeChoice | None:
        """Work of the binder; ``None`` if there is nothing to do."""
        if not (self.taken or self.made):
            return None
        return VolumeChoice(
            tuple(
                (volume.metadata.name, pvc.metadata.namespace, pvc.metadata.name)
                for volume, pvc in self.taken
            ),
            tuple((pvc.metadata.namespace, pvc.metadata.name) for pvc in self.made),
        )


NOTHING_TO_DO: Final = VolumeDecision(())
"""The decision for a pod without unbound PVCs."""


class VolumeCandidate(NamedTuple):
    """A suitable volume for a PVC."""

    #: The volume.
    volume: PersistentVolume
    #: bool[n]: nodes that can access it.
    reach: BoolArray


class PvcMatch(NamedTuple):
    """The suitable volumes for a PVC."""

    #: The PVC.
    pvc: PersistentVolumeClaim
    #: Volume that is reserved for it, if any; it excludes the others.
    kept: VolumeCandidate | None
    #: Free volumes.
    others: VolumeSupply

    def counts(self) -> IntArray:
        """int64[n]: number of volumes for it by node."""
        return self.others.counts if self.kept is None else self.kept.reach.astype(np.int64)


class VolumeProvisioning(NamedTuple):
    """Nodes for which a PVC's volume could be provisioned."""

    #: Error; empty for none.
    error: str
    #: bool[n]: nodes for which the class may provision it.
    allowed: BoolArray
    #: bool[n]: nodes with storage capacity for it.
    capacity: BoolArray


def reached(volume: PersistentVolume, nodes: NodeColumns) -> BoolArray:
    """bool[n]: nodes that can access a volume."""
    affinity = volume.spec.node_affinity
    required = affinity.required if affinity is not None else None
    if required is None:
        return nodes.kept("all nodes", lambda: np.ones(nodes.count, np.bool_))
    terms = required.node_selector_terms
    key = ("volume", msgspec.json.encode(required))
    return nodes.kept(key, lambda: meets_any(terms, nodes, names=False))


class VolumeBinder:
    """Evaluates nodes for the PVCs of one pod."""

    def __init__(self, pvcs: PvcsByState, snapshot: ParitySnapshot) -> None:
        """Compute the results that do not depend on the node."""
        self._pvcs = pvcs
        self._snapshot = snapshot
        self._nodes = snapshot.nodes
        self._objects = snapshot.objects
        self._supplies = supplies_of(snapshot)
        self._reach = [self._bound(each) for each in pvcs.bound]
        self._selected = [c for c in pvcs.waiting if SELECTED_NODE in c.metadata.annotations]
        free = [c for c in pvcs.waiting if SELECTED_NODE not in c.metadata.annotations]
        sizes = {pvc_key(each): requested_size(each) for each in free}
        ordered = sorted(free, key=lambda each: sizes[pvc_key(each)])
        self._matches = [self._match(each, sizes[pvc_key(each)]) for each in ordered]
        self._making = {pvc_key(each): self._make(each) for each in pvcs.waiting}

    @classmethod
    def of(cls, pod: SchedulingFacts, snapshot: ParitySnapshot) -> "VolumeBinder":
        """The binder of a pod's PVCs."""
        return cls(pvcs_of(pod, snapshot.objects), snapshot)

    def answers(self) -> tuple[list[VolumeDecision], npt.NDArray[np.intp]]:
        """The distinct decisions, without volumes; and intp[n]: the number of each node's decision.

        The result for PVCs that wait and name no node depends only on their requirements: they
        share it.
        """
        if self._reach or self._selected or any(each.kept for each in self._matches):
            return self._answers()
        tables = [each.others for each in self._matches]
        makings = tuple(self._making.values())
        key = tuple((id(each), each.version) for each in tables), tuple(map(id, makings))
        found = self._supplies.answers.get(key)
        if found is None or found[0] != makings:
            if len(self._supplies.answers) >= ANSWERS:
                self._supplies.answers.clear()
            found = self._supplies.answers[key] = makings, self._answers()
        kept: tuple[list[VolumeDecision], npt.NDArray[np.intp]] = found[1]
        return kept

    def _answers(self) -> tuple[list[VolumeDecision], npt.NDArray[np.intp]]:
        codes, errors = self._codes()
        if not codes.any():
            return [NOTHING_TO_DO], np.zeros(len(codes), np.intp)
        present = np.flatnonzero(np.bincount(codes))
        numbers = np.zeros(int(codes.max(initial=0)) + 1, np.intp)
        numbers[present] = np.arange(len(present))
        return [_answer(code, errors) for code in present.tolist()], numbers[codes]

    def _codes(self) -> tuple[IntArray, list[str]]:
        """int64[n]: refusal reasons of each node as bits, with an error number in the high bits."""
        count = self._nodes.count
        codes = np.zeros(count, np.int64)
        undecided = np.ones(count, np.bool_)
        for reach in self._reach:
            if reach is None:
                codes[undecided] |= _LOST
                break
            refused = undecided & ~reach
            codes[refused] |= _CONFLICT
            undecided &= reach
        still = np.ones(count, np.bool_)
        for pvc in self._selected:
            at = self._nodes.index.get(pvc.metadata.annotations[SELECTED_NODE])
            elsewhere = np.ones(count, np.bool_)
            if at is not None:
                elsewhere[at] = False
            codes[elsewhere] |= _UNMATCHED
            still &= ~elsewhere
        errors: list[str] = []
        everywhere = np.ones(count, np.bool_)
        pending = [(each, everywhere) for each in self._selected]
        for pvc, left in (*pending, *self._left(still)):
            making = self._making[pvc_key(pvc)]
            here = still & left
            if making.error:
                errors.append(making.error)
                codes[here] = len(errors) << _BITS
                still &= ~here
                continue
            codes[here & ~making.allowed] |= _UNMATCHED
            still &= ~(here & ~making.allowed)
            here &= making.allowed & ~making.capacity
            codes[here] |= _NO_CAPACITY
            still &= ~here
        return codes, errors

    def _left(self, pending: BoolArray) -> list[tuple[PersistentVolumeClaim, BoolArray]]:
        """bool[n] by PVC: true where it finds no volume after the earlier PVCs."""
        counts = [each.counts() for each in self._matches]
        left = [each <= 0 for each in counts]
        shared = Counter(
            e.others.requirements.type.storage_class for e in self._matches if e.kept is None
        )
        unsure = np.zeros(self._nodes.count, np.bool_)
        for match, have in zip(self._matches, counts, strict=True):
            name = match.others.requirements.type.storage_class
            rivals = 1 if match.kept is not None else shared[name]
            if rivals > 1:
                unsure |= (have > 0) & (have < rivals)
        for node in np.flatnonzero(unsure & pending).tolist():
            without = {pvc_key(pvc) for pvc in self._choose(node)[1]}
            for match, mask in zip(self._matches, left, strict=True):
                mask[node] = pvc_key(match.pvc) in without
        return [(match.pvc, mask) for match, mask in zip(self._matches, left, strict=True)]

    def find(self, node: int) -> VolumeDecision:
        """The decision on one node."""
        conflict, lost = self._check_bound(node)
        name = self._nodes.names[node]
        for pvc in self._selected:
            if pvc.metadata.annotations[SELECTED_NODE] != name:
                return VolumeDecision(_reasons(conflict, True, False, lost))
        taken, left = self._choose(node)
        error, no_volume, no_capacity = self._provide((*self._selected, *left), node)
        if error:
            return VolumeDecision((), error=error)
        reasons = _reasons(conflict, no_volume, no_capacity, lost)
        return VolumeDecision(reasons, tuple(taken), (*self._selected, *left))

    def find_for(self, waiting: tuple[PersistentVolumeClaim, ...], node: int) -> VolumeDecision:
        """The decision on one node for other PVCs with the same requirements in the same order.

        The result is valid only if these PVCs and the binder's own wait, name no node and have no
        reserved volume, and if the snapshot has not changed except for volumes bound since.
        """
        self._supplies.sync()
        found = self.find(node)
        theirs = dict(zip(self._making, waiting, strict=True))
        taken = tuple([(volume, theirs[pvc_key(pvc)]) for volume, pvc in found.taken])
        made = tuple([theirs[pvc_key(pvc)] for pvc in found.made])
        return VolumeDecision(found.reasons, taken, made, found.error)

    def _check_bound(self, node: int) -> tuple[bool, bool]:
        """Return whether a bound volume is inaccessible, and whether one is missing.

        The first such PVC decides.
        """
        for reach in self._reach:
            if reach is None:
                return False, True
            if not reach[node]:
                return True, False
        return False, False

    def _choose(
        self, node: int
    ) -> tuple[list[tuple[PersistentVolume, PersistentVolumeClaim]], list[PersistentVolumeClaim]]:
        """Choose a volume for each PVC, smallest PVC first; also return the PVCs that get none."""
        taken: list[tuple[PersistentVolume, PersistentVolumeClaim]] = []
        left: list[PersistentVolumeClaim] = []
        gone: set[str] = set()
        for match in self._matches:
            volume = None
            if match.kept is None:
                name = match.others.first(node, gone)
                volume = None if name is None else self._objects.volumes[name]
            elif match.kept.reach[node] and _name(match.kept.volume) not in gone:
                volume = match.kept.volume
            if volume is None:
                left.append(match.pvc)
            else:
                taken.append((volume, match.pvc))
                gone.add(_name(volume))
        return taken, left

    def _provide(self, pvcs: Iterable[PersistentVolumeClaim], node: int) -> tuple[str, bool, bool]:
        """Error, whether a volume cannot be provisioned, and whether capacity is missing."""
        for pvc in pvcs:
            each = self._making[pvc_key(pvc)]
            if each.error:
                return each.error, False, False
            if not each.allowed[node]:
                return "", True, False
            if not each.capacity[node]:
                return "", False, True
        return "", False, False

    def _bound(self, pvc: PersistentVolumeClaim) -> BoolArray | None:
        volume = self._objects.volumes.get(pvc.spec.volume_name)
        return None if volume is None else reached(volume, self._nodes)

    def _match(self, pvc: PersistentVolumeClaim, size: int) -> PvcMatch:
        kept = self._supplies.kept(pvc, size)
        others = self._supplies.of(pvc, size)
        if kept is None:
            return PvcMatch(pvc, None, others)
        return PvcMatch(pvc, VolumeCandidate(kept, reached(kept, self._nodes)), others)

    def _make(self, pvc: PersistentVolumeClaim) -> VolumeProvisioning:
        key = class_name(pvc), pvc.spec.resources.requests.get(STORAGE)
        found = self._supplies.makings.get(key)
        if found is None:
            found = self._supplies.makings[key] = self._new_making(pvc)
        assert isinstance(found, VolumeProvisioning)
        return found

    def _new_making(self, pvc: PersistentVolumeClaim) -> VolumeProvisioning:
        everywhere = np.ones(self._nodes.count, np.bool_)
        found = self._objects.class_of(pvc)
        if found is None:
            error = f'failed to find storage class "{class_name(pvc)}"'
            return VolumeProvisioning(error, everywhere, everywhere)
        if found.provisioner in ("", NO_PROVISIONER):
            return VolumeProvisioning("", ~everywhere, everywhere)
        allowed = self._topology(found.allowed_topologies)
        return VolumeProvisioning("", allowed, self._has_capacity(pvc, found))

    def _topology(self, terms: tuple[TopologyTerm, ...]) -> BoolArray:
        """bool[n]: nodes for which a class may provision volumes: any term, all of its labels."""
        if not terms:
            return np.ones(self._nodes.count, np.bool_)
        mask = np.zeros(self._nodes.count, np.bool_)
        for term in terms:
            if term.match_label_expressions:
                rules = tuple(
                    selectors.SelectorRule(
                        each.key, selectors.Operator.IN, tuple(sorted(each.values))
                    )
                    for each in term.match_label_expressions
                )
                mask |= self._nodes.holds(rules)
        return mask

    def _has_capacity(self, pvc: PersistentVolumeClaim, found: StorageClass) -> BoolArray:
        """bool[n]: nodes for which the driver has capacity for the PVC."""
        everywhere = np.ones(self._nodes.count, np.bool_)
        driver = self._objects.drivers.get(found.provisioner)
        pending = pvc.spec.resources.requests.get(STORAGE)
        if pending is None or driver is None or not driver.spec.storage_capacity:
            return everywhere
        size = quantity.value(pending, STORAGE)
        mask = ~everywhere
        for each in self._objects.capacities.values():
            if each.storage_class_name == found.metadata.name and _limit(each) >= size:
                selector = selectors.label_selector(each.node_topology, "nodeTopology")
                if not selector.nothing:
                    mask |= self._nodes.holds(selector.rules)
        return mask


def _limit(capacity: CsiStorageCapacity) -> int:
    """Size of the largest volume that can be provisioned; -1 if unknown."""
    stated = capacity.maximum_volume_size
    if stated is None:
        stated = capacity.capacity
    return -1 if stated is None else quantity.value(stated, "capacity")


def _name(volume: PersistentVolume) -> str:
    return volume.metadata.name


def _reasons(conflict: bool, unmatched: bool, no_capacity: bool, lost: bool) -> tuple[str, ...]:
    if not (conflict or unmatched or no_capacity or lost):
        return ()
    stated = (
        (conflict, NODE_CONFLICT),
        (unmatched, BIND_CONFLICT),
        (no_capacity, NO_SPACE),
        (lost, NO_VOLUME),
    )
    return tuple(reason for holds, reason in stated if holds)


def _answer(code: int, errors: list[str]) -> VolumeDecision:
    if code >> _BITS:
        return VolumeDecision((), error=errors[(code >> _BITS) - 1])
    bits = [bool(code & bit) for bit in (_CONFLICT, _UNMATCHED, _NO_CAPACITY, _LOST)]
    return VolumeDecision(_reasons(*bits))
