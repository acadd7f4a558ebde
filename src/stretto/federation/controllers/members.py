"""One federated object in one member: created, adopted, updated, released or deleted."""

import json
import re
from typing import Final

from stretto.api.types.federation.objects import PropagationStatus as Status
from stretto.base.errors import InputError, StrettoError
from stretto.federation import names
from stretto.federation.fleet import ClusterFleet
from stretto.federation.objects import placements
from stretto.federation.objects.members.orphans import is_leftover, is_orphaned, setting
from stretto.federation.objects.members.versions import digest, version_of
from stretto.federation.objects.members.wanted import check, desired, merged
from stretto.federation.types import FederatedType
from stretto.reconcile import writes
from stretto.reconcile.cache import Fields, StoreCache, StoredObject
from stretto.reconcile.reconciler import RetryError

_TRUE: Final = "true"
_ADOPT: Final = "adopt"


class MemberWriter:
    """Writes to members; it remembers the versions that it wrote."""

    def __init__(self, fleet: ClusterFleet) -> None:
        """For the members of a fleet."""
        self._fleet = fleet
        self._written: dict[tuple[str, str, str], tuple[str, str]] = {}
        self._problems: dict[str, dict[str, str]] = {}

    def problems(self, federated: StoredObject) -> dict[str, str]:
        """What clusters answered to the last writes of an object that they refused, by cluster."""
        return self._problems.get(federated.record.uid, {})

    def forget(self, federated: StoredObject) -> None:
        """A federated object is gone."""
        self._problems.pop(federated.record.uid, None)

    # ---------------------------------------------------------------- placed

    def ensure(
        self,
        type_: FederatedType,
        federated: StoredObject,
        cluster: StoredObject,
        course: Fields | None = None,
    ) -> Status:
        """Create or update the object in a cluster of its placement.

        Args:
            type_: its kind.
            federated: the federated object.
            cluster: the cluster.
            course: the object that a rollout wants there now; ``None`` for that of source and
                overrides.
        """
        name = cluster.record.name
        self.problems(federated).pop(name, None)
        if cluster.is_terminating:
            return Status.CLUSTER_TERMINATING
        member = self._fleet.member(name)
        if member is None or not self._fleet.is_writable(cluster):
            return Status.CLUSTER_NOT_READY
        try:
            patches = placements.patches_for(federated.spec, name, type_)
            wanted = course or desired(federated.spec["template"], patches)
        except InputError as error:
            hint = "correct the override policy"
            return self._failed(federated, name, Status.APPLY_OVERRIDES_FAILED, f"{error}; {hint}")
        broken = _type_error(type_, wanted) if patches else ""
        present = _present(member, type_, federated)
        if present is None and broken:
            return self._failed(federated, name, Status.CREATION_FAILED, broken)
        if present is None:
            return self._create(member, type_, federated, wanted)
        if present.is_terminating:
            return Status.PENDING_CREATE
        if _is_managed(present) and _is_other(present, federated):
            return Status.ALREADY_EXISTS
        if not _is_managed(present):
            if not _may_adopt(federated, name) or present.labels.get(names.MANAGED):
                return Status.ALREADY_EXISTS
            metadata = wanted["metadata"]
            notes = {**metadata["annotations"], names.ADOPTED: _TRUE}
            wanted = {**wanted, "metadata": {**metadata, "annotations": notes}}
        if broken:
            return self._failed(federated, name, Status.UPDATE_FAILED, broken)
        return self._update(member, type_, federated, (wanted, present))

    def _create(
        self, member: StoreCache, type_: FederatedType, federated: StoredObject, wanted: Fields
    ) -> Status:
        """Create the object."""
        try:
            writes.create(member.store, type_.kind, wanted)
        except (RetryError, StrettoError) as error:
            if _exists(member, type_, wanted):
                return Status.ALREADY_EXISTS
            hint = f"correct the object, or serve {type_.kind.kind} in that cluster"
            text = f"{error}; {hint}"
            return self._failed(federated, member.name, Status.CREATION_FAILED, text)
        return Status.OK

    def _failed(self, federated: StoredObject, cluster: str, status: Status, text: str) -> Status:
        """A state, with what the cluster answered."""
        self._problems.setdefault(federated.record.uid, {})[cluster] = text
        return status

    def _update(
        self,
        member: StoreCache,
        type_: FederatedType,
        federated: StoredObject,
        pair: tuple[Fields, StoredObject],
    ) -> Status:
        """Replace the object unless it is as it was last written, from the same input."""
        wanted, present = pair
        place = member.name, present.record.uid, type_.name
        input_ = digest(wanted)
        if self._written.get(place) == (input_, version_of(present)):
            return Status.OK
        replicas = type_.paths.replicas_spec if _keeps_replicas(federated) else ""
        after = merged(wanted, present, replicas)
        if after == present.fields:
            self._written[place] = input_, version_of(present)
            return Status.OK
        try:
            record = writes.update(member.store, present, after)
        except (RetryError, StrettoError) as error:
            text = f"{error}; correct the object or its overrides"
            return self._failed(federated, member.name, Status.UPDATE_FAILED, text)
        if record is not None:
            self._written[place] = input_, version_of(StoredObject(record))
        return Status.OK

    # ---------------------------------------------------------------- not placed

    def remove(
        self, type_: FederatedType, federated: StoredObject, cluster: StoredObject
    ) -> Status | None:
        """Delete or release the object in a cluster; ``None`` once it is gone or being deleted."""
        member = self._fleet.member(cluster.record.name)
        if member is None:
            return None
        present = _present(member, type_, federated)
        if present is None or present.is_terminating or not _is_managed(present):
            return None
        if _is_other(present, federated):
            return None
        if not federated.is_terminating and is_leftover(federated, present, cluster):
            return None
        if not self._fleet.is_writable(cluster):
            return Status.CLUSTER_NOT_READY
        if federated.is_terminating and is_orphaned(federated, present):
            return self._release(member, present)
        try:
            writes.delete(member.store, present)
        except (RetryError, StrettoError):
            return Status.DELETION_FAILED
        return Status.WAITING_FOR_REMOVAL

    def _release(self, member: StoreCache, present: StoredObject) -> Status | None:
        """Remove the marks of the federation and leave the object where it is."""
        labels = {key: value for key, value in present.labels.items() if key != names.MANAGED}
        own = (names.PROPAGATED_LABELS, names.PROPAGATED_ANNOTATIONS, names.ADOPTED)
        notes = {
            key: value
            for key, value in present.annotations.items()
            if key not in own and key != names.SOURCE_GENERATION
        }
        metadata = {**present.metadata, "labels": labels, "annotations": notes}
        try:
            writes.update(member.store, present, {**present.fields, "metadata": metadata})
        except (RetryError, StrettoError):
            return Status.LABEL_REMOVAL_FAILED
        return None


def _place(type_: FederatedType, wanted: Fields) -> tuple[str, str]:
    metadata = wanted["metadata"]
    return (metadata.get("namespace", "") if type_.kind.namespaced else "", metadata["name"])


def _type_error(type_: FederatedType, wanted: Fields) -> str:
    """What is wrong with the type of a field that overrides have changed; empty if nothing is."""
    try:
        check(type_.kind, wanted)
    except InputError as error:
        return f"{error}; correct the override policy"
    return ""


def _exists(member: StoreCache, type_: FederatedType, wanted: Fields) -> bool:
    """Whether a cluster has an object of that name now."""
    try:
        return member.store.get_at_once(type_.kind, *_place(type_, wanted)) is not None
    except StrettoError:
        return False


def _present(
    member: StoreCache, type_: FederatedType, federated: StoredObject
) -> StoredObject | None:
    """The member's object of that name."""
    template = federated.spec["template"]
    return member.follow_synced(type_.kind).get(*_place(type_, template))


def _is_other(present: StoredObject, federated: StoredObject) -> bool:
    """Whether only one of both belongs to an imported Service of the same name."""
    mark = names.DERIVED_SERVICE
    return (mark in present.annotations) != (mark in federated.annotations)


def _is_managed(present: StoredObject) -> bool:
    return present.labels.get(names.MANAGED) == _TRUE


def _keeps_replicas(federated: StoredObject) -> bool:
    return federated.annotations.get(names.RETAIN_REPLICAS) == _TRUE


def _may_adopt(federated: StoredObject, cluster: str) -> bool:
    """Whether an object that exists in a cluster may be taken over."""
    notes = federated.annotations
    if setting(notes, names.NAMESPACE_CONFLICT, names.CONFLICT) != _ADOPT:
        return False
    text = setting(notes, names.NAMESPACE_ADOPT, names.ADOPT_FROM)
    try:
        chosen = json.loads(text or "{}")
        pattern = chosen.get("regexp") or ""
        by_pattern = bool(pattern) and re.fullmatch(pattern, cluster) is not None
        return cluster in (chosen.get("clusters") or ()) or by_pattern
    except (AttributeError, TypeError, ValueError, re.error):
        return False
