"""Volumes of PVCs that do not wait for a pod, bound as by the volume controller of Kubernetes.

A PVC gets the volume that refers to it, or else the smallest free volume that matches it, or else a
volume that its class provisions. A PVC of ``WaitForFirstConsumer`` gets only a volume that refers
to it: the scheduler decides on the others. A PVC with a uid belongs to the state of a cluster and
is not changed.
"""

from bisect import bisect_left, insort
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Final, NamedTuple

import msgspec

from stretto.api import codec
from stretto.api.admission.request import JsonObject, ObjectSet, ObjectView
from stretto.api.admission.workloads import stable_uid
from stretto.api.types.storage import (
    BIND_COMPLETED,
    BOUND_BY,
    FILESYSTEM,
    NO_PROVISIONER,
    SELECTED_NODE,
    STORAGE,
    WAIT,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    class_name,
    requested_size,
    requested_type,
    volume_size,
    volume_type,
)
from stretto.api.wire.kinds import PERSISTENT_VOLUME, PERSISTENT_VOLUME_CLAIM, STORAGE_CLASS, Kind
from stretto.api.wire.meta import ObjectReference
from stretto.api.wire.selectors import label_selector
from stretto.inputs.objects.relations import InputObject

_READ: Final = (PERSISTENT_VOLUME, PERSISTENT_VOLUME_CLAIM, STORAGE_CLASS)


class VolumeBinding(NamedTuple):
    """A PVC and its volume after the binding."""

    #: The PVC.
    pvc: JsonObject
    #: The volume.
    volume: JsonObject


class _KnownVolume(NamedTuple):
    """A volume in both forms."""

    #: Its struct.
    volume: PersistentVolume
    #: Its JSON.
    body: JsonObject


class VolumeTable:
    """Volumes by name, by the PVC that they refer to, and free ones by size.

    A scan of all volumes for each PVC takes time by the square of a large input.
    """

    def __init__(self, bodies: Iterable[JsonObject]) -> None:
        """Start with some volumes."""
        self._known: dict[str, _KnownVolume] = {}
        self._of_claim: dict[tuple[str, str], dict[str, None]] = {}
        self._free: dict[Hashable, list[tuple[int, str]]] = {}
        for body in bodies:
            self.put(body)

    def put(self, body: JsonObject) -> None:
        """Add a volume, or replace the one of its name."""
        volume = msgspec.convert(body, PersistentVolume)
        name, size = volume.metadata.name, volume_size(volume)
        self.remove(name)
        self._known[name] = _KnownVolume(volume, body)
        reference = volume.spec.claim_ref
        if reference is not None:
            self._of_claim.setdefault((reference.namespace, reference.name), {})[name] = None
        elif volume.status.phase == "Available":
            insort(self._free.setdefault(volume_type(volume), []), (size, name))

    def remove(self, name: str) -> None:
        """Remove the volume of a name, if there is one."""
        old = self._known.pop(name, None)
        if old is None:
            return
        reference = old.volume.spec.claim_ref
        if reference is not None:
            del self._of_claim[reference.namespace, reference.name][name]
        elif old.volume.status.phase == "Available":
            sizes = self._free[volume_type(old.volume)]
            del sizes[bisect_left(sizes, (volume_size(old.volume), name))]

    def get(self, name: str) -> _KnownVolume | None:
        """The volume of a name."""
        return self._known.get(name)

    def of_claim(self, item: PersistentVolumeClaim) -> list[_KnownVolume]:
        """The volumes that refer to a PVC by its name."""
        key = (item.metadata.namespace, item.metadata.name)
        return [self._known[name] for name in self._of_claim.get(key, ())]

    def free(self, item: PersistentVolumeClaim) -> Iterator[_KnownVolume]:
        """Free volumes of the type and at least the size of a PVC, the smallest first."""
        sizes = self._free.get(requested_type(item), [])
        first = bisect_left(sizes, (requested_size(item), ""))
        return (self._known[sizes[place][1]] for place in range(first, len(sizes)))


def with_volumes(
    found: Sequence[InputObject], context: Iterable[tuple[Kind, bytes]]
) -> list[InputObject]:
    """The objects of an input with their PVCs bound, followed by provisioned volumes.

    Args:
        found: the objects of the input after admission.
        context: the objects of the state to which the input is added; its PVCs are not changed.
    """
    if not any(each.kind in _READ for each in found):
        return list(found)
    earlier = [(kind, _parsed(body)) for kind, body in context if kind in _READ]
    known, view = ObjectSet(earlier), ObjectSet(earlier)
    ready = {each.key: _available(each) for each in found if each.kind in _READ}
    for each in ready.values():
        view.add(each.kind, _parsed(each.body))
    volumes = VolumeTable(view.list(PERSISTENT_VOLUME))
    for each in [one for one in ready.values() if one.kind == PERSISTENT_VOLUME_CLAIM]:
        if known.get(each.kind, each.namespace, each.name) is not None:
            continue
        bound = volume_binding(_parsed(each.body), view, volumes)
        if bound is None:
            continue
        volumes.put(bound.volume)
        ready[each.key] = _with_body(each, bound.pvc)
        volume = InputObject(
            PERSISTENT_VOLUME, "", bound.volume["metadata"]["name"], b"", each.where
        )
        ready[volume.key] = _with_body(ready.get(volume.key, volume), bound.volume)
    kept = [ready.pop(each.key, each) for each in found]
    return [*kept, *ready.values()]


def volume_binding(pvc: JsonObject, view: ObjectView, volumes: VolumeTable) -> VolumeBinding | None:
    """The binding of a new PVC by the volume controller; ``None`` if it stays unbound.

    Args:
        pvc: the PVC after admission.
        view: all classes.
        volumes: all volumes.
    """
    item = msgspec.convert(pvc, PersistentVolumeClaim)
    if item.metadata.uid or BIND_COMPLETED in item.metadata.annotations:
        return None
    return chosen_volume(pvc, view, volumes)


def chosen_volume(pvc: JsonObject, view: ObjectView, volumes: VolumeTable) -> VolumeBinding | None:
    """The volume of an unbound PVC; ``None`` if it waits for a volume or for its pod.

    Args:
        pvc: the PVC; with ``WaitForFirstConsumer`` it waits until its node is selected.
        view: all classes.
        volumes: all volumes.
    """
    item = msgspec.convert(pvc, PersistentVolumeClaim)
    named = view.get(STORAGE_CLASS, "", class_name(item))
    storage_class = None if named is None else msgspec.convert(named, StorageClass)
    late = storage_class is not None and storage_class.volume_binding_mode == WAIT
    waits = late and SELECTED_NODE not in item.metadata.annotations
    volume = _existing(item, volumes, waits=waits)
    if volume is None and storage_class is not None and not waits and not item.spec.volume_name:
        volume = _provisioned(pvc, storage_class)
    return None if volume is None else _bound(pvc, volume)


def _existing(
    item: PersistentVolumeClaim, volumes: VolumeTable, *, waits: bool
) -> JsonObject | None:
    """The volume that refers to a PVC or is named in it, or the smallest free matching volume."""
    name = item.spec.volume_name
    for each in [volumes.get(name)] if name else volumes.of_claim(item):
        if each is None or not _suits(each.volume, item):
            continue
        reference = each.volume.spec.claim_ref
        if reference is None or _is_reserved(reference, item):
            return each.body
    if name or waits:
        return None
    matching = (
        each.body
        for each in volumes.free(item)
        if _suits(each.volume, item) and _is_selected(each.volume, item)
    )
    return next(matching, None)


def _is_reserved(reference: ObjectReference, item: PersistentVolumeClaim) -> bool:
    """True if a volume refers to a PVC."""
    meta = item.metadata
    same = (reference.namespace, reference.name) == (meta.namespace, meta.name)
    return same and reference.uid in ("", meta.uid)


def _suits(volume: PersistentVolume, item: PersistentVolumeClaim) -> bool:
    """True if class, size and modes of a volume meet the requirements of a PVC."""
    return (
        volume.metadata.deletion_timestamp is None
        and volume_type(volume) == requested_type(item)
        and set(item.spec.access_modes) <= set(volume.spec.access_modes)
        and volume_size(volume) >= requested_size(item)
    )


def _is_selected(volume: PersistentVolume, item: PersistentVolumeClaim) -> bool:
    """True if a PVC selects the labels of a volume; without a selector it selects all."""
    if item.spec.selector is None:
        return True
    return label_selector(item.spec.selector, "selector").matches(volume.metadata.labels)


def _provisioned(pvc: JsonObject, storage_class: StorageClass) -> JsonObject | None:
    """The volume that the driver of a class provisions; ``None`` if the class has no driver."""
    if storage_class.provisioner in ("", NO_PROVISIONER):
        return None
    wanted, name = pvc["spec"], storage_class.metadata.name
    uid = stable_uid(PERSISTENT_VOLUME_CLAIM, pvc["metadata"])
    spec: JsonObject = {
        "capacity": {STORAGE: wanted["resources"]["requests"][STORAGE]},
        "accessModes": wanted["accessModes"],
        "storageClassName": name,
        "volumeMode": wanted.get("volumeMode") or FILESYSTEM,
        "persistentVolumeReclaimPolicy": storage_class.reclaim_policy or "Delete",
        "csi": {"driver": storage_class.provisioner, "volumeHandle": uid},
    }
    terms = [
        {
            "matchExpressions": [
                {"key": rule.key, "operator": "In", "values": list(rule.values)}
                for rule in term.match_label_expressions
            ]
        }
        for term in storage_class.allowed_topologies
    ]
    if terms:
        spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": terms}}
    kind = PERSISTENT_VOLUME
    head = {"apiVersion": kind.api_version, "kind": kind.kind}
    return {**head, "metadata": {"name": f"pvc-{uid}"}, "spec": spec}


def _bound(pvc: JsonObject, volume: JsonObject) -> VolumeBinding:
    """A PVC and a volume that refer to each other."""
    meta, own = pvc["metadata"], volume["metadata"]
    reference = {
        **(volume["spec"].get("claimRef") or {}),
        "kind": PERSISTENT_VOLUME_CLAIM.kind,
        "apiVersion": PERSISTENT_VOLUME_CLAIM.api_version,
        "namespace": meta["namespace"],
        "name": meta["name"],
    }
    chosen = {BOUND_BY: "yes"}
    notes = {BIND_COMPLETED: "yes", **({} if pvc["spec"].get("volumeName") else chosen)}
    marks = {} if volume["spec"].get("claimRef") else chosen
    status = {"phase": "Bound", "capacity": volume["spec"].get("capacity") or {}}
    return VolumeBinding(
        {
            **pvc,
            "metadata": {**meta, "annotations": {**(meta.get("annotations") or {}), **notes}},
            "spec": {**pvc["spec"], "volumeName": own["name"]},
            "status": status,
        },
        {
            **volume,
            "metadata": {**own, "annotations": {**(own.get("annotations") or {}), **marks}},
            "spec": {**volume["spec"], "claimRef": reference},
            "status": {"phase": "Bound"},
        },
    )


def _available(item: InputObject) -> InputObject:
    """A volume with the phase ``Available`` if it has no phase."""
    if item.kind != PERSISTENT_VOLUME:
        return item
    body = _parsed(item.body)
    if (body.get("status") or {}).get("phase"):
        return item
    return _with_body(item, {**body, "status": {"phase": "Available"}})


def _parsed(body: bytes) -> JsonObject:
    """An object without null members."""
    found: JsonObject = codec.without_nulls(codec.parse_object(body, "object"))
    return found


def _with_body(item: InputObject, body: JsonObject) -> InputObject:
    return msgspec.structs.replace(item, body=msgspec.json.encode(body))
