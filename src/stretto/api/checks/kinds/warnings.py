"""Warnings about objects that are valid and probably not meant."""

from collections.abc import Iterator
from typing import Any, Final

Json = dict[str, Any]

_TEMPLATES: Final = {
    ("", "Pod"): ("spec",),
    ("", "ReplicationController"): ("spec", "template", "spec"),
    ("apps", "Deployment"): ("spec", "template", "spec"),
    ("apps", "ReplicaSet"): ("spec", "template", "spec"),
    ("apps", "DaemonSet"): ("spec", "template", "spec"),
    ("apps", "StatefulSet"): ("spec", "template", "spec"),
    ("batch", "Job"): ("spec", "template", "spec"),
    ("batch", "CronJob"): ("spec", "jobTemplate", "spec", "template", "spec"),
}
_RECYCLE: Final = (
    "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the "
    "recommended approach is to use dynamic provisioning."
)
_TOKENS: Final = (
    "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to "
    "prevent possible logging of tokens in volume attributes"
)


def warnings_of(key: tuple[str, str], item: Json) -> list[str]:
    """The warnings of an object of a kind, by group and kind."""
    path = _TEMPLATES.get(key)
    if path is not None:
        inner: Any = item
        for name in path:
            inner = inner.get(name) or {}
        return list(_of_pod_spec(inner, ".".join(path)))
    spec = item.get("spec") or {}
    if key == ("", "PersistentVolume"):
        is_old = spec.get("persistentVolumeReclaimPolicy") == "Recycle"
        return [_RECYCLE] if is_old else []
    if key == ("storage.k8s.io", "CSIDriver"):
        is_unset = spec.get("tokenRequests") and "serviceAccountTokenInSecrets" not in spec
        return [_TOKENS] if is_unset else []
    return []


def _of_pod_spec(spec: Json, path: str) -> Iterator[str]:
    for index, each in enumerate(spec.get("topologySpreadConstraints") or ()):
        if each.get("labelSelector") is None:
            where = f"{path}.topologySpreadConstraints[{index}].labelSelector"
            yield f"{where}: a null labelSelector results in matching no pod"
