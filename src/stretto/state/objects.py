"""Everything in a cluster that is neither pod nor charged: claims, volumes, namespaces, owners.

Rules look objects up here by kind and name; nodes stand here in full where a profile needs more of
them than columns hold. A snapshot of its own follows by the log of what changed. Volumes and claims
may be *assumed*: a decision takes a volume for a claim, or gives a claim its node, before the store
says so; the next decision sees that.
"""

from collections.abc import Hashable, Iterable, Mapping
from typing import Any, Final

import msgspec

from stretto.api.types.core import Namespace, Node, PodDisruptionBudget, Service
from stretto.api.types.storage import (
    CsiDriver,
    CsiNode,
    CsiStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)
from stretto.api.types.workloads import ReplicaSet, ReplicationController, StatefulSet
from stretto.api.wire.meta import NO_TEXTS, ObjectMeta, ObjectReference, Wire
from stretto.api.wire.selectors import Selector

CLASS_ANNOTATION: Final = "volume.beta.kubernetes.io/storage-class"
BOUND_BY: Final = "pv.kubernetes.io/bound-by-controller"
SELECTED_NODE: Final = "volume.kubernetes.io/selected-node"
BIND_COMPLETED: Final = "pv.kubernetes.io/bind-completed"
LOG_LIMIT: Final = 1 << 16
"""Longest log kept; who is further behind reads everything."""

Key = tuple[str, str]
"""Namespace and name."""
Identity = tuple[str, str, str]
"""Kind, namespace and name: what tells objects apart. Texts alone, for such a tuple is nothing that
Python's collector has to look through, and there are many."""
_SELECTIONS: Final = 1024
"""Answers to namespace selectors kept."""


class ClusterObjects:
    """Objects by kind and name, and the log of their changes."""

    def __init__(self, objects: Iterable[Wire] = ()) -> None:
        """Take objects of any kind; those that no rule reads are passed over."""
        #: Claims.
        self.claims: dict[Key, PersistentVolumeClaim] = {}
        #: Volumes by name.
        self.volumes: dict[str, PersistentVolume] = {}
        #: Storage classes by name.
        self.classes: dict[str, StorageClass] = {}
        #: What drivers say of nodes, by node name.
        self.csi_nodes: dict[str, CsiNode] = {}
        #: Storage drivers by name.
        self.drivers: dict[str, CsiDriver] = {}
        #: What drivers can still make.
        self.capacities: dict[Key, CsiStorageCapacity] = {}
        #: Attachments by node name and name.
        self.attachments: dict[str, dict[str, VolumeAttachment]] = {}
        #: Namespaces by name.
        self.namespaces: dict[str, Namespace] = {}
        #: Services by namespace.
        self.services: dict[str, dict[str, Service]] = {}
        #: Controllers by kind, namespace and name.
        self.controllers: dict[
            tuple[str, str, str], ReplicaSet | ReplicationController | StatefulSet
        ] = {}
        #: Budgets.
        self.budgets: dict[Key, PodDisruptionBudget] = {}
        #: Nodes in full by name.
        self.nodes: dict[str, Node] = {}
        #: What pods waited for in vain, in words, by row and with their serials.
        self.late: dict[int, tuple[int, str]] = {}
        #: Rises whenever an object changes.
        self.version = 0
        self._known: dict[Identity, Wire] = {}
        self._log: list[Identity] = []
        self._log_base = 0
        self._selected: dict[Selector, tuple[int, frozenset[str]]] = {}
        self._shelves: dict[type[Wire], dict[Any, Any]] = {
            PersistentVolumeClaim: self.claims,
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

    # ------------------------------------------------------------ what is there

    @property
    def may_select(self) -> bool:
        """Whether there is a service or controller at all that pods could be of."""
        return bool(self.services or self.controllers)

    def find(self, identity: Identity) -> Wire | None:
        """An object, if it is known."""
        return self._known.get(identity)

    def everything(self) -> Mapping[Identity, Wire]:
        """All objects by what tells them apart."""
        return self._known

    def of(self, kind: type[Wire]) -> list[Wire]:
        """All objects of one type."""
        return [each for identity, each in self._known.items() if identity[0] == kind.__name__]

    def namespace_labels(self, name: str) -> Mapping[str, str]:
        """Labels of a namespace; none where it is not known."""
        found = self.namespaces.get(name)
        return NO_TEXTS if found is None else found.metadata.labels

    def namespaces_with(self, selector: Selector) -> frozenset[str]:
        """Namespaces whose labels meet a selector."""
        kept = self._selected.get(selector)
        if kept is not None and kept[0] == self.version:
            return kept[1]
        if len(self._selected) > _SELECTIONS:
            self._selected.clear()
        found = frozenset(
            name for name, each in self.namespaces.items() if selector.matches(each.metadata.labels)
        )
        self._selected[selector] = self.version, found
        return found

    def class_of(self, claim: PersistentVolumeClaim) -> StorageClass | None:
        """The storage class of a claim, if it names one that exists."""
        return self.classes.get(class_name(claim))

    # ------------------------------------------------------------ changes

    @property
    def head(self) -> int:
        """Position after the last change; positions never repeat."""
        return self._log_base + len(self._log)

    def changes_since(self, position: int) -> list[Identity] | None:
        """What changed since a position (with repeats), or ``None`` when that is forgotten."""
        if position < self._log_base:
            return None
        return self._log[position - self._log_base :]

    def put(self, item: Wire) -> None:
        """Add an object or replace its namesake."""
        kind = type(item)
        if kind is PersistentVolume or kind is PersistentVolumeClaim:  # the most frequent ones
            self._note(self._shelve(item))
            return
        place = self._place(item)
        if place is None:
            return
        identity = identity_of(item)
        before = self._known.get(identity)
        if isinstance(before, VolumeAttachment):
            self._drop_index(before)
        shelf, key = place
        shelf[key] = self._known[identity] = item
        self._note(identity)

    def renew(self, item: Wire) -> None:
        """The store's version of a volume or claim as it was assumed: nobody has to follow."""
        self._shelve(item)

    def remove(self, item: Wire) -> None:
        """Forget an object, known by kind and name."""
        self.drop(identity_of(item))

    def drop(self, identity: Identity) -> None:
        """Forget an object, if it is known."""
        before = self._known.pop(identity, None)
        if before is not None:
            self._drop_index(before)
            self._note(identity)

    def take(self, volume: PersistentVolume, claim: PersistentVolumeClaim) -> None:
        """Assume that a volume is bound to a claim."""
        notes = {**volume.metadata.annotations, BOUND_BY: "yes"}
        meta = msgspec.structs.replace(volume.metadata, annotations=notes)
        spec = msgspec.structs.replace(volume.spec, claim_ref=reference_to(claim))
        self.put(msgspec.structs.replace(volume, metadata=meta, spec=spec))

    def select_node(self, claim: PersistentVolumeClaim, node: str) -> None:
        """Assume that a claim's volume will be made for a node."""
        annotations = {**claim.metadata.annotations, SELECTED_NODE: node}
        meta = msgspec.structs.replace(claim.metadata, annotations=annotations)
        self.put(msgspec.structs.replace(claim, metadata=meta))

    def _shelve(self, item: Wire) -> Identity:
        """Keep a volume or a claim in place of its namesake."""
        kind, meta = type(item), meta_of(item)
        key: Any = meta.name if kind is PersistentVolume else (meta.namespace, meta.name)
        identity = kind.__name__, meta.namespace, meta.name
        self._shelves[kind][key] = self._known[identity] = item
        return identity

    def _note(self, identity: Identity) -> None:
        self.version += 1
        self._log.append(identity)
        if len(self._log) > LOG_LIMIT:
            dropped = len(self._log) // 2
            del self._log[:dropped]
            self._log_base += dropped

    def _drop_index(self, item: Wire) -> None:
        place = self._place(item)
        if place is not None:
            shelf, key = place
            shelf.pop(key, None)

    def _place(self, item: Wire) -> tuple[dict[Any, Any], Hashable] | None:
        """Where an object is kept, and under which key."""
        shelf: dict[Any, Any] | None
        match item:
            case PersistentVolumeClaim() | CsiStorageCapacity() | PodDisruptionBudget():
                shelf = self._shelves[type(item)]
                return shelf, (item.metadata.namespace, item.metadata.name)
            case (
                PersistentVolume() | StorageClass() | CsiNode() | CsiDriver() | Namespace() | Node()
            ):
                return self._shelves[type(item)], item.metadata.name
            case VolumeAttachment():
                shelf = self.attachments.setdefault(item.spec.node_name, {})
                return shelf, item.metadata.name
            case Service():
                shelf = self.services.setdefault(item.metadata.namespace, {})
                return shelf, item.metadata.name
            case ReplicaSet() | ReplicationController() | StatefulSet():
                key = (type(item).__name__, item.metadata.namespace, item.metadata.name)
                return self.controllers, key
            case _:
                return None


def meta_of(item: Wire) -> ObjectMeta:
    """Identity of a whole object."""
    meta: ObjectMeta = item.metadata  # type: ignore[attr-defined]
    return meta


def identity_of(item: Wire) -> Identity:
    """What tells an object apart."""
    meta = meta_of(item)
    return type(item).__name__, meta.namespace, meta.name


def reference_to(claim: PersistentVolumeClaim) -> ObjectReference:
    """A claim as volumes name it."""
    meta = claim.metadata
    return ObjectReference(
        kind="PersistentVolumeClaim",
        api_version="v1",
        namespace=meta.namespace,
        name=meta.name,
        uid=meta.uid,
    )


def class_name(claim: PersistentVolumeClaim) -> str:
    """The storage class that a claim names; empty for none."""
    found = claim.metadata.annotations.get(CLASS_ANNOTATION)
    return found if found is not None else claim.spec.storage_class_name or ""


def volume_class_name(volume: PersistentVolume) -> str:
    """The storage class that a volume is of; empty for none."""
    return volume.metadata.annotations.get(CLASS_ANNOTATION, volume.spec.storage_class_name)
