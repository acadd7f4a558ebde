"""Ownership of the objects of a workload: adoption and release by selector.

As in the controllers of Kubernetes, a matching pod without a controller is adopted, and an owned
pod whose labels no longer match is released. Deployments do the same with ReplicaSets.
"""

from collections.abc import Callable, Iterable
from typing import Any, Final

import msgspec

from stretto.api.wire.kinds import POD, Kind
from stretto.api.wire.meta import LabelSelector
from stretto.api.wire.selectors import Selector, label_selector
from stretto.reconcile.cache import Change, Fields, Name, StoredObject
from stretto.workloads.cluster import LocalCluster, controller_reference, is_active, owner_of

_FREE: Final = "without controller"


class Claims:
    """Adoption and release of the objects of workloads."""

    def __init__(self, cluster: LocalCluster, kind: Kind = POD) -> None:
        """Claim the pods of a cluster, or the objects of another kind."""
        self._cluster = cluster
        self._kind = kind
        cluster.objects(kind).add_index(_FREE, _namespace_if_free)

    def affected(self, change: Change, kind: Kind) -> Iterable[Name]:
        """Keys of workloads that a change affects, also of those that may adopt the object."""
        yield from self._cluster.keys(change, kind)
        new = change.new
        if change.kind != self._kind or change.source != self._cluster.name or new is None:
            return
        if owner_of(new) is None:
            for item in self._cluster.objects(kind).in_namespace(new.record.namespace):
                if selector_of(item).matches(new.labels):
                    yield item.name

    def pods_of(self, item: StoredObject) -> list[StoredObject]:
        """Adopt and release pods; return the active pods of a workload.

        Raises:
            RetryError: the store refused a change.
        """
        return self.claimed(item, is_active)

    def claimed(
        self, item: StoredObject, counts: Callable[[StoredObject], bool]
    ) -> list[StoredObject]:
        """Adopt and release objects; return those of a workload for which ``counts`` is True.

        A workload without a selector keeps the objects that it owns.

        Raises:
            RetryError: the store refused a change.
        """
        selector = selector_of(item)
        owned = [each for each in self._cluster.owned(self._kind, item) if counts(each)]
        if selector.nothing:
            return owned
        kept = [each for each in owned if selector.matches(each.labels)]
        if len(kept) < len(owned):
            for each in owned:
                if not selector.matches(each.labels):
                    self._release(each, item)
        for each in list(self._cluster.objects(self._kind).indexed(_FREE, item.record.namespace)):
            if counts(each) and not each.is_terminating and selector.matches(each.labels):
                self._adopt(each, item)
                kept.append(each)
        return kept

    def _adopt(self, each: StoredObject, item: StoredObject) -> None:
        references = [*_references(each), controller_reference(item)]
        self._cluster.patch(each, {"metadata": {"ownerReferences": references}})

    def _release(self, each: StoredObject, item: StoredObject) -> None:
        kept = [found for found in _references(each) if found.get("uid") != item.record.uid]
        self._cluster.patch(each, {"metadata": {"ownerReferences": kept or None}})


def selector_of(item: StoredObject) -> Selector:
    """The selector of a workload; a ReplicationController has a map of labels."""
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
