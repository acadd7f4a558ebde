"""PVCs: the default StorageClass, and the PVCs of ephemeral volumes and StatefulSets."""

from typing import Final

from stretto.api.admission.request import AdmissionRequest, JsonObject, ObjectView, Operation
from stretto.api.wire.kinds import PERSISTENT_VOLUME_CLAIM, STORAGE_CLASS

_DEFAULT: Final = "storageclass.kubernetes.io/is-default-class"
_OLD_DEFAULT: Final = "storageclass.beta.kubernetes.io/is-default-class"
_OLD_CLASS: Final = "volume.beta.kubernetes.io/storage-class"
"""Annotation of a PVC that contains its class."""


def default_class(request: AdmissionRequest, pvc: JsonObject, view: ObjectView) -> None:
    """Set the default StorageClass of a PVC without a class; an empty class name stays.

    If several classes are marked as the default, the newest is used; of equally old ones the first
    by name.
    """
    if request.operation is Operation.UPDATE:
        return
    spec = pvc["spec"]
    notes = pvc["metadata"].get("annotations") or {}
    if spec.get("storageClassName") is not None or _OLD_CLASS in notes:
        return
    found = [each for each in view.list(STORAGE_CLASS) if _is_default(each)]
    found.sort(key=lambda each: str(each["metadata"].get("name")))
    found.sort(key=lambda each: str(each["metadata"].get("creationTimestamp") or ""), reverse=True)
    if found:
        spec["storageClassName"] = found[0]["metadata"]["name"]


def default_storage_class(item: JsonObject) -> None:
    """Default the binding mode and the reclaim policy of a StorageClass."""
    item.setdefault("volumeBindingMode", "Immediate")
    item.setdefault("reclaimPolicy", "Delete")


def ephemeral_pvcs(pod: JsonObject) -> list[JsonObject]:
    """The PVCs of the ephemeral volumes of a pod, as the controller creates them."""
    meta, found = pod["metadata"], []
    for volume in pod["spec"].get("volumes") or ():
        template = (volume.get("ephemeral") or {}).get("volumeClaimTemplate")
        if not template:
            continue
        own = template.get("metadata") or {}
        metadata = {
            "name": f"{meta['name']}-{volume['name']}",
            "namespace": meta["namespace"],
            **{key: own[key] for key in ("labels", "annotations") if own.get(key)},
        }
        if meta.get("uid"):
            metadata["ownerReferences"] = [
                {
                    "apiVersion": "v1",
                    "kind": "Pod",
                    "name": meta["name"],
                    "uid": meta["uid"],
                    "controller": True,
                    "blockOwnerDeletion": True,
                }
            ]
        found.append(_claim(metadata, template.get("spec") or {}))
    return found


def stateful_pvcs(owner: JsonObject, ordinal: int) -> list[tuple[str, JsonObject]]:
    """The PVCs of one pod of a StatefulSet, each with the name of its volume."""
    meta, spec, found = owner["metadata"], owner["spec"], []
    labels = (spec.get("selector") or {}).get("matchLabels") or {}
    for template in spec.get("volumeClaimTemplates") or ():
        own = template.get("metadata") or {}
        volume = own.get("name", "")
        metadata = {
            "name": f"{volume}-{meta['name']}-{ordinal}",
            "namespace": meta["namespace"],
            "labels": {**(own.get("labels") or {}), **labels},
            **({"annotations": own["annotations"]} if own.get("annotations") else {}),
        }
        found.append((volume, _claim(metadata, template.get("spec") or {})))
    return found


def _claim(metadata: JsonObject, spec: JsonObject) -> JsonObject:
    """Build a PVC object."""
    kind = PERSISTENT_VOLUME_CLAIM
    return {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "metadata": metadata,
        "spec": dict(spec),
    }


def _is_default(item: JsonObject) -> bool:
    """Return whether a StorageClass is marked as the default."""
    notes = item["metadata"].get("annotations") or {}
    return "true" in (notes.get(_DEFAULT), notes.get(_OLD_DEFAULT))
