"""Last written versions of members' objects, also those of an earlier process.

A PropagatedVersion on the host holds digests of the template and of the overrides, and the version
of the object in each cluster. After a restart, an object with the same digests and versions needs
no write.
"""

from collections.abc import Mapping
from typing import Any

from stretto.api.kinds.federation import CLUSTER_PROPAGATED_VERSION, PROPAGATED_VERSION
from stretto.api.wire.kinds import Kind
from stretto.base.errors import NotAllowedError
from stretto.federation.controllers.keys import FederatedItem
from stretto.federation.fleet import ClusterFleet
from stretto.federation.objects.members.versions import digest, version_of
from stretto.reconcile import writes
from stretto.reconcile.cache import StoredObject


class VersionLedger:
    """Reads and writes PropagatedVersions; does nothing if the host is in this process."""

    def __init__(self, fleet: ClusterFleet) -> None:
        """Initialize for the federated objects of a fleet."""
        self._fleet = fleet
        self._is_kept = fleet.host.store.capabilities.answers_later

    def is_current(self, item: FederatedItem, cluster: str, present: StoredObject) -> bool:
        """True if a cluster's object is still as an earlier process has written it."""
        found = self._found(item)
        if found is None:
            return False
        status = found.status
        versions = {
            x.get("clusterName"): x.get("version") for x in status.get("clusterVersions", ())
        }
        if versions.get(cluster) != version_of(present):
            return False
        return {**_digests(item), "clusterVersions": None} == {**status, "clusterVersions": None}

    def save(self, item: FederatedItem, versions: Mapping[str, str]) -> None:
        """Store the versions of the members' objects, by cluster.

        Raises:
            RetryError: the host refused the write.
        """
        if not self._is_kept:
            return
        listed = [{"clusterName": key, "version": each} for key, each in sorted(versions.items())]
        status = {**_digests(item), "clusterVersions": listed}
        found = self._found(item)
        if found is None:
            found = self._created(item)
        if found is not None and found.status != status:
            writes.patch_status(self._fleet.host.store, found, status)

    def forget(self, item: FederatedItem) -> None:
        """Delete the stored versions of a federated object.

        Raises:
            RetryError: the host refused the deletion.
        """
        found = self._found(item)
        if found is not None and not found.is_terminating:
            writes.delete(self._fleet.host.store, found)

    # ---------------------------------------------------------------- inside

    def _found(self, item: FederatedItem) -> StoredObject | None:
        if not self._is_kept:
            return None
        try:
            return self._fleet.host.follow_synced(_kind(item)).get(*item.federated.name)
        except NotAllowedError:
            return None  # every object is written once after a restart

    def _created(self, item: FederatedItem) -> StoredObject | None:
        record = item.federated.record
        kind, owner = _kind(item), item.type.federated_kind
        metadata: dict[str, Any] = {
            "name": record.name,
            "ownerReferences": [
                {
                    "apiVersion": owner.api_version,
                    "kind": owner.kind,
                    "name": record.name,
                    "uid": record.uid,
                }
            ],
        }
        if kind.namespaced:
            metadata["namespace"] = record.namespace
        body = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata}
        made = writes.create(self._fleet.host.store, kind, body)
        return StoredObject(made) if made is not None else None


def _kind(item: FederatedItem) -> Kind:
    is_namespaced = item.type.kind.namespaced
    return (PROPAGATED_VERSION if is_namespaced else CLUSTER_PROPAGATED_VERSION).kind


def _digests(item: FederatedItem) -> dict[str, str]:
    """Digests of the template and the overrides, which determine the objects of all clusters."""
    spec = item.federated.spec
    return {
        "templateVersion": digest(spec.get("template")),
        "overridesVersion": digest(spec.get("overrides") or []),
    }
