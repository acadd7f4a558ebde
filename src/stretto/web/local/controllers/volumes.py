"""Bindings of PVCs and PersistentVolumes, and provisioning of volumes by StorageClass.

The rules are those of runs and plans of manifests. Simulated volumes store no data.
"""

from collections.abc import Hashable, Iterable, Iterator
from typing import Any, Final

from stretto.api import codec
from stretto.api.types.storage import BIND_COMPLETED, BOUND_BY, CLASS_ANNOTATION, WAIT
from stretto.api.wire.kinds import PERSISTENT_VOLUME, PERSISTENT_VOLUME_CLAIM, STORAGE_CLASS, Kind
from stretto.inputs.objects.volume_bindings import VolumeTable, chosen_volume
from stretto.reconcile.cache import Change, Fields, StoredObject
from stretto.reconcile.events import EventLevel, EventText
from stretto.reconcile.reconciler import Sweep
from stretto.web.api.internal import ApiClient
from stretto.workloads.cluster import VOLUMES, LocalCluster

DEFAULT_CLASS: Final[Fields] = {
    "metadata": {
        "name": "standard",
        "annotations": {"storageclass.kubernetes.io/is-default-class": "true"},
    },
    "provisioner": "simulated.stretto.dev",
    "volumeBindingMode": "WaitForFirstConsumer",
}
"""The default StorageClass, as in usual local clusters."""
_OF_CLASS: Final = "pending PVC of a class"
"""Index of the PVCs without a volume, by their StorageClass."""
_OF_VOLUME: Final = "pending PVC of a volume"
"""Index of the PVCs that name a volume and are not bound to it, by its name."""


def make_default_class(client: ApiClient) -> None:
    """Create the default StorageClass of a local cluster if it does not exist."""
    name = str(DEFAULT_CLASS["metadata"]["name"])
    if client.state.storage.find(STORAGE_CLASS, "", name) is None:
        client.create(STORAGE_CLASS, DEFAULT_CLASS)


class VolumeBindingController:
    """Controller that binds PVCs to volumes, and sets the phase of volumes."""

    def __init__(self, cluster: LocalCluster) -> None:
        """Control the volumes of a cluster."""
        #: Name in logs and messages.
        self.name = f"{cluster.name}/volume-binding"
        self._cluster = cluster
        self._claims = cluster.objects(PERSISTENT_VOLUME_CLAIM)
        self._volumes = cluster.objects(PERSISTENT_VOLUME)
        cluster.objects(STORAGE_CLASS)
        self._claims.add_index(_OF_CLASS, _pending_class)
        self._claims.add_index(_OF_VOLUME, _pending_volume)
        self._table: VolumeTable | None = None

    def affected(self, change: Change) -> Iterable[Hashable]:
        """The changed PVC or volume, and the PVCs that a changed volume or class may suit."""
        if change.kind == PERSISTENT_VOLUME_CLAIM:
            yield PERSISTENT_VOLUME_CLAIM, *change.object.name
            if change.object.spec.get("volumeName"):
                yield PERSISTENT_VOLUME, "", change.object.spec["volumeName"]
        elif change.kind == PERSISTENT_VOLUME:
            yield PERSISTENT_VOLUME, *change.object.name
            if change.new is not None:
                yield from self._suited(change.new)
            self._note(change)
        elif change.kind == STORAGE_CLASS:
            yield self._of_class(change.object.record.name)

    def _note(self, change: Change) -> None:
        """Update the table of volumes."""
        if self._table is None:
            return
        if change.new is None:
            self._table.remove(change.object.record.name)
        else:
            self._table.put(_plain(change.new))

    def _suited(self, volume: StoredObject) -> Iterator[Hashable]:
        """The PVC that a volume refers to; without one, those that may be bound to it."""
        reference = volume.spec.get("claimRef")
        if reference is None:
            yield self._of_class(_class_name(volume))
        else:
            name = reference.get("namespace", ""), reference.get("name", "")
            yield PERSISTENT_VOLUME_CLAIM, *name
        for each in self._claims.indexed(_OF_VOLUME, volume.record.name):
            yield PERSISTENT_VOLUME_CLAIM, *each.name

    def _of_class(self, name: str) -> Sweep:
        """The pending PVCs of a StorageClass."""

        def keys() -> Iterator[Hashable]:
            for each in self._claims.indexed(_OF_CLASS, name):
                yield PERSISTENT_VOLUME_CLAIM, *each.name

        return Sweep(f"class {name}", keys)

    def _volume_table(self) -> VolumeTable:
        """All volumes; built once, since a table of every volume for every PVC is quadratic."""
        if self._table is None:
            self._table = VolumeTable(_plain(each) for each in self._volumes)
        return self._table

    def reconcile(self, key: Hashable, now: float) -> float | None:
        """Bind one PVC, or settle one volume."""
        assert isinstance(key, tuple)
        kind, *name = key
        if kind == PERSISTENT_VOLUME:
            volume = self._volumes.get(*name)
            if volume is not None and not volume.is_terminating:
                self._settle(volume)
            return None
        claim = self._claims.get(*name)
        if claim is not None and not claim.is_terminating and not _is_bound(claim):
            self._bind(claim)
        return None

    def _bind(self, claim: StoredObject) -> None:
        """Reserve or provision a volume, then bind the PVC to it."""
        binding = chosen_volume(_plain(claim), _CachedView(self._cluster), self._volume_table())
        if binding is None:
            self._note_wait(claim)
            return
        name = binding.volume["metadata"]["name"]
        reference = {**binding.volume["spec"]["claimRef"], "uid": claim.record.uid}
        volume = self._volumes.get("", name)
        if volume is None:
            spec = {**binding.volume["spec"], "claimRef": reference}
            self._cluster.create(PERSISTENT_VOLUME, {**binding.volume, "spec": spec})
        elif (volume.spec.get("claimRef") or {}).get("uid") != claim.record.uid:
            marks = binding.volume["metadata"].get("annotations") or {}
            change = {"metadata": {"annotations": marks}, "spec": {"claimRef": reference}}
            self._cluster.patch(volume, change)
        notes = binding.pvc["metadata"]["annotations"]
        marks = {key: notes[key] for key in (BIND_COMPLETED, BOUND_BY) if key in notes}
        change = {"metadata": {"annotations": marks}, "spec": {"volumeName": name}}
        self._cluster.patch(claim, change)
        amounts = {key: binding.volume["spec"].get(key) for key in ("accessModes", "capacity")}
        class_ = binding.volume["spec"].get("volumeAttributesClassName")
        current = {"currentVolumeAttributesClassName": class_}
        self._cluster.set_status(claim, {"phase": "Bound", **amounts, **current})

    def _note_wait(self, claim: StoredObject) -> None:
        """Write the event about a PVC that waits for a volume, a class or a pod."""
        name = _class_name(claim)
        found = self._cluster.objects(STORAGE_CLASS).get("", name)
        if claim.spec.get("volumeName"):
            return
        if not name:
            text = "no persistent volumes available for this claim and no storage class is set"
            event = EventText(EventLevel.NORMAL, "FailedBinding", text)
        elif found is None:
            text = f'storageclass.storage.k8s.io "{name}" not found'
            event = EventText(EventLevel.WARNING, "ProvisioningFailed", text)
        elif found.fields.get("volumeBindingMode") == WAIT:
            text = "waiting for first consumer to be created before binding"
            event = EventText(EventLevel.NORMAL, WAIT, text)
        else:
            return
        self._cluster.note(VOLUMES, claim, event)

    def _settle(self, volume: StoredObject) -> None:
        """Set the phase of a volume; if its PVC is gone, delete it by its reclaim policy."""
        reference = volume.spec.get("claimRef")
        if reference is None:
            self._cluster.set_status(volume, {"phase": "Available"})
            return
        claim = self._claims.get(reference.get("namespace", ""), reference.get("name", ""))
        wanted = reference.get("uid")
        if claim is not None and wanted in (None, "", claim.record.uid):
            is_bound = claim.spec.get("volumeName") == volume.record.name
            self._cluster.set_status(volume, {"phase": "Bound" if is_bound else "Available"})
        elif not wanted:
            self._cluster.set_status(volume, {"phase": "Available"})
        elif volume.spec.get("persistentVolumeReclaimPolicy") == "Delete":
            self._cluster.delete([volume])
        else:
            self._cluster.set_status(volume, {"phase": "Released"})


def _is_bound(claim: StoredObject) -> bool:
    return claim.status.get("phase") == "Bound"


def _class_name(item: StoredObject) -> str:
    """The StorageClass of a PVC or volume; empty for none."""
    found = item.annotations.get(CLASS_ANNOTATION)
    return found if found is not None else str(item.spec.get("storageClassName") or "")


def _pending_class(claim: StoredObject) -> Iterable[str]:
    return () if _is_bound(claim) else (_class_name(claim),)


def _pending_volume(claim: StoredObject) -> Iterable[str]:
    name = claim.spec.get("volumeName")
    return () if not name or _is_bound(claim) else (str(name),)


class _CachedView:
    """View of the objects in the caches of a cluster."""

    def __init__(self, cluster: LocalCluster) -> None:
        self._cluster = cluster

    def get(self, kind: Kind, namespace: str, name: str) -> Fields | None:
        found = self._cluster.objects(kind).get(namespace, name)
        return None if found is None else _plain(found)

    def list(self, kind: Kind, namespace: str = "") -> Iterator[Fields]:
        for each in self._cluster.objects(kind):
            if namespace in ("", each.record.namespace):
                yield _plain(each)


def _plain(item: StoredObject) -> Any:
    """Return the fields of an object without null members and managed fields."""
    kept = {key: each for key, each in item.metadata.items() if key != "managedFields"}
    return codec.without_nulls({**item.fields, "metadata": kept})
