"""Which volume a claim gets on which node: upstream's volume binder, node by node and exactly.

What does not depend on the node is worked out once: the claims by kind, the volumes that could
serve each, where each could be made. Nodes that agree in all of that share one answer.
"""

from collections.abc import Iterable
from typing import Final, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from stretto.api import quantity, selectors
from stretto.api.storage import (
    CsiStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    TopologyTerm,
)
from stretto.framework.exact.eligible import meets_any
from stretto.framework.exact.nodes import NodeColumns
from stretto.framework.exact.pod_facts import PodFacts
from stretto.framework.exact.snapshot import Snapshot
from stretto.framework.exact.status import BoolArray
from stretto.state.objects import (
    BIND_COMPLETED,
    SELECTED_NODE,
    Objects,
    class_name,
    volume_class_name,
)

WAIT: Final = "WaitForFirstConsumer"
NO_PROVISIONER: Final = "kubernetes.io/no-provisioner"
FILESYSTEM: Final = "Filesystem"
STORAGE: Final = "storage"
FEW_MASKS: Final = 10
"""Masks whose patterns are counted and not sorted."""

NODE_CONFLICT: Final = "node(s) didn't match PersistentVolume's node affinity"
BIND_CONFLICT: Final = "node(s) didn't find available persistent volumes to bind"
NO_SPACE: Final = "node(s) did not have enough free storage"
NO_VOLUME: Final = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"


class Claims(NamedTuple):
    """A pod's claims by what is to be done about them, in the pod's order."""

    #: Bound already.
    bound: tuple[PersistentVolumeClaim, ...]
    #: To be bound where the pod goes.
    waiting: tuple[PersistentVolumeClaim, ...]
    #: Should have been bound already.
    immediate: tuple[PersistentVolumeClaim, ...]


class Found(NamedTuple):
    """What would be done about a pod's claims on a node."""

    #: Why the node is refused.
    reasons: tuple[str, ...]
    #: Volumes to take, with their claims.
    taken: tuple[tuple[PersistentVolume, PersistentVolumeClaim], ...] = ()
    #: Claims whose volumes are to be made.
    made: tuple[PersistentVolumeClaim, ...] = ()
    #: What is broken, where the node cannot be judged.
    error: str = ""


NOTHING_TO_DO: Final = Found(())
"""Of a pod whose claims are bound, or that has none."""


class Candidate(NamedTuple):
    """A volume that could serve a claim."""

    #: The volume.
    volume: PersistentVolume
    #: bool[n]: nodes that reach it.
    reach: BoolArray


class Match(NamedTuple):
    """The volumes that could serve a claim."""

    #: The claim.
    claim: PersistentVolumeClaim
    #: The volume that is kept for it, if any; then no other is looked at.
    kept: Candidate | None
    #: The others, smallest first.
    others: tuple[Candidate, ...]


class Making(NamedTuple):
    """Where a claim's volume could be made."""

    #: What is broken; empty where nothing is.
    error: str
    #: bool[n]: nodes where the class may make it.
    allowed: BoolArray
    #: bool[n]: nodes with room for it.
    room: BoolArray


def claims_of(pod: PodFacts, objects: Objects) -> Claims:
    """A pod's claims; all of them must exist."""
    bound, waiting, immediate = [], [], []
    for name, _ in pod.claim_names():
        claim = objects.claims[pod.namespace, name]
        if claim.spec.volume_name and BIND_COMPLETED in claim.metadata.annotations:
            bound.append(claim)
        elif not claim.spec.volume_name and _waits(objects.class_of(claim)):
            waiting.append(claim)
        else:
            immediate.append(claim)
    return Claims(tuple(bound), tuple(waiting), tuple(immediate))


def size_of(claim: PersistentVolumeClaim) -> int:
    """Bytes that a claim asks for, in billionths."""
    asked = claim.spec.resources.requests.get(STORAGE)
    return 0 if asked is None else quantity.nano(asked, STORAGE)


def reached(volume: PersistentVolume, nodes: NodeColumns) -> BoolArray:
    """bool[n]: nodes that reach a volume."""
    affinity = volume.spec.node_affinity
    required = affinity.required if affinity is not None else None
    if required is None:
        return nodes.kept("all nodes", lambda: np.ones(nodes.count, np.bool_))
    terms = required.node_selector_terms
    key = ("volume", msgspec.json.encode(required))
    return nodes.kept(key, lambda: meets_any(terms, nodes, names=False))


class Binder:
    """Judges nodes for the claims of one pod."""

    def __init__(self, claims: Claims, snapshot: Snapshot) -> None:
        """Work out what does not depend on the node."""
        self._claims = claims
        self._nodes = snapshot.nodes
        self._objects = snapshot.objects
        self._reach = [self._bound(each) for each in claims.bound]
        self._selected = [c for c in claims.waiting if SELECTED_NODE in c.metadata.annotations]
        free = [c for c in claims.waiting if SELECTED_NODE not in c.metadata.annotations]
        self._matches = [self._match(each) for each in sorted(free, key=size_of)]
        self._making = [self._make(each) for each in claims.waiting]

    def answers(self) -> tuple[list[Found], npt.NDArray[np.intp]]:
        """The different answers; and intp[n]: the number of each node's."""
        count = self._nodes.count
        masks = [mask for mask in self._masks() if mask.any() and not mask.all()]
        if not masks:
            return [self.find(0)], np.zeros(count, np.intp)
        if len(masks) <= FEW_MASKS:
            return self._few_answers(masks)
        bits = np.packbits(np.stack(masks), axis=0)
        words = -(-len(bits) // 8)
        rows = np.zeros((count, words * 8), np.uint8)
        rows[:, : len(bits)] = bits.T
        whole = rows.view(np.uint64 if words == 1 else np.dtype((np.void, words * 8))).ravel()
        _, first, numbers = np.unique(whole, return_index=True, return_inverse=True)
        return [self.find(node) for node in first.tolist()], numbers

    def _few_answers(self, masks: list[BoolArray]) -> tuple[list[Found], npt.NDArray[np.intp]]:
        """``answers`` where so few masks differ that their patterns can be counted."""
        codes = np.zeros(self._nodes.count, np.uint16)
        for bit, mask in enumerate(masks):
            codes |= mask.astype(np.uint16) << np.uint16(bit)
        patterns = np.flatnonzero(np.bincount(codes, minlength=1 << len(masks)))
        number_of = np.zeros(1 << len(masks), np.intp)
        number_of[patterns] = np.arange(len(patterns))
        return [self.find(int((codes == p).argmax())) for p in patterns], number_of[codes]

    def find(self, node: int) -> Found:
        """What would be done on one node."""
        conflict, lost = self._check_bound(node)
        name = self._nodes.names[node]
        for claim in self._selected:
            if claim.metadata.annotations[SELECTED_NODE] != name:
                return Found(_reasons(conflict, True, False, lost))
        taken, left = self._choose(node)
        error, no_volume, no_room = self._provide((*self._selected, *left), node)
        if error:
            return Found((), error=error)
        reasons = _reasons(conflict, no_volume, no_room, lost)
        return Found(reasons, tuple(taken), (*self._selected, *left))

    def _check_bound(self, node: int) -> tuple[bool, bool]:
        """Whether a bound volume is out of reach, or is gone; the first such claim decides."""
        for reach in self._reach:
            if reach is None:
                return False, True
            if not reach[node]:
                return True, False
        return False, False

    def _choose(
        self, node: int
    ) -> tuple[list[tuple[PersistentVolume, PersistentVolumeClaim]], list[PersistentVolumeClaim]]:
        """A volume for each claim, smallest claim first, and the claims that get none."""
        taken: list[tuple[PersistentVolume, PersistentVolumeClaim]] = []
        left: list[PersistentVolumeClaim] = []
        gone: set[str] = set()
        for match in self._matches:
            options = match.others if match.kept is None else (match.kept,)
            fits = (c.volume for c in options if c.reach[node] and _name(c.volume) not in gone)
            volume = next(fits, None)
            if volume is None:
                left.append(match.claim)
            else:
                taken.append((volume, match.claim))
                gone.add(_name(volume))
        return taken, left

    def _provide(
        self, claims: Iterable[PersistentVolumeClaim], node: int
    ) -> tuple[str, bool, bool]:
        """What is broken, whether a volume cannot be made, whether there is no room."""
        making = dict(zip(map(_key, self._claims.waiting), self._making, strict=True))
        for claim in claims:
            each = making[_key(claim)]
            if each.error:
                return each.error, False, False
            if not each.allowed[node]:
                return "", True, False
            if not each.room[node]:
                return "", False, True
        return "", False, False

    def _bound(self, claim: PersistentVolumeClaim) -> BoolArray | None:
        volume = self._objects.volumes.get(claim.spec.volume_name)
        return None if volume is None else reached(volume, self._nodes)

    def _match(self, claim: PersistentVolumeClaim) -> Match:
        kept = None
        others = []
        size, wanted = size_of(claim), class_name(claim)
        selector = None
        if claim.spec.selector is not None:
            selector = selectors.label_selector(claim.spec.selector, "selector")
        for volume in self._objects.volumes.values():
            if volume_class_name(volume) != wanted or not _could_serve(volume, claim, size):
                continue
            if volume.spec.claim_ref is not None:
                kept = kept or Candidate(volume, reached(volume, self._nodes))
                continue
            labels_fit = selector is None or selector.matches(volume.metadata.labels)
            modes_fit = set(claim.spec.access_modes) <= set(volume.spec.access_modes)
            if volume.status.phase == "Available" and labels_fit and modes_fit:
                others.append(Candidate(volume, reached(volume, self._nodes)))
        others.sort(key=lambda each: (_capacity(each.volume), _name(each.volume)))
        return Match(claim, kept, tuple(others))

    def _make(self, claim: PersistentVolumeClaim) -> Making:
        everywhere = np.ones(self._nodes.count, np.bool_)
        found = self._objects.class_of(claim)
        if found is None:
            error = f'failed to find storage class "{class_name(claim)}"'
            return Making(error, everywhere, everywhere)
        if found.provisioner in ("", NO_PROVISIONER):
            return Making("", ~everywhere, everywhere)
        allowed = self._topology(found.allowed_topologies)
        return Making("", allowed, self._room(claim, found))

    def _topology(self, terms: tuple[TopologyTerm, ...]) -> BoolArray:
        """Nodes where a class may make volumes: any term, all of its labels."""
        if not terms:
            return np.ones(self._nodes.count, np.bool_)
        mask = np.zeros(self._nodes.count, np.bool_)
        for term in terms:
            if term.match_label_expressions:
                rules = tuple(
                    selectors.Rule(each.key, selectors.Operator.IN, tuple(sorted(each.values)))
                    for each in term.match_label_expressions
                )
                mask |= self._nodes.holds(rules)
        return mask

    def _room(self, claim: PersistentVolumeClaim, found: StorageClass) -> BoolArray:
        """Nodes from which the driver can still make that much."""
        everywhere = np.ones(self._nodes.count, np.bool_)
        driver = self._objects.drivers.get(found.provisioner)
        asked = claim.spec.resources.requests.get(STORAGE)
        if asked is None or driver is None or not driver.spec.storage_capacity:
            return everywhere
        size = quantity.value(asked, STORAGE)
        mask = ~everywhere
        for each in self._objects.capacities.values():
            if each.storage_class_name == found.metadata.name and _limit(each) >= size:
                selector = selectors.label_selector(each.node_topology, "nodeTopology")
                if not selector.nothing:
                    mask |= self._nodes.holds(selector.rules)
        return mask

    def _masks(self) -> list[BoolArray]:
        """All that the answer for a node depends on."""
        masks = [each for each in self._reach if each is not None]
        for match in self._matches:
            options = match.others if match.kept is None else (match.kept,)
            masks += [each.reach for each in options]
        for making in self._making:
            masks += [making.allowed, making.room]
        for claim in self._selected:
            chosen = np.zeros(self._nodes.count, np.bool_)
            at = self._nodes.index.get(claim.metadata.annotations[SELECTED_NODE])
            if at is not None:
                chosen[at] = True
            masks.append(chosen)
        return masks


def _waits(found: StorageClass | None) -> bool:
    return found is not None and found.volume_binding_mode == WAIT


def _could_serve(volume: PersistentVolume, claim: PersistentVolumeClaim, size: int) -> bool:
    """Whether nothing but place, phase and labels can keep a volume from a claim."""
    reference, meta = volume.spec.claim_ref, claim.metadata
    if reference is not None:
        if (reference.namespace, reference.name) != (meta.namespace, meta.name):
            return False
        if reference.uid and reference.uid != meta.uid:
            return False
    modes = (volume.spec.volume_mode or FILESYSTEM, claim.spec.volume_mode or FILESYSTEM)
    if modes[0] != modes[1] or volume.metadata.deletion_timestamp is not None:
        return False
    return _capacity(volume) >= size


def _capacity(volume: PersistentVolume) -> int:
    told = volume.spec.capacity.get(STORAGE)
    return 0 if told is None else quantity.nano(told, STORAGE)


def _limit(capacity: CsiStorageCapacity) -> int:
    """The largest volume that can be made; -1 where nothing is known."""
    told = capacity.maximum_volume_size
    if told is None:
        told = capacity.capacity
    return -1 if told is None else quantity.value(told, "capacity")


def _name(volume: PersistentVolume) -> str:
    return volume.metadata.name


def _key(claim: PersistentVolumeClaim) -> tuple[str, str]:
    return claim.metadata.namespace, claim.metadata.name


def _reasons(conflict: bool, unmatched: bool, no_room: bool, lost: bool) -> tuple[str, ...]:
    told = (
        (conflict, NODE_CONFLICT),
        (unmatched, BIND_CONFLICT),
        (no_room, NO_SPACE),
        (lost, NO_VOLUME),
    )
    return tuple(reason for holds, reason in told if holds)
