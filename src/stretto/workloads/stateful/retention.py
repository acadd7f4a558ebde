"""Owners of the PVCs of a StatefulSet, by its retention policy.

As in the StatefulSet controller of Kubernetes: a PVC that is deleted with its StatefulSet, or with
a pod that is scaled down, has that owner. A PVC of another controller, or of a former object with
the same name, is left alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from stretto.reconcile.cache import Fields, StoredObject
from stretto.workloads.cluster import controller_reference


@dataclass(frozen=True, slots=True)
class ClaimOwners:
    """The objects that may own a PVC."""

    #: The StatefulSet.
    item: StoredObject
    #: The pod that uses the PVC.
    pod: StoredObject
    #: True if the pod has an ordinal of the StatefulSet.
    is_wanted: bool

    def updated(self, references: Sequence[Fields]) -> list[Fields]:
        """Return the references of a PVC with the owner that the policy requires."""
        if any(self._is_stale(each) for each in references):
            return list(references)
        owner = self._required()
        ours = [each for each in references if each.get("uid") in self._uids]
        others = [each for each in references if not self._is_named(each)]
        if self._is_retained:
            return others if ours else list(references)
        if any(each.get("controller") for each in others):
            return others if ours else list(references)
        uids = {each.get("uid") for each in ours if each.get("controller")}
        wanted = set() if owner is None else {owner.record.uid}
        if uids == wanted and len(uids) == len(ours):
            return list(references)
        return [*others, *([] if owner is None else [controller_reference(owner)])]

    @property
    def _uids(self) -> set[str]:
        return {self.item.record.uid, self.pod.record.uid}

    @property
    def _is_retained(self) -> bool:
        return not (deletes(self.item, "whenScaled") or deletes(self.item, "whenDeleted"))

    def _required(self) -> StoredObject | None:
        if deletes(self.item, "whenScaled") and not self.is_wanted:
            return self.pod
        return self.item if deletes(self.item, "whenDeleted") else None

    def _is_named(self, reference: Fields) -> bool:
        """Return whether a reference names the StatefulSet or the pod."""
        return any(_names(reference, each) for each in (self.item, self.pod))

    def _is_stale(self, reference: Fields) -> bool:
        """Return whether a reference names one of the objects with the uid of a former one."""
        return self._is_named(reference) and reference.get("uid") not in self._uids


def deletes(item: StoredObject, event: str) -> bool:
    """Return whether PVCs of a StatefulSet are deleted after ``whenScaled`` or ``whenDeleted``."""
    policy = item.spec.get("persistentVolumeClaimRetentionPolicy") or {}
    return bool(policy.get(event) == "Delete")


def is_of_pod(reference: Fields, pod: str) -> bool:
    """Return whether a reference names a pod."""
    return (reference.get("kind"), reference.get("name")) == ("Pod", pod)


def _names(reference: Fields, owner: StoredObject) -> bool:
    record = owner.record
    return (reference.get("apiVersion"), reference.get("kind"), reference.get("name")) == (
        record.kind.api_version,
        record.kind.kind,
        record.name,
    )
