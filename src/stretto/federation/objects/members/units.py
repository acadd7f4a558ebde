"""The queue and the gang that the pods of a workload name."""

from typing import Final

from stretto.api.types.heads import GROUP_NOTE
from stretto.api.wire.labels import QUEUE_NAME
from stretto.federation.objects.paths import field_at
from stretto.reconcile.cache import Fields, StoredObject

DEFAULT_QUEUE: Final = "default"
"""Queue of pods without a queue name."""
_POD_METADATA: Final = ("spec.template.metadata", "spec.jobTemplate.spec.template.metadata")


def queue_name(federated: StoredObject) -> str:
    """The queue of the pods of a workload."""
    return _note(federated, QUEUE_NAME) or DEFAULT_QUEUE


def group_name(federated: StoredObject) -> str:
    """The PodGroup of the pods of a workload; empty for single pods."""
    return _note(federated, GROUP_NOTE)


def _note(federated: StoredObject, key: str) -> str:
    """A label of the pods, or else an annotation of the pods."""
    metadata = _pod_metadata(federated.spec.get("template") or {})
    for part in ("labels", "annotations"):
        if found := (metadata.get(part) or {}).get(key):
            return str(found)
    return ""


def _pod_metadata(template: Fields) -> Fields:
    if template.get("kind") == "Pod":
        return template.get("metadata") or {}
    for path in _POD_METADATA:
        found = field_at(template, path)
        if isinstance(found, dict):
            return found
    return {}
