"""The PVCs of StatefulSets: one for each template and pod, kept or deleted with their pods."""

from stretto.api.wire.kinds import PERSISTENT_VOLUME_CLAIM, POD
from stretto.reconcile.cache import Fields, StoredObject
from stretto.workloads.cluster import LocalCluster, owner_of


def claim_names(item: StoredObject, ordinal: int) -> dict[str, str]:
    """Names of the PVCs of a pod, by volume name."""
    templates = item.spec.get("volumeClaimTemplates") or ()
    names = [each["metadata"]["name"] for each in templates]
    return {name: f"{name}-{item.record.name}-{ordinal}" for name in names}


class ClaimKeeper:
    """Creates PVCs, and sets their owners so that they are deleted with them."""

    def __init__(self, cluster: LocalCluster) -> None:
        """Manage the PVCs of the StatefulSets of a cluster."""
        self._cluster = cluster
        self._claims = cluster.objects(PERSISTENT_VOLUME_CLAIM)

    def create(self, item: StoredObject, ordinal: int) -> None:
        """Create the missing PVCs of a pod.

        Raises:
            RetryError: the store refused a PVC.
        """
        namespace, names = item.record.namespace, claim_names(item, ordinal)
        labels = (item.spec.get("selector") or {}).get("matchLabels") or {}
        for template in item.spec.get("volumeClaimTemplates") or ():
            given = template["metadata"]
            name = names[given["name"]]
            if self._claims.get(namespace, name) is None:
                metadata = {**given, "name": name, "namespace": namespace}
                metadata["labels"] = {**(given.get("labels") or {}), **labels}
                made = {**template, "metadata": metadata}
                self._cluster.create(PERSISTENT_VOLUME_CLAIM, made)

    def bind(self, item: StoredObject, pod: StoredObject, ordinal: int, *, is_wanted: bool) -> None:
        """Make the StatefulSet or the pod the owner of the pod's PVCs, by the retention policy.

        Raises:
            RetryError: the store refused a change.
        """
        policy = item.spec.get("persistentVolumeClaimRetentionPolicy") or {}
        scaled, deleted = (policy.get(word) == "Delete" for word in ("whenScaled", "whenDeleted"))
        goes_with_pod = scaled and not is_wanted
        owners = {item: deleted and not goes_with_pod, pod: goes_with_pod}
        for name in claim_names(item, ordinal).values():
            claim = self._claims.get(item.record.namespace, name)
            owner = None if claim is None else owner_of(claim)
            if claim is None or (owner is not None and owner["uid"] not in _uids(owners)):
                continue
            references: list[Fields] = list(claim.metadata.get("ownerReferences") or ())
            kept = [each for each in references if each["uid"] not in _uids(owners)]
            kept += [_reference(each) for each, owns in owners.items() if owns]
            if kept != references:
                self._cluster.patch(claim, {"metadata": {"ownerReferences": kept or None}})


def _uids(owners: dict[StoredObject, bool]) -> set[str]:
    return {each.record.uid for each in owners}


def _reference(owner: StoredObject) -> Fields:
    """An owner reference; a StatefulSet is the controller of the PVC."""
    record = owner.record
    return {
        "apiVersion": record.kind.api_version,
        "kind": record.kind.kind,
        "name": record.name,
        "uid": record.uid,
        **({} if record.kind == POD else {"controller": True}),
    }
