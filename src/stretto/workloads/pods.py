"""Pods from the template of a workload, and which of them to delete first."""

from stretto.reconcile.cache import Fields, StoredObject
from stretto.workloads.cluster import owned_metadata, ready_since


def pod_of(owner: StoredObject, template: Fields, **metadata: object) -> Fields:
    """A new pod of a controller.

    Args:
        owner: the controller.
        template: its pod template.
        metadata: name or prefix, and further labels and annotations.
    """
    given = template.get("metadata") or {}
    labels = {**(given.get("labels") or {}), **_texts(metadata.pop("labels", None))}
    notes = {**(given.get("annotations") or {}), **_texts(metadata.pop("annotations", None))}
    made = owned_metadata(owner, labels=labels, annotations=notes, **metadata)
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": made,
        "spec": template["spec"],
        "status": {"phase": "Pending"},
    }


def _texts(value: object) -> dict[str, str]:
    return dict(value) if isinstance(value, dict) else {}


def by_deletion(pods: list[StoredObject]) -> list[StoredObject]:
    """Pods in the order of their deletion: without a node, not ready, then the youngest."""
    younger_first = sorted(pods, key=lambda pod: pod.record.created, reverse=True)
    return sorted(
        younger_first, key=lambda pod: (bool(pod.record.node), ready_since(pod) is not None)
    )
