"""Writer of one federated object in one member: creates, adopts, updates, releases, deletes."""

from collections.abc import Iterable
from typing import NamedTuple

from stretto.api.types.federation.objects import PropagationStatus as Status
from stretto.base.errors import InputError
from stretto.federation.controllers.keys import DeliveryPlace, FederatedItem, FederatedKey
from stretto.federation.controllers.propagation import requests
from stretto.federation.controllers.propagation.deliveries import (
    Delivery,
    DeliveryResult,
    MemberDeliveries,
)
from stretto.federation.controllers.propagation.versions import VersionLedger
from stretto.federation.fleet import ClusterFleet, is_joined
from stretto.federation.objects import placements
from stretto.federation.objects.members import adoption
from stretto.federation.objects.members.versions import digest, version_of
from stretto.federation.objects.members.wanted import (
    applied,
    check,
    desired,
    has_metadata,
    kept_replicas,
    merged,
)
from stretto.reconcile.cache import Fields, ObjectCache, StoreCache, StoredObject


class _Written(NamedTuple):
    """The last write of one object in one cluster."""

    #: Uid of the member's object.
    uid: str
    #: Digest of its input.
    input: str
    #: Version that resulted.
    version: str


class _PlannedUpdate(NamedTuple):
    """An existing object and its intended update."""

    #: The desired object.
    wanted: Fields
    #: The observed object.
    present: StoredObject
    #: True if the update is the next step of a rollout, which depends on the observed object.
    is_course: bool


class MemberWriter:
    """Writes objects to members and records the resulting versions."""

    def __init__(self, fleet: ClusterFleet, deliveries: MemberDeliveries) -> None:
        """Initialize for the members of a fleet; writes are sent by ``deliveries``."""
        self._fleet = fleet
        self._deliveries = deliveries
        self._ledger = VersionLedger(fleet)
        self._written: dict[DeliveryPlace, _Written] = {}
        self._problems: dict[str, dict[str, str]] = {}

    def problems(self, federated: StoredObject) -> dict[str, str]:
        """Errors of the last writes of an object, by cluster."""
        return self._problems.get(federated.record.uid, {})

    def unanswered_since(self, item: FederatedItem, clusters: list[str]) -> float | None:
        """Monotonic time of the oldest write of an object in flight; ``None`` if there is none."""
        return self._deliveries.since(item.key, clusters)

    def save_versions(self, item: FederatedItem, clusters: Iterable[str]) -> None:
        """Store the object versions of clusters for the next process.

        Raises:
            RetryError: the host refused the write.
        """
        found = {}
        for name in clusters:
            cache = self._fleet.listed(name, item.type.kind)
            present = _present(cache, item) if cache is not None else None
            if present is not None:
                found[name] = version_of(present)
        self._ledger.save(item, found)

    def forget(self, item: FederatedItem) -> None:
        """Drop all records of a deleted federated object."""
        self._ledger.forget(item)
        self._problems.pop(item.federated.record.uid, None)

    def discard(self, key: FederatedKey) -> None:
        """Drop the writes of a federated object that does not exist."""
        for cluster in self._fleet.clusters:
            place = DeliveryPlace(cluster.record.name, key)
            self._written.pop(place, None)
            self._deliveries.discard(place)

    # ---------------------------------------------------------------- placed

    def ensure(
        self, item: FederatedItem, cluster: StoredObject, course: Fields | None, now: float
    ) -> Status:
        """Create or update the object in a cluster of its placement.

        Args:
            item: the federated object.
            cluster: the cluster.
            course: the object of the rollout's present step; ``None`` for the object of source and
                overrides.
            now: monotonic time in seconds.
        """
        type_, federated = item
        name = cluster.record.name
        place = DeliveryPlace(name, item.key)
        if (meanwhile := self._deliveries.meanwhile(place)) is not None:
            return meanwhile
        self.problems(federated).pop(name, None)
        if cluster.is_terminating:
            return Status.CLUSTER_TERMINATING
        member, cache = self._fleet.member(name), self._fleet.listed(name, type_.kind)
        if member is None or cache is None or not self._fleet.is_writable(cluster):
            return Status.CLUSTER_NOT_READY
        if (answer := self._deliveries.answer(place, member)) is not None:
            state = self._settled(federated, member, answer)
            if answer.problem or state is Status.ALREADY_EXISTS:
                return state or Status.OK
        try:
            patches = placements.patches_for(federated.spec, name, type_)
            wanted = course or desired(federated.spec["template"], patches)
        except InputError as error:
            hint = "correct the override policy"
            return self._failed(federated, name, Status.APPLY_OVERRIDES_FAILED, f"{error}; {hint}")
        broken = _type_error(item, wanted) if patches else ""
        present = _present(cache, item)
        if present is None and broken:
            return self._failed(federated, name, Status.CREATION_FAILED, broken)
        if present is None:
            return self._send(item, member, requests.creation(type_, wanted), now) or Status.OK
        refusal = adoption.hindrance(present, federated, name)
        if refusal is not None:
            text = adoption.reserved(present)
            return self._failed(federated, name, refusal, text) if text else refusal
        if broken:
            return self._failed(federated, name, Status.UPDATE_FAILED, broken)
        planned = _PlannedUpdate(adoption.adopting(wanted, present), present, course is not None)
        return self._update(item, member, planned, now)

    def _update(
        self, item: FederatedItem, member: StoreCache, planned: _PlannedUpdate, now: float
    ) -> Status:
        """Apply the object unless its version and input are those of the last write.

        A store without server-side apply receives the whole object, including the fields that the
        member owns.
        """
        wanted, present, is_course = planned
        place = DeliveryPlace(member.name, item.key)
        input_ = digest(wanted)
        current = _Written(present.record.uid, input_, version_of(present))
        before = self._written.get(place)
        is_unknown = before is None or before.uid != current.uid
        if is_unknown and self._ledger.is_current(item, member.name, present):
            self._written[place] = current
        is_known = self._written.get(place) == current
        if is_known and has_metadata(wanted, present):
            return Status.OK
        replicas = kept_replicas(item.federated, item.type)
        if member.store.capabilities.applies:
            fields = applied(wanted, present, replicas)
            guarded = is_course or bool(replicas)
            delivery = requests.application(present, fields, input_, guarded=guarded)
            return self._send(item, member, delivery, now) or Status.OK
        after = merged(wanted, present, replicas)
        if after == present.fields:
            self._written[place] = current
            return Status.OK
        delivery = requests.change(present, after, Status.UPDATE_FAILED, input_)
        return self._send(item, member, delivery, now) or Status.OK

    # ---------------------------------------------------------------- not placed

    def remove(self, item: FederatedItem, cluster: StoredObject, now: float) -> Status | None:
        """Delete or release the object in a cluster; ``None`` once it is gone or being deleted.

        Args:
            item: the federated object.
            cluster: the cluster.
            now: monotonic time in seconds.
        """
        type_, federated = item
        name = cluster.record.name
        place = DeliveryPlace(name, item.key)
        if (meanwhile := self._deliveries.meanwhile(place)) is not None:
            return meanwhile
        member, cache = self._fleet.member(name), self._fleet.listed(name, type_.kind)
        if member is None or cache is None:
            may_hold = federated.is_terminating and is_joined(cluster) and _was_in(federated, name)
            return Status.CLUSTER_NOT_READY if may_hold else None
        if (answer := self._deliveries.answer(place, member)) is not None:
            state = self._settled(federated, member, answer)
            if answer.problem or answer.delivery.deletes:
                return state
        self._written.pop(place, None)
        present = _present(cache, item)
        if present is None or not adoption.is_removable(present, federated, cluster):
            return None
        if not self._fleet.is_writable(cluster):
            return Status.CLUSTER_NOT_READY
        return self._send(item, member, requests.removal(present, federated), now)

    # ---------------------------------------------------------------- answers

    def _send(
        self, item: FederatedItem, member: StoreCache, delivery: Delivery, now: float
    ) -> Status | None:
        """Send a write; return the state while it is in flight, or the state after the reply."""
        place = DeliveryPlace(member.name, item.key)
        answer = self._deliveries.send(place, member, delivery, now)
        return self._settled(item.federated, member, answer)

    def _settled(
        self, federated: StoredObject, member: StoreCache, answer: DeliveryResult
    ) -> Status | None:
        """Record the reply of a member; return the state of the object."""
        if answer.problem:
            self._problems.setdefault(federated.record.uid, {})[member.name] = answer.problem
        if answer.written is not None and answer.delivery.input:
            type_ = self._fleet.type_of(federated)
            assert type_ is not None
            written = answer.written
            place = DeliveryPlace(member.name, FederatedItem(type_, federated).key)
            uid, version = written.record.uid, version_of(written)
            self._written[place] = _Written(uid, answer.delivery.input, version)
        return answer.status

    def _failed(self, federated: StoredObject, cluster: str, status: Status, text: str) -> Status:
        """Record the reason of an error; return the state."""
        self._problems.setdefault(federated.record.uid, {})[cluster] = text
        return status


def _was_in(federated: StoredObject, cluster: str) -> bool:
    """True if a cluster contains, or may contain, an object."""
    shown = federated.status.get("clusters") or ()
    is_shown = any(each.get("cluster") == cluster for each in shown)
    return is_shown or cluster in placements.placement(federated.spec)


def _type_error(item: FederatedItem, wanted: Fields) -> str:
    """Error in the type of an overridden field; empty if there is none."""
    try:
        check(item.type.kind, wanted)
    except InputError as error:
        return f"{error}; correct the override policy"
    return ""


def _present(cache: ObjectCache, item: FederatedItem) -> StoredObject | None:
    """The member's object of the same name."""
    metadata = item.federated.spec["template"]["metadata"]
    namespace = metadata.get("namespace", "") if item.type.kind.namespaced else ""
    return cache.get(namespace, metadata["name"])
