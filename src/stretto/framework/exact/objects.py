"""Everything in a cluster that is neither node nor pod, as the plugins look it up.

Volumes and claims may be *assumed*: a decision takes a volume for a claim, or gives a claim its
node, before the API server says so; the next decision sees that.
"""

from collections.abc import Hashable, Iterable, Mapping
from typing import Any, Final

import msgspec

from stretto.api.core import Namespace, PodDisruptionBudget, Service
from stretto.api.meta import NO_TEXTS, ObjectReference, Wire
from stretto.api.selectors import Selector
from stretto.api.storage import (
    CsiDriver,
    CsiNode,
    CsiStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)
from stretto.api.workloads import ReplicaSet, ReplicationController, StatefulSet

CLASS_ANNOTATION: Final = "volume.beta.kubernetes.io/storage-class"
SELECTED_NODE: Final = "volume.kubernetes.io/selected-node"
BIND_COMPLETED: Final = "pv.kubernetes.io/bind-completed"

Key = tuple[str, str]
"""Namespace and name."""


class ClusterObjects:
    """Objects by kind and name."""

    def __init__(self, objects: Iterable[Wire] = ()) -> None:
        """Take objects of any kind; those that no plugin reads are passed over."""
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
        #: Rises whenever an object changes.
        self.version = 0
        self._selected: dict[tuple[Selector, int], frozenset[str]] = {}
        self._shelves: dict[type[Wire], dict[Any, Any]] = {
            PersistentVolumeClaim: self.claims,
            PersistentVolume: self.volumes,
            StorageClass: self.classes,
            CsiNode: self.csi_nodes,
            CsiDriver: self.drivers,
            CsiStorageCapacity: self.capacities,
            Namespace: self.namespaces,
            PodDisruptionBudget: self.budgets,
        }
        for each in objects:
            self.put(each)

    def put(self, item: Wire) -> None:
        """Add an object or replace its namesake."""
        self._change(item, gone=False)

    def remove(self, item: Wire) -> None:
        """Forget an object."""
        self._change(item, gone=True)

    def namespace_labels(self, name: str) -> Mapping[str, str]:
        """Labels of a namespace; none where it is not known."""
        found = self.namespaces.get(name)
        return NO_TEXTS if found is None else found.metadata.labels

    def namespaces_with(self, selector: Selector) -> frozenset[str]:
        """Namespaces whose labels meet a selector."""
        key = (selector, self.version)
        found = self._selected.get(key)
        if found is None:
            if len(self._selected) > 1024:
                self._selected.clear()
            found = self._selected[key] = frozenset(
                name
                for name, each in self.namespaces.items()
                if selector.matches(each.metadata.labels)
            )
        return found

    def class_of(self, claim: PersistentVolumeClaim) -> StorageClass | None:
        """The storage class of a claim, if it names one that exists."""
        return self.classes.get(class_name(claim))

    def take(self, volume: PersistentVolume, claim: PersistentVolumeClaim) -> None:
        """Assume that a volume is bound to a claim."""
        meta = claim.metadata
        reference = ObjectReference(
            kind="PersistentVolumeClaim",
            api_version="v1",
            namespace=meta.namespace,
            name=meta.name,
            uid=meta.uid,
        )
        spec = msgspec.structs.replace(volume.spec, claim_ref=reference)
        self.put(msgspec.structs.replace(volume, spec=spec))

    def select_node(self, claim: PersistentVolumeClaim, node: str) -> None:
        """Assume that a claim's volume will be made for a node."""
        annotations = {**claim.metadata.annotations, SELECTED_NODE: node}
        meta = msgspec.structs.replace(claim.metadata, annotations=annotations)
        self.put(msgspec.structs.replace(claim, metadata=meta))

    def _change(self, item: Wire, *, gone: bool) -> None:
        place = self._place(item)
        if place is None:
            return
        shelf, key = place
        self.version += 1
        if gone:
            shelf.pop(key, None)
        else:
            shelf[key] = item

    def _place(self, item: Wire) -> tuple[dict[Any, Any], Hashable] | None:
        """Where an object is kept, and under which key."""
        shelf: dict[Any, Any] | None
        match item:
            case PersistentVolumeClaim() | CsiStorageCapacity() | PodDisruptionBudget():
                shelf = self._shelves[type(item)]
                return shelf, (item.metadata.namespace, item.metadata.name)
            case PersistentVolume() | StorageClass() | CsiNode() | CsiDriver() | Namespace():
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


def class_name(claim: PersistentVolumeClaim) -> str:
    """The storage class that a claim names; empty for none."""
    found = claim.metadata.annotations.get(CLASS_ANNOTATION)
    return found if found is not None else claim.spec.storage_class_name or ""


def volume_class_name(volume: PersistentVolume) -> str:
    """The storage class that a volume is of; empty for none."""
    return volume.metadata.annotations.get(CLASS_ANNOTATION, volume.spec.storage_class_name)
