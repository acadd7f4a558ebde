"""The PVCs of StatefulSets: one for each template and pod, kept or deleted with their pods."""

from collections.abc import Iterable, Iterator
from typing import Final

from stretto.api.wire.kinds import PERSISTENT_VOLUME_CLAIM, STATEFUL_SET
from stretto.reconcile.cache import Change, Fields, Name, StoredObject
from stretto.workloads.cluster import LocalCluster
from stretto.workloads.stateful.notes import MemberNotes
from stretto.workloads.stateful.retention import ClaimOwners, deletes, is_of_pod

_BY_CLAIM: Final = "prefix of its PVCs"
"""Index of StatefulSets by namespace and names of their PVCs without the ordinal."""


def claim_names(item: StoredObject, ordinal: int) -> dict[str, str]:
    """Names of the PVCs of a pod, by volume name."""
    return {name: f"{prefix}-{ordinal}" for name, prefix in _prefixes(item).items()}


def _prefixes(item: StoredObject) -> dict[str, str]:
    """Names of the PVCs of a StatefulSet without the ordinal, by volume name."""
    names = [_named(each)["name"] for each in item.spec.get("volumeClaimTemplates") or ()]
    return {name: f"{name}-{item.record.name}" for name in names}


def _named(template: Fields) -> Fields:
    """Metadata of a template; the API accepts a template without a name."""
    return {"name": "", **(template.get("metadata") or {})}


def _claim_keys(item: StoredObject) -> Iterable[str]:
    """Keys of a StatefulSet in the index."""
    return [f"{item.record.namespace}/{prefix}" for prefix in _prefixes(item).values()]


class ClaimKeeper:
    """Creates PVCs, and sets their owners so that they are deleted with them."""

    def __init__(self, cluster: LocalCluster, notes: MemberNotes) -> None:
        """Manage the PVCs of the StatefulSets of a cluster; ``notes`` writes events."""
        self._notes = notes
        self._cluster = cluster
        self._claims = cluster.objects(PERSISTENT_VOLUME_CLAIM)
        cluster.objects(STATEFUL_SET).add_index(_BY_CLAIM, _claim_keys)

    def create(self, item: StoredObject, ordinal: int) -> None:
        """Create the missing PVCs of a pod.

        Raises:
            RetryError: the store refused a PVC.
        """
        namespace, names = item.record.namespace, claim_names(item, ordinal)
        labels = (item.spec.get("selector") or {}).get("matchLabels") or {}
        for template in item.spec.get("volumeClaimTemplates") or ():
            given = _named(template)
            name = names[given["name"]]
            if self._claims.get(namespace, name) is None:
                metadata = {**given, "name": name, "namespace": namespace}
                metadata["labels"] = {**(given.get("labels") or {}), **labels}
                made = {**template, "metadata": metadata}
                about = f"Claim {name} Pod {item.record.name}-{ordinal} in"
                with self._notes.creation(item, about, "success"):
                    self._cluster.create(PERSISTENT_VOLUME_CLAIM, made)

    def bind(self, item: StoredObject, pod: StoredObject, ordinal: int, *, is_wanted: bool) -> None:
        """Make the StatefulSet or the pod the owner of the pod's PVCs, by the retention policy.

        Raises:
            RetryError: the store refused a change.
        """
        owners = ClaimOwners(item, pod, is_wanted)
        for claim in self._claims_of(item, ordinal):
            references: list[Fields] = list(claim.metadata.get("ownerReferences") or ())
            updated = owners.updated(references)
            if updated != references:
                self._cluster.patch(claim, {"metadata": {"ownerReferences": updated or None}})

    def is_leaving(self, item: StoredObject, ordinal: int) -> bool:
        """Return whether a PVC is deleted with a former pod, so that a new pod must wait."""
        name = f"{item.record.name}-{ordinal}"
        return deletes(item, "whenScaled") and any(
            is_of_pod(each, name)
            for claim in self._claims_of(item, ordinal)
            for each in claim.metadata.get("ownerReferences") or ()
        )

    def affected(self, change: Change) -> Iterable[Name]:
        """The StatefulSets whose PVC has changed."""
        if change.source != self._cluster.name or change.kind != PERSISTENT_VOLUME_CLAIM:
            return
        namespace, name = change.object.name
        prefix, _, number = name.rpartition("-")
        if number.isdecimal():
            found = self._cluster.objects(STATEFUL_SET).indexed(_BY_CLAIM, f"{namespace}/{prefix}")
            yield from [each.name for each in found]

    def _claims_of(self, item: StoredObject, ordinal: int) -> Iterator[StoredObject]:
        for name in claim_names(item, ordinal).values():
            claim = self._claims.get(item.record.namespace, name)
            if claim is not None:
                yield claim
