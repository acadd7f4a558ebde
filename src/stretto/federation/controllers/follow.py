"""Places followers of a workload in the clusters of the workload, and reports absent ones."""

from collections.abc import Hashable, Iterable

from stretto.api.wire.kinds import POD_GROUP
from stretto.federation import names
from stretto.federation.controllers.keys import (
    FEDERATED,
    FederatedItem,
    FederatedKey,
    find,
    key_of,
    key_of_member,
)
from stretto.federation.controllers.placing.followers import FollowerCheck
from stretto.federation.controllers.reports import ObjectReporter
from stretto.federation.fleet import HOST, ClusterFleet
from stretto.federation.objects import pending, placements
from stretto.federation.objects.following import (
    ObjectName,
    followers,
    gang_shares,
    leader_of,
)
from stretto.federation.objects.naming import federated_name
from stretto.reconcile import writes
from stretto.reconcile.cache import Change, Fields, StoredObject


class FollowController:
    """Copies placements of leaders to their followers."""

    name = "follow"

    def __init__(self, fleet: ClusterFleet, reporter: ObjectReporter) -> None:
        """Initialize for the federated objects of a fleet; absent followers are reported."""
        self._fleet = fleet
        self._reporter = reporter
        self._leaders: dict[FederatedKey, set[FederatedKey]] = {}
        self._check = FollowerCheck(fleet, self._leaders)

    def affected(self, change: Change) -> Iterable[Hashable]:
        """Keys of the object, of its present and former followers, and of its leaders.

        A change of a member's object concerns the workloads that need an object of its name.
        """
        if change.source != HOST:
            if change.old is None or change.new is None:
                for follower in key_of_member(self._fleet, change):
                    yield from sorted(self._leaders.get(follower, ()))
            return
        if change.kind.kind not in FEDERATED:
            return
        for leader in key_of(self._fleet, change.object):
            yield leader
            if change.old is None or change.new is None:
                yield from sorted(self._leaders.get(leader, ()))
            old, new = self._followers(change.old), self._followers(change.new)
            for each in old - new:
                self._leaders.get(each, set()).discard(leader)
            for each in new:
                self._leaders.setdefault(each, set()).add(leader)
            yield from sorted(old | new)

    def reconcile(self, key: Hashable, now: float) -> float | None:
        """Place one follower, and report the objects that do not follow it."""
        item = find(self._fleet, key)
        if item is None or item.federated.is_terminating:
            return None
        self._place(item)
        self._reporter.write(item.federated, [self._check.condition(item)])
        return None

    def _place(self, item: FederatedItem) -> None:
        """Place an object in the clusters of its leaders."""
        federated, spec = item.federated, item.federated.spec
        leaders = self._found_leaders(item.key)
        if federated.annotations.get(names.NO_FOLLOWING) == "true":
            leaders = []
        if not leaders and not spec.get("follows"):
            return
        clusters = {name for each in leaders for name in placements.placement(each.spec)}
        wanted = placements.with_placement(spec, names.FOLLOWERS, clusters)
        shares = {} if item.type.kind != POD_GROUP else gang_shares(federated, leaders)
        wanted = placements.with_overrides(wanted, names.FOLLOWERS, shares)
        wanted = {key: value for key, value in wanted.items() if key != "follows"}
        if leaders:
            wanted["follows"] = [each._asdict() for each in sorted(map(leader_of, leaders))]
        if wanted != spec:
            notes = dict(federated.annotations)
            notes[names.PENDING] = pending.after(
                names.SCHEDULER, notes, item.type.pipeline, changed=True
            )
            metadata = {**federated.metadata, "annotations": notes}
            fields: Fields = {**federated.fields, "metadata": metadata, "spec": wanted}
            writes.update(self._fleet.host.store, federated, fields)

    def _found_leaders(self, key: FederatedKey) -> list[StoredObject]:
        """The existing leaders of a follower."""
        keys = sorted(self._leaders.get(key, set()) - {key})
        items = (find(self._fleet, each) for each in keys)
        found = [item.federated for item in items if item is not None]
        return [each for each in found if not each.is_terminating]

    def _followers(self, leader: StoredObject | None) -> set[FederatedKey]:
        """Keys of the objects that follow a federated object."""
        if leader is None:
            return set()
        keys = (self._key(leader.record.namespace, each) for each in followers(leader))
        return {key for key in keys if key is not None}

    def _key(self, namespace: str, follower: ObjectName) -> FederatedKey | None:
        """Key of the federated object of a follower; ``None`` if its kind is not configured."""
        type_ = self._fleet.types.of(follower.group, follower.kind)
        if type_ is None:
            return None
        return FederatedKey(type_.name, namespace, federated_name(follower.name, type_.name))
