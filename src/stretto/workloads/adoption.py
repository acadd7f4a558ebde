"""Which pods belong to a workload: those that it owns and selects, and matching pods without owner.

As ReplicaSets of Kubernetes: a matching pod without controller is adopted, and a pod whose labels
match no longer is released.
"""

from typing import Any, Final

import msgspec

from stretto.api.wire.kinds import POD
from stretto.api.wire.meta import LabelSelector
from stretto.api.wire.selectors import Selector, label_selector
from stretto.reconcile.cache import Fields, StoredObject
from stretto.workloads.cluster import LocalCluster, is_active, owned_metadata, owner_of

_FREE: Final = "without controller"


class PodClaims:
    """Adopts and releases the pods of workloads."""

    def __init__(self, cluster: LocalCluster) -> None:
        """For the pods of a cluster."""
        self._cluster = cluster
        cluster.objects(POD).add_index(_FREE, _namespace_if_free)

    def pods_of(self, item: StoredObject) -> list[StoredObject]:
        """The active pods of a workload, after pods were adopted and released.

        Raises:
            RetryError: the store refused a change.
        """
        selector = selector_of(item)
        owned = [pod for pod in self._cluster.owned(POD, item) if is_active(pod)]
        kept = [pod for pod in owned if selector.matches(pod.labels)]
        if len(kept) < len(owned):
            for pod in owned:
                if not selector.matches(pod.labels):
                    self._release(pod, item)
        for pod in list(self._cluster.objects(POD).indexed(_FREE, item.record.namespace)):
            if is_active(pod) and selector.matches(pod.labels):
                self._adopt(pod, item)
                kept.append(pod)
        return kept

    def _adopt(self, pod: StoredObject, item: StoredObject) -> None:
        references = [*_references(pod), *owned_metadata(item)["ownerReferences"]]
        self._cluster.patch(pod, {"metadata": {"ownerReferences": references}})

    def _release(self, pod: StoredObject, item: StoredObject) -> None:
        kept = [each for each in _references(pod) if each.get("uid") != item.record.uid]
        self._cluster.patch(pod, {"metadata": {"ownerReferences": kept or None}})


def selector_of(item: StoredObject) -> Selector:
    """The selector of a workload; that of a ReplicationController is a map of labels."""
    stated: dict[str, Any] = item.spec.get("selector") or {}
    if item.record.kind.kind == "ReplicationController":
        stated = {"matchLabels": stated} if stated else {}
    if not stated:
        return Selector(nothing=True)
    return label_selector(msgspec.convert(stated, LabelSelector), "spec.selector")


def _references(pod: StoredObject) -> list[Fields]:
    return list(pod.metadata.get("ownerReferences") or ())


def _namespace_if_free(pod: StoredObject) -> tuple[str, ...]:
    return (pod.record.namespace,) if owner_of(pod) is None else ()
