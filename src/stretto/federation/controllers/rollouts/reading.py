"""The Deployments of members that belong to one federated object."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from stretto.api.wire.kinds import DEPLOYMENT, REPLICA_SET
from stretto.base.errors import InputError
from stretto.federation import names
from stretto.federation.controllers.keys import DeliveryPlace, FederatedKey
from stretto.federation.controllers.propagation.attempts import WriteAttempts
from stretto.federation.fleet import ClusterFleet, is_ready
from stretto.federation.objects import placements
from stretto.federation.objects.members.wanted import desired, is_malformed, keeps_replicas
from stretto.federation.objects.rollouts import members
from stretto.federation.objects.rollouts.members import WrittenSpec
from stretto.federation.planner.rollout.member import MemberSpec, RolloutMember
from stretto.federation.types import FederatedType
from stretto.reconcile.cache import Fields, StoredObject


@dataclass(frozen=True, slots=True)
class MemberDeployment:
    """A Deployment in one cluster."""

    #: The object of source and overrides; ``None`` if the Deployment leaves the cluster.
    wanted: Fields | None
    #: The object that exists; ``None`` if there is none.
    present: StoredObject | None
    #: Its ReplicaSets.
    sets: tuple[StoredObject, ...]
    #: Its specification; ``None`` without an object.
    written: WrittenSpec | None
    #: Input of the planner.
    member: RolloutMember
    #: A write that may have taken effect and is not observed yet; ``None`` if there are none.
    sent: Fields | None = None


class MemberDeployments:
    """Reads Deployments of members."""

    def __init__(self, fleet: ClusterFleet, attempts: WriteAttempts | None = None) -> None:
        """Initialize for the members of a fleet.

        Args:
            fleet: the fleet.
            attempts: writes to members that are not observed yet; ``None`` for none.
        """
        #: The planners that plan rollouts.
        self.planners = fleet.settings.planners
        self._fleet = fleet
        self._attempts = attempts

    def is_unread(self, cluster: str) -> bool:
        """True if the objects of a cluster are unknown."""
        is_silent = self._fleet.is_silent(cluster)
        return is_silent and self._fleet.listed(cluster, DEPLOYMENT) is None

    def of(
        self,
        type_: FederatedType,
        federated: StoredObject,
        revision: str,
        noted: Mapping[str, int],
    ) -> dict[str, MemberDeployment]:
        """The Deployment in every cluster where it exists or is placed.

        Empty for kinds and strategies that roll independently in each cluster.

        Args:
            type_: the kind.
            federated: the federated object.
            revision: the revision of its source.
            noted: maximum pods by cluster at the last step, if more than the desired replicas.
        """
        if type_.kind != DEPLOYMENT or _recreates(federated.spec["template"]):
            return {}
        placed = placements.placement(federated.spec)
        found = {}
        for cluster in self._fleet.clusters:
            name = cluster.record.name
            wanted = None
            if name in placed:
                wanted = _wanted(type_, federated, name)
                if wanted is None:
                    continue  # overrides make the object invalid; nothing is written
            item = self._member(name, federated, revision, wanted)
            if item is not None and self.is_unread(name):
                item = _unread(item, noted.get(name, 0))
            if item is not None:
                item = self._attempted(item, FederatedKey(type_.name, *federated.name))
                connected = self._fleet.listed(name, DEPLOYMENT) is not None
                usable = is_ready(cluster) and connected and not cluster.is_terminating
                state = replace(item.member, reachable=usable)
                found[name] = replace(item, member=state)
        return found

    def _attempted(self, item: MemberDeployment, key: FederatedKey) -> MemberDeployment:
        """The Deployment with its last write if the reply is lost; either may be in effect."""
        place = DeliveryPlace(item.member.name, key)
        sent = self._attempts.unseen(place, item.present) if self._attempts is not None else None
        if sent is None:
            return item
        spec = members.sent_spec(sent)
        written = WrittenSpec(spec, item.member.spec)
        return replace(item, written=written, member=replace(item.member, spec=spec), sent=sent)

    def _member(
        self, name: str, federated: StoredObject, revision: str, wanted: Fields | None
    ) -> MemberDeployment | None:
        """The Deployment in one cluster; ``None`` if it neither exists nor is placed there."""
        cache = self._fleet.member(name) if not self.is_unread(name) else None
        place = federated.record.namespace, federated.spec["template"]["metadata"]["name"]
        present = cache.follow_synced(DEPLOYMENT).get(*place) if cache is not None else None
        if present is not None and present.labels.get(names.MANAGED) != "true":
            return None
        count = int(wanted["spec"].get("replicas", 1)) if wanted is not None else 0
        if present is None or cache is None:
            if wanted is None:
                return None
            spec = MemberSpec(0, revision)
            return MemberDeployment(wanted, None, (), None, RolloutMember(name, count, spec, spec))
        sets = tuple(
            each
            for each in cache.follow_synced(REPLICA_SET).in_namespace(present.record.namespace)
            if _is_owned(each, present)
        )
        is_equal = wanted is not None and members.is_contained(
            wanted["spec"].get("template"), present.spec.get("template")
        )
        written = members.written_spec(present, revision, is_equal)
        if wanted is not None and keeps_replicas(federated):
            count = int(present.spec.get("replicas", 1))
            written = _with_replicas(written, count)
        state = replace(members.read_member(name, present, sets, written), desired=count)
        return MemberDeployment(wanted, present, sets, written, state)


def _unread(item: MemberDeployment, noted: int) -> MemberDeployment:
    """A Deployment in an unreadable cluster; it may run the larger of desired and last replicas."""
    state = item.member
    spec = replace(state.spec, replicas=max(state.desired, noted))
    return replace(item, member=replace(state, spec=spec, acting=spec))


def _with_replicas(written: WrittenSpec, count: int) -> WrittenSpec:
    """A specification with the number of replicas that the member has set itself."""
    before = written.before
    return WrittenSpec(
        replace(written.spec, replicas=count),
        replace(before, replicas=count) if before is not None else None,
    )


def _is_owned(replica_set: StoredObject, owner: StoredObject) -> bool:
    references = replica_set.metadata.get("ownerReferences") or ()
    return any(each.get("uid") == owner.record.uid for each in references)


def _wanted(type_: FederatedType, federated: StoredObject, cluster: str) -> Fields | None:
    """The object for a cluster; ``None`` if overrides make it invalid."""
    patches = placements.patches_for(federated.spec, cluster, type_)
    try:
        wanted = desired(federated.spec["template"], patches)
    except InputError:
        return None
    return None if patches and is_malformed(type_.kind, wanted) else wanted


def _recreates(template: Fields) -> bool:
    strategy = (template.get("spec") or {}).get("strategy") or {}
    return bool(strategy.get("type") == "Recreate")
