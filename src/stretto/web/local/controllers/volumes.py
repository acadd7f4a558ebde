"""Bindings of PVCs and PersistentVolumes, and provisioning of volumes by StorageClass.

The rules are those of runs and plans of manifests. Simulated volumes store no data.
"""

from collections.abc import Hashable, Iterable, Iterator
from typing import Any, Final

from stretto.api import codec
from stretto.api.types.storage import BIND_COMPLETED, BOUND_BY
from stretto.api.wire.kinds import PERSISTENT_VOLUME, PERSISTENT_VOLUME_CLAIM, STORAGE_CLASS, Kind
from stretto.inputs.objects.volume_bindings import chosen_volume
from stretto.reconcile.cache import Change, Fields, StoredObject
from stretto.web.api.internal import ApiClient
from stretto.workloads.cluster import LocalCluster

DEFAULT_CLASS: Final[Fields] = {
    "metadata": {
        "name": "standard",
        "annotations": {"storageclass.kubernetes.io/is-default-class": "true"},
    },
    "provisioner": "simulated.stretto.dev",
    "volumeBindingMode": "WaitForFirstConsumer",
}
"""The default StorageClass, as in usual local clusters."""
_PENDING: Final = "pending PVC"
"""Index of the PVCs without a volume."""


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
        self._claims.add_index(_PENDING, lambda each: () if _is_bound(each) else (_PENDING,))

    def affected(self, change: Change) -> Iterable[Hashable]:
        """The changed PVC or volume; after a new volume or class, also the waiting PVCs."""
        if change.kind == PERSISTENT_VOLUME_CLAIM:
            yield PERSISTENT_VOLUME_CLAIM, *change.object.name
            if change.object.spec.get("volumeName"):
                yield PERSISTENT_VOLUME, "", change.object.spec["volumeName"]
        elif change.kind in (PERSISTENT_VOLUME, STORAGE_CLASS):
            if change.kind == PERSISTENT_VOLUME:
                yield PERSISTENT_VOLUME, *change.object.name
            for each in self._claims.indexed(_PENDING, _PENDING):
                yield PERSISTENT_VOLUME_CLAIM, *each.name

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
        binding = chosen_volume(_plain(claim), _CachedView(self._cluster))
        if binding is None:
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
        self._cluster.set_status(claim, {"phase": "Bound", **amounts})

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
