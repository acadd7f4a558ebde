"""Protection of volumes in use: PVCs and PersistentVolumes are removed once they are unused."""

from collections.abc import Hashable, Iterable
from typing import Final

from stretto.api.types.heads import ENDED
from stretto.api.wire.kinds import PERSISTENT_VOLUME, PERSISTENT_VOLUME_CLAIM, POD
from stretto.reconcile.cache import Change, StoredObject
from stretto.workloads.cluster import LocalCluster

_FINALIZERS: Final = {
    PERSISTENT_VOLUME_CLAIM: "kubernetes.io/pvc-protection",
    PERSISTENT_VOLUME: "kubernetes.io/pv-protection",
}


class VolumeProtectionController:
    """Controller that removes the finalizers of unused PVCs and volumes being deleted."""

    def __init__(self, cluster: LocalCluster) -> None:
        """Control the volumes of a cluster."""
        #: Name in logs and messages.
        self.name = f"{cluster.name}/volume-protection"
        self._cluster = cluster
        for kind in _FINALIZERS:
            cluster.objects(kind)

    def affected(self, change: Change) -> Iterable[Hashable]:
        """The changed volume, the PVCs of a changed pod, and the volume of a changed PVC."""
        item = change.object
        if change.kind in _FINALIZERS:
            yield change.kind, *item.name
        if change.kind == POD:
            for name in _claims_of(item):
                yield PERSISTENT_VOLUME_CLAIM, item.record.namespace, name
        if change.kind == PERSISTENT_VOLUME_CLAIM and item.spec.get("volumeName"):
            yield PERSISTENT_VOLUME, "", item.spec["volumeName"]

    def reconcile(self, key: Hashable, now: float) -> float | None:
        """Remove the finalizer of one unused volume."""
        assert isinstance(key, tuple)
        kind, namespace, name = key
        item = self._cluster.objects(kind).get(namespace, name)
        finalizers = [] if item is None else item.metadata.get("finalizers") or []
        if item is None or not item.is_terminating or _FINALIZERS[kind] not in finalizers:
            return None
        used = self._is_mounted(item) if kind == PERSISTENT_VOLUME_CLAIM else self._is_bound(item)
        if not used:
            kept = [each for each in finalizers if each != _FINALIZERS[kind]]
            self._cluster.patch(item, {"metadata": {"finalizers": kept or None}})
        return None

    def _is_mounted(self, claim: StoredObject) -> bool:
        """Return whether a pod on a node uses a PVC and has not ended.

        A pod without a node does not: it cannot start while the PVC is being deleted.
        """
        pods = self._cluster.objects(POD).in_namespace(claim.record.namespace)
        return any(
            pod.record.node
            and claim.record.name in _claims_of(pod)
            and pod.status.get("phase") not in ENDED
            for pod in pods
        )

    def _is_bound(self, volume: StoredObject) -> bool:
        """Return whether a PVC is bound to a volume."""
        claims = self._cluster.objects(PERSISTENT_VOLUME_CLAIM)
        return any(each.spec.get("volumeName") == volume.record.name for each in claims)


def _claims_of(pod: StoredObject) -> list[str]:
    """Names of the PVCs that a pod uses."""
    volumes = pod.spec.get("volumes") or ()
    return [
        *(each["persistentVolumeClaim"]["claimName"] for each in volumes if _has_claim(each)),
        *(f"{pod.record.name}-{each['name']}" for each in volumes if each.get("ephemeral")),
    ]


def _has_claim(volume: dict[str, object]) -> bool:
    return bool(volume.get("persistentVolumeClaim"))
