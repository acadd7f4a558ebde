"""Pods from the template of a workload, and the order in which pods are deleted."""

from stretto.api.wire.kinds import NODE
from stretto.api.wire.labels import HOSTNAME_LABEL
from stretto.base.clock import parse_timestamp
from stretto.base.errors import InputError
from stretto.reconcile.cache import Fields, StoredObject
from stretto.state.classes.annotations import DOMAIN_CAPS, DomainCap, read_caps
from stretto.state.queries.scale_down import PlacedPod, removals
from stretto.workloads.cluster import LocalCluster, owned_metadata, ready_since


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


def removed_first(
    cluster: LocalCluster, pods: list[StoredObject], count: int
) -> list[StoredObject]:
    """The pods to delete when a workload is scaled down.

    Order: pods without a node, pods that are not ready, pods whose removal keeps domain caps, zones
    and nodes balanced, then the youngest pods.
    """
    nodes = cluster.objects(NODE)
    labels = {
        name: (item.metadata.get("labels") or {}) if item is not None else {}
        for name in {pod.record.node for pod in pods if pod.record.node}
        for item in [nodes.get("", name)]
    }
    placed = [
        PlacedPod(
            {HOSTNAME_LABEL: pod.record.node, **labels[pod.record.node]} if pod.record.node else {},
            ready_since(pod) is not None,
            created_s=parse_timestamp(pod.record.created) or 0.0,
        )
        for pod in pods
    ]
    return [pods[i] for i in removals(placed, count, _caps(pods))]


def _caps(pods: list[StoredObject]) -> tuple[DomainCap, ...]:
    """The domain caps of the first pod that has any; unreadable ones are ignored."""
    for pod in pods:
        text = (pod.metadata.get("annotations") or {}).get(DOMAIN_CAPS)
        if text:
            try:
                return read_caps(text, f"pod {pod.record.name}, annotation {DOMAIN_CAPS}")
            except InputError:
                return ()
    return ()
