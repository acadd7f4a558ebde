"""Free volumes for PVCs, cached by PVC requirements: class, size, modes, labels.

Pods of one template have separate PVCs with equal requirements, so the result for one PVC applies
to the next. A table is built on first use and follows every volume that is added, removed or bound;
it is valid while no node changes (``supplies_of``).
"""

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Collection, Hashable
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from stretto.api.types.storage import (
    CsiDriver,
    CsiStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeType,
    requested_type,
    volume_class_name,
    volume_size,
    volume_type,
)
from stretto.api.wire import selectors
from stretto.api.wire.selectors import Selector
from stretto.framework.model.eligible import meets_any
from stretto.framework.model.nodes import NodeColumns
from stretto.framework.model.snapshot import ParitySnapshot
from stretto.framework.model.status import BoolArray, IntArray
from stretto.state.objects import ClusterObjects

FEW: Final = 64
"""Number of nodes up to which the nodes that can access a volume are listed."""
_MAKERS: Final = frozenset(each.__name__ for each in (CsiStorageCapacity, CsiDriver, StorageClass))
"""Objects that determine where volumes can be provisioned."""

Item = tuple[int, str]
"""Capacity and name of a volume: the smallest is selected first."""


class VolumeReach(NamedTuple):
    """The nodes that can access a volume."""

    #: Key that is equal for volumes with the same nodes.
    key: bytes
    #: bool[n]: the nodes; ``None`` if there are few.
    mask: BoolArray | None
    #: int64[k]: the nodes, if there are few.
    few: npt.NDArray[np.int64]


class PvcRequirements(NamedTuple):
    """The requirements of a PVC."""

    #: Class and modes of its volume.
    type: VolumeType
    #: Size in billionths of a byte.
    size: int
    #: Access modes.
    modes: frozenset[str]
    #: Labels of the volume; ``None`` for any.
    selector: Selector | None


class VolumeSupply:
    """Free volumes for PVCs with equal requirements."""

    def __init__(self, requirements: PvcRequirements, size: int) -> None:
        """Start without volumes, for ``size`` nodes."""
        #: Requirements of the PVCs.
        self.requirements = requirements
        self._counts: IntArray = np.zeros(size, np.int64)
        #: Increases with every added or removed volume.
        self.version = 0
        self._held: dict[str, tuple[Item, VolumeReach]] = {}
        self._on: dict[int, list[Item]] = {}
        self._wide: dict[bytes, tuple[BoolArray, list[Item]]] = {}
        # Added and removed volumes with many nodes that are not yet in the counts.
        self._uncounted: Counter[bytes] = Counter()

    @property
    def counts(self) -> IntArray:
        """int64[n]: number of volumes that each node can access.

        Valid until one is added or removed.

        Many changes occur between two calls, so volumes with many nodes are counted in batches.
        """
        for key, more in self._uncounted.items():
            if more:
                self._counts += more * self._wide[key][0].astype(np.int64)
        self._uncounted.clear()
        return self._counts

    def suits(self, volume: PersistentVolume, capacity: int) -> bool:
        """Return whether a volume is free and meets the requirements."""
        requirements, spec, meta = self.requirements, volume.spec, volume.metadata
        return (
            spec.claim_ref is None
            and capacity >= requirements.size
            and volume_type(volume) == requirements.type
            and meta.deletion_timestamp is None
            and volume.status.phase == "Available"
            and requirements.modes <= set(spec.access_modes)
            and (requirements.selector is None or requirements.selector.matches(meta.labels))
        )

    def add(self, name: str, capacity: int, reach: VolumeReach) -> None:
        """Add a suitable volume."""
        self.version += 1
        item = capacity, name
        self._held[name] = item, reach
        if reach.mask is None:
            self._counts[reach.few] += 1
            for node in reach.few.tolist():
                insort(self._on.setdefault(node, []), item)
            return
        self._uncounted[reach.key] += 1
        insort(self._wide.setdefault(reach.key, (reach.mask, []))[1], item)

    def discard(self, name: str) -> None:
        """Remove a volume that is bound or changed."""
        held = self._held.pop(name, None)
        if held is None:
            return
        self.version += 1
        item, reach = held
        if reach.mask is None:
            self._counts[reach.few] -= 1
            for node in reach.few.tolist():
                _remove(self._on[node], item)
            return
        self._uncounted[reach.key] -= 1
        _remove(self._wide[reach.key][1], item)

    def first(self, node: int, gone: Collection[str]) -> str | None:
        """Smallest volume that a node can access, without the excluded ones."""
        if not self._held:
            return None
        best: Item | None = None
        for items in (self._on.get(node, ()), *self._wide_on(node)):
            for item in items:
                if item[1] not in gone:
                    best = item if best is None else min(best, item)
                    break
        return None if best is None else best[1]

    def _wide_on(self, node: int) -> list[list[Item]]:
        """The volumes with many nodes that a given node reaches."""
        return [items for mask, items in self._wide.values() if items and mask[node]]


class VolumeSupplies:
    """All tables over one set of nodes."""

    def __init__(self, objects: ClusterObjects, nodes: NodeColumns) -> None:
        """Start empty."""
        self._objects = objects
        self._nodes = nodes
        self._at = -1
        self._tables: dict[str, dict[PvcRequirements, VolumeSupply]] = {}
        self._seen: dict[str, PersistentVolume] = {}
        self._capacity: dict[str, int] = {}
        self._reserved_for: dict[tuple[str, str], dict[str, None]] = {}
        self._reaches: dict[bytes, VolumeReach] = {}
        #: Results that depend only on classes, drivers and capacities.
        self.makings: dict[Hashable, object] = {}
        #: Results for unbound PVCs, by tables and their versions.
        self.answers: dict[Hashable, Any] = {}

    def sync(self) -> None:
        """Apply changes of volumes."""
        if self._at == self._objects.head:
            return
        changed = self._objects.changes_since(self._at) if self._at >= 0 else None
        self._at = self._objects.head
        if changed is None:
            names = {*self._seen, *self._objects.volumes}
            self.makings.clear()
        else:
            names = set[str]()
            for kind, _, name in changed:
                if kind == PersistentVolume.__name__:
                    names.add(name)
                elif kind in _MAKERS:
                    self.makings.clear()
        for name in sorted(names):
            self._follow(name)

    def of(self, pvc: PersistentVolumeClaim, size: int) -> VolumeSupply:
        """Return the volumes for a PVC of ``size``, in billionths of a byte."""
        spec, selector = pvc.spec, None
        if spec.selector is not None:
            selector = selectors.label_selector(spec.selector, "selector")
        wanted = requested_type(pvc)
        requirements = PvcRequirements(wanted, size, frozenset(spec.access_modes), selector)
        tables = self._tables.setdefault(wanted.storage_class, {})
        found = tables.get(requirements)
        if found is None:
            found = tables[requirements] = VolumeSupply(requirements, self._nodes.count)
            for volume in self._seen.values():
                if volume_class_name(volume) == wanted.storage_class:
                    self._offer(found, volume)
        return found

    def is_reserved_for(self, key: tuple[str, str]) -> bool:
        """Return whether a volume is reserved for a PVC."""
        return bool(self._reserved_for.get(key))

    def kept(self, pvc: PersistentVolumeClaim, size: int) -> PersistentVolume | None:
        """The volume that is reserved for a PVC and meets its requirements."""
        key = pvc.metadata.namespace, pvc.metadata.name
        names = self._reserved_for.get(key, {})
        if len(names) > 1:  # in arrival order, as in upstream's list
            names = {each: None for each in self._objects.volumes if each in names}
        for name in names:
            volume = self._seen[name]
            reference = volume.spec.claim_ref
            assert reference is not None
            if (
                volume_type(volume) == requested_type(pvc)
                and reference.uid in ("", pvc.metadata.uid)
                and volume.metadata.deletion_timestamp is None
                and self._capacity[name] >= size
            ):
                return volume
        return None

    def _follow(self, name: str) -> None:
        before, after = self._seen.get(name), self._objects.volumes.get(name)
        if before is not None and after is not None and _is_same_supply(before, after):
            self._seen[name] = after
            return
        self._seen.pop(name, None)
        if before is not None:
            for table in self._tables.get(volume_class_name(before), {}).values():
                table.discard(name)
            if before.spec.claim_ref is not None:
                key = before.spec.claim_ref.namespace, before.spec.claim_ref.name
                self._reserved_for[key].pop(name, None)
        if after is None:
            self._capacity.pop(name, None)
            return
        self._seen[name] = after
        if before is None or before.spec.capacity != after.spec.capacity:
            self._capacity[name] = volume_size(after)
        if after.spec.claim_ref is not None:
            key = after.spec.claim_ref.namespace, after.spec.claim_ref.name
            self._reserved_for.setdefault(key, {})[name] = None
        for table in self._tables.get(volume_class_name(after), {}).values():
            self._offer(table, after)

    def _offer(self, table: VolumeSupply, volume: PersistentVolume) -> None:
        name = volume.metadata.name
        if table.suits(volume, self._capacity[name]):
            table.add(name, self._capacity[name], self._reach(volume))

    def _reach(self, volume: PersistentVolume) -> VolumeReach:
        affinity = volume.spec.node_affinity
        required = affinity.required if affinity is not None else None
        key = b"" if required is None else msgspec.json.encode(required)
        found = self._reaches.get(key)
        if found is None:
            found = self._reaches[key] = self._new_reach(key, volume)
        return found

    def _new_reach(self, key: bytes, volume: PersistentVolume) -> VolumeReach:
        affinity = volume.spec.node_affinity
        if affinity is None or affinity.required is None:
            mask = np.ones(self._nodes.count, np.bool_)
        else:
            terms = affinity.required.node_selector_terms
            mask = meets_any(terms, self._nodes, names=False)
        nodes = np.flatnonzero(mask)
        return (
            VolumeReach(key, None, nodes)
            if len(nodes) <= FEW
            else VolumeReach(key, mask, nodes[:0])
        )


def supplies_of(snapshot: ParitySnapshot) -> VolumeSupplies:
    """The updated tables of a snapshot."""
    nodes, objects = snapshot.nodes, snapshot.objects
    found = nodes.kept("supplies", lambda: VolumeSupplies(objects, nodes))
    found.sync()
    return found


def _is_same_supply(one: PersistentVolume, other: PersistentVolume) -> bool:
    """Return whether two versions of a volume meet the requirements of the same PVCs."""
    meta, others = one.metadata, other.metadata
    return one is other or (
        one.spec == other.spec
        and one.status == other.status
        and meta.labels == others.labels
        and meta.annotations == others.annotations
        and meta.deletion_timestamp == others.deletion_timestamp
    )


def _remove(items: list[Item], item: Item) -> None:
    del items[bisect_left(items, item)]
