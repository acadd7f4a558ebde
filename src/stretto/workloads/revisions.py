"""Revisions of workloads: a ControllerRevision for each pod template of a workload.

As in the controllers of Kubernetes, ``kubectl rollout history`` and ``undo`` read them, and the
greatest number belongs to the current template.
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

import msgspec

from stretto.api.schema.hashes.digest import revision_hash, template_hash
from stretto.api.wire.kinds import DAEMON_SET
from stretto.reconcile.cache import Fields, StoredObject
from stretto.workloads.adoption import Claims
from stretto.workloads.cluster import CONTROLLER_REVISION, LocalCluster, owned_metadata

POD_REVISION: Final = "controller-revision-hash"
"""Label of a pod that contains the revision of its template."""
_REPLACE: Final = {"$patch": "replace"}


@dataclass(frozen=True, slots=True)
class RevisionHistory:
    """The revisions of a workload."""

    #: The revision of the current template.
    current: StoredObject
    #: The revisions of earlier templates.
    old: list[StoredObject]

    def find(self, name: str) -> StoredObject | None:
        """Return the revision with this name, or ``None``."""
        return next((each for each in (self.current, *self.old) if each.record.name == name), None)


class RevisionKeeper:
    """Creates and deletes the revisions of the workloads of one kind."""

    def __init__(self, cluster: LocalCluster, label: str) -> None:
        """Create revisions in a cluster.

        Args:
            cluster: the cluster.
            label: label of a revision that contains the hash of its template.
        """
        self._cluster = cluster
        self._label = label
        self._claims = Claims(cluster, CONTROLLER_REVISION)

    def history(self, item: StoredObject) -> RevisionHistory | None:
        """The revisions of a workload; ``None`` if its new revision was just created.

        Revisions without a controller are adopted.

        Raises:
            RetryError: the store refused a revision.
        """
        data = _data(item.spec["template"])
        claimed = self._claims.claimed(item, lambda each: not each.is_terminating)
        found = sorted(claimed, key=number_of)
        same = [each for each in found if each.fields.get("data") == data]
        old = [each for each in found if each not in same[-1:]]
        number = 1 + max(map(number_of, old), default=0)
        if not same:
            self._create(item, data, number)
            return None
        current = same[-1]
        if number_of(current) < number:
            self._cluster.patch(current, {"revision": number})
        return RevisionHistory(current, old)

    def _create(self, item: StoredObject, data: Fields, number: int) -> None:
        """Create a revision; a name that is in use raises ``collisionCount`` instead."""
        digest = _hash(item, data)
        name = f"{item.record.name}-{digest}"
        if self._cluster.objects(CONTROLLER_REVISION).get(item.record.namespace, name) is not None:
            count_collision(self._cluster, item)
            return
        given = item.spec["template"].get("metadata") or {}
        labels = {**(given.get("labels") or {}), self._label: digest}
        notes = dict(item.annotations)
        metadata = owned_metadata(item, name=name, labels=labels, annotations=notes)
        made = {"metadata": metadata, "data": data, "revision": number}
        self._cluster.create(CONTROLLER_REVISION, made)

    def clean(
        self, item: StoredObject, history: RevisionHistory, used: Collection[StoredObject]
    ) -> None:
        """Delete the oldest revisions beyond the limit of a workload, except those in use."""
        excess = len(history.old) - int(item.spec.get("revisionHistoryLimit", 10))
        if excess > 0:
            self._cluster.delete([each for each in history.old if each not in used][:excess])

    def hash_of(self, revision: StoredObject) -> str:
        """The hash of a revision; its name if it has no hash."""
        return str(revision.labels.get(self._label) or revision.record.name)


def count_collision(cluster: LocalCluster, item: StoredObject) -> None:
    """Count a name that another object has; the next hash of the template differs.

    Raises:
        RetryError: the store refused the change.
    """
    count = int(item.status.get("collisionCount") or 0)
    cluster.set_status(item, {"collisionCount": count + 1})


def _hash(item: StoredObject, data: Fields) -> str:
    """The hash of a new revision: DaemonSets hash the template, StatefulSets the revision."""
    collisions = item.status.get("collisionCount")
    if item.record.kind == DAEMON_SET:
        return template_hash(item.spec["template"], collisions)
    return revision_hash(data, collisions or 0)


def _data(template: Fields) -> Fields:
    """The patch in a revision, with sorted names, because clients compare its text."""
    patch = {"spec": {"template": {**template, **_REPLACE}}}
    found: Fields = msgspec.json.decode(msgspec.json.encode(patch, order="deterministic"))
    return found


def number_of(revision: StoredObject) -> int:
    """The number of a revision."""
    return int(revision.fields.get("revision") or 0)


def template_of(revision: StoredObject) -> Fields:
    """The pod template of a revision."""
    template: Fields = revision.fields["data"]["spec"]["template"]
    return {key: value for key, value in template.items() if key not in _REPLACE}
