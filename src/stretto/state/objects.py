"""Whole objects that are not charged to nodes: PVCs, PVs, namespaces, services, controllers, PDBs.

Rules look objects up by kind and name. Nodes are stored here completely if a profile needs more
fields than the columns contain. A snapshot follows through the change log. PVs and PVCs may be
*assumed*: a decision binds a PV to a PVC, or selects a node for a PVC, before the store confirms
it, and the next decision sees that.
"""

from collections.abc import Hashable, Iterable, Mapping
from typing import Any, Final

import msgspec

from stretto.api.types.core import Namespace, Node, PodDisruptionBudget, Service
from stretto.api.types.storage import (
    BOUND_BY,
    SELECTED_NODE,
    CsiDriver,
    CsiNode,
    CsiStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
    class_name,
)
from stretto.api.types.workloads import ReplicaSet, ReplicationController, StatefulSet
from stretto.api.wire.meta import NO_TEXTS, ObjectMeta, ObjectReference, Wire
from stretto.api.wire.selectors import Selector

NAMESPACE_NAME: Final = "kubernetes.io/metadata.name"
"""Label that the API server sets on every namespace: its name."""
LOG_LIMIT: Final = 1 << 16
"""Maximum log length; a reader that is further behind reads everything."""

Key = tuple[str, str]
"""Namespace and name."""
Identity = tuple[str, str, str]
"""Kind, namespace and name of an object.

A tuple of strings only, because Python's garbage collector untracks it; there are many of them.
"""
_SELECTIONS: Final = 1024
"""Maximum number of cached namespace-selector results."""


class ClusterObjects:
    """Objects by kind and name, and the log of their changes."""

    def __init__(self, objects: Iterable[Wire] = ()) -> None:
        """Store the objects; kinds that no rule reads are skipped."""
        #: PersistentVolumeClaims.
        self.pvcs: dict[Key, PersistentVolumeClaim] = {}
        #: PersistentVolumes by name.
        self.volumes: dict[str, PersistentVolume] = {}
        #: Storage classes by name.
        self.classes: dict[str, StorageClass] = {}
        #: CSINodes by node name.
        self.csi_nodes: dict[str, CsiNode] = {}
        #: CSIDrivers by name.
        self.drivers: dict[str, CsiDriver] = {}
        #: CSIStorageCapacities.
        self.capacities: dict[Key, CsiStorageCapacity] = {}
        #: VolumeAttachments by node name and name.
        self.attachments: dict[str, dict[str, VolumeAttachment]] = {}
        #: Namespaces by name.
        self.namespaces: dict[str, Namespace] = {}
        #: Services by namespace.
        self.services: dict[str, dict[str, Service]] = {}
        #: ReplicaSets, ReplicationControllers and StatefulSets by kind, namespace and name.
        self.controllers: dict[
            tuple[str, str, str], ReplicaSet | ReplicationController | StatefulSet
        ] = {}
        #: PodDisruptionBudgets.
        self.budgets: dict[Key, PodDisruptionBudget] = {}
        #: Whole nodes by name.
        self.nodes: dict[str, Node] = {}
        #: Timeout message of the last failed wait, by row, with the serial of the pod.
        self.wait_timeouts: dict[int, tuple[int, str]] = {}
        #: Incremented on every change of an object.
        self.version = 0
        self._known: dict[Identity, Wire] = {}
        self._log: list[Identity] = []
        self._log_base = 0
        self._selected: dict[Selector, tuple[int, frozenset[str]]] = {}
        self._tables: dict[type[Wire], dict[Any, Any]] = {
            PersistentVolumeClaim: self.pvcs,
            PersistentVolume: self.volumes,
            StorageClass: self.classes,
            CsiNode: self.csi_nodes,
            CsiDriver: self.drivers,
            CsiStorageCapacity: self.capacities,
            Namespace: self.namespaces,
            PodDisruptionBudget: self.budgets,
            Node: self.nodes,
        }
        for each in objects:
            self.put(each)

    # ------------------------------------------------------------ lookups

    @property
    def may_select(self) -> bool:
        """True if any service or controller exists that could select pods."""
        return bool(self.services or self.controllers)

    def find(self, identity: Identity) -> Wire | None:
        """Return an object; ``None`` if it is unknown."""
        return self._known.get(identity)

    def everything(self) -> Mapping[Identity, Wire]:
        """All objects by identity."""
        return self._known

    def of(self, kind: type[Wire]) -> list[Wire]:
        """All objects of one type."""
        return [each for identity, each in self._known.items() if identity[0] == kind.__name__]

    def namespace_labels(self, name: str) -> Mapping[str, str]:
        """Labels of a namespace; empty if it is unknown."""
        found = self.namespaces.get(name)
        return NO_TEXTS if found is None else found.metadata.labels

    def served_namespace_labels(self, name: str) -> Mapping[str, str]:
        """Labels of a namespace with its name, which every API server sets as a label."""
        return {NAMESPACE_NAME: name, **self.namespace_labels(name)}

    def namespaces_with(self, selector: Selector) -> frozenset[str]:
        """Namespaces whose labels match a selector."""
        cached = self._selected.get(selector)
        if cached is not None and cached[0] == self.version:
            return cached[1]
        if len(self._selected) > _SELECTIONS:
            self._selected.clear()
        found = frozenset(
            name for name, each in self.namespaces.items() if selector.matches(each.metadata.labels)
        )
        self._selected[selector] = self.version, found
        return found

    def class_of(self, pvc: PersistentVolumeClaim) -> StorageClass | None:
        """The storage class of a PVC, if it names one that exists."""
        return self.classes.get(class_name(pvc))

    # ------------------------------------------------------------ changes

    @property
    def head(self) -> int:
        """Position after the last change; positions never repeat."""
        return self._log_base + len(self._log)

    def changes_since(self, position: int) -> list[Identity] | None:
        """Changes since a position (with repeats), or ``None`` if the log no longer covers it."""
        if position < self._log_base:
            return None
        return self._log[position - self._log_base :]

    def put(self, item: Wire) -> None:
        """Add an object, or replace the object with the same identity."""
        kind = type(item)
        if kind is PersistentVolume or kind is PersistentVolumeClaim:  # the most frequent kinds
            self._record_change(self._store(item))
            return
        place = self._place(item)
        if place is None:
            return
        identity = identity_of(item)
        before = self._known.get(identity)
        if isinstance(before, VolumeAttachment):
            self._drop_index(before)
        table, key = place
        table[key] = self._known[identity] = item
        self._record_change(identity)

    def renew(self, item: Wire) -> None:
        """Store the confirmed version of an assumed PV or PVC, without logging a change."""
        self._store(item)

    def remove(self, item: Wire) -> None:
        """Remove an object by kind and name."""
        self.drop(identity_of(item))

    def drop(self, identity: Identity) -> None:
        """Remove an object, if it is known."""
        before = self._known.pop(identity, None)
        if before is not None:
            self._drop_index(before)
            self._record_change(identity)

    def take(self, volume: PersistentVolume, pvc: PersistentVolumeClaim) -> None:
        """Assume that a PV is bound to a PVC."""
        annotations = {**volume.metadata.annotations, BOUND_BY: "yes"}
        meta = msgspec.structs.replace(volume.metadata, annotations=annotations)
        spec = msgspec.structs.replace(volume.spec, claim_ref=reference_to(pvc))
        self.put(msgspec.structs.replace(volume, metadata=meta, spec=spec))

    def select_node(self, pvc: PersistentVolumeClaim, node: str) -> None:
        """Assume that a PV will be provisioned for a PVC on a node."""
        annotations = {**pvc.metadata.annotations, SELECTED_NODE: node}
        meta = msgspec.structs.replace(pvc.metadata, annotations=annotations)
        self.put(msgspec.structs.replace(pvc, metadata=meta))

    def _store(self, item: Wire) -> Identity:
        """Store a PV or PVC in place of its predecessor."""
        kind, meta = type(item), meta_of(item)
        key: Any = meta.name if kind is PersistentVolume else (meta.namespace, meta.name)
        identity = kind.__name__, meta.namespace, meta.name
        self._tables[kind][key] = self._known[identity] = item
        return identity

    def _record_change(self, identity: Identity) -> None:
        self.version += 1
        self._log.append(identity)
        if len(self._log) > LOG_LIMIT:
            dropped = len(self._log) // 2
            del self._log[:dropped]
            self._log_base += dropped

    def _drop_index(self, item: Wire) -> None:
        place = self._place(item)
        if place is not None:
            table, key = place
            table.pop(key, None)

    def _place(self, item: Wire) -> tuple[dict[Any, Any], Hashable] | None:
        """Table of an object, and its key in the table."""
        table: dict[Any, Any] | None
        match item:
            case PersistentVolumeClaim() | CsiStorageCapacity() | PodDisruptionBudget():
                table = self._tables[type(item)]
                return table, (item.metadata.namespace, item.metadata.name)
            case (
                PersistentVolume() | StorageClass() | CsiNode() | CsiDriver() | Namespace() | Node()
            ):
                return self._tables[type(item)], item.metadata.name
            case VolumeAttachment():
                table = self.attachments.setdefault(item.spec.node_name, {})
                return table, item.metadata.name
            case Service():
                table = self.services.setdefault(item.metadata.namespace, {})
                return table, item.metadata.name
            case ReplicaSet() | ReplicationController() | StatefulSet():
                key = (type(item).__name__, item.metadata.namespace, item.metadata.name)
                return self.controllers, key
            case _:
                return None


def meta_of(item: Wire) -> ObjectMeta:
    """Metadata of a whole object."""
    meta: ObjectMeta = item.metadata  # type: ignore[attr-defined]
    return meta


def identity_of(item: Wire) -> Identity:
    """The identity of an object."""
    meta = meta_of(item)
    return type(item).__name__, meta.namespace, meta.name


def reference_to(pvc: PersistentVolumeClaim) -> ObjectReference:
    """A PVC as the ``claimRef`` of a PV."""
    meta = pvc.metadata
    return ObjectReference(
        kind="PersistentVolumeClaim",
        api_version="v1",
        namespace=meta.namespace,
        name=meta.name,
        uid=meta.uid,
    )
