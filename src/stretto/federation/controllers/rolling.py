"""One rolling update over all clusters: what each member's Deployment may do until the next look.

Replicas, template and limits of a member follow from the rollout planner, which keeps the sums over
all clusters within the limits of the source: also while a rescale, a migration or the loss of a
member coincide with an update. A cluster that a Deployment leaves shrinks before it is deleted.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from stretto.api.wire.kinds import DEPLOYMENT, REPLICA_SET
from stretto.base.clock import Clock
from stretto.federation import names
from stretto.federation.fleet import ClusterFleet, is_ready
from stretto.federation.objects import placements
from stretto.federation.objects.members.wanted import desired
from stretto.federation.objects.rollouts import members, rules
from stretto.federation.objects.rollouts.members import WrittenSpec
from stretto.federation.planner.rollout.member import MemberSpec, RolloutMember
from stretto.federation.planner.rollout.plan import finished_stages, plan
from stretto.federation.planner.rollout.policy import RolloutDemand, RolloutPlan, RolloutVerdict
from stretto.federation.settings import PlannerKind
from stretto.federation.types import FederatedType
from stretto.reconcile.cache import Fields, StoredObject

_ENDED: Final = (RolloutVerdict.DONE, RolloutVerdict.ROLLED_BACK)
"""Verdicts after which no further look is needed."""


@dataclass(frozen=True, slots=True)
class MemberDeployment:
    """A Deployment in one cluster."""

    #: The object that source and overrides want; ``None`` where the Deployment leaves.
    wanted: Fields | None
    #: The object that exists; ``None`` if there is none.
    present: StoredObject | None
    #: Its ReplicaSets.
    sets: tuple[StoredObject, ...]
    #: Its specification; ``None`` without an object.
    written: WrittenSpec | None
    #: What the planner reads.
    member: RolloutMember


@dataclass(frozen=True, slots=True)
class RolloutCourse:
    """The specifications of one object until the next look."""

    #: The objects to write, by cluster; they replace those of source and overrides.
    objects: Mapping[str, Fields] = field(default_factory=dict)
    #: Clusters that the object leaves and that have pods which are still needed.
    leaving: frozenset[str] = frozenset()
    #: Whether a further look is needed without a change.
    is_open: bool = False
    #: The annotation of the federated object after the look; ``None`` if it stays.
    note: str | None = None


NO_COURSE: Final = RolloutCourse()
"""Every member gets what source and overrides want."""


class FleetRollouts:
    """Plans the rollouts of Deployments."""

    def __init__(self, fleet: ClusterFleet, clock: Clock) -> None:
        """For the federated objects of a fleet; soak times are those of the wall clock."""
        self._fleet = fleet
        self._clock = clock

    def course(self, type_: FederatedType, federated: StoredObject) -> RolloutCourse:
        """The next step of an object.

        Raises:
            InputError: the policy of the rollout or an override is malformed.
        """
        template: Fields = federated.spec["template"]
        ours = self._fleet.settings.planners is PlannerKind.STRETTO
        if not ours or type_.kind != DEPLOYMENT or _recreates(template):
            return NO_COURSE
        revision = members.revision_of(template)
        found = self._members(type_, federated, revision)
        if not found:
            return NO_COURSE
        now = self._clock.now()
        rule = rules.rule_of(federated.annotations)
        notes = rules.notes_of(federated.annotations, revision, now)
        states = tuple(each.member for each in found.values())
        replicas = sum(each.desired for each in states)
        policy = rules.policy_of(rule, template, replicas)
        demand = RolloutDemand(replicas, revision, notes.previous, states, policy)
        usable = sum(each.of(revision).available for each in states)
        notes = rules.noted(notes, finished_stages(demand), usable, now)
        result = plan(replace(demand, progress=rules.progress_of(rule, notes, now)))
        failed = result.verdict in (RolloutVerdict.FAILED, RolloutVerdict.ROLLING_BACK)
        notes = rules.ended(notes, failed=notes.failed or failed, verdict=result.verdict.value)
        return _course(found, result, revision, _note(federated, rules.written(notes)))

    # ---------------------------------------------------------------- inside

    def _members(
        self, type_: FederatedType, federated: StoredObject, revision: str
    ) -> dict[str, MemberDeployment]:
        """The Deployment in every cluster where it is or shall be."""
        placed = placements.placement(federated.spec)
        found = {}
        for cluster in self._fleet.clusters:
            name = cluster.record.name
            wanted = None
            if name in placed:
                wanted = desired(federated, placements.patches_for(federated.spec, name, type_))
            item = self._member(name, federated, revision, wanted)
            if item is not None:
                reachable = is_ready(cluster) and self._fleet.member(name) is not None
                state = replace(item.member, reachable=reachable)
                found[name] = replace(item, member=state)
        return found

    def _member(
        self, name: str, federated: StoredObject, revision: str, wanted: Fields | None
    ) -> MemberDeployment | None:
        """The Deployment in one cluster; ``None`` where it neither is nor shall be."""
        cache = self._fleet.member(name)
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
        if wanted is not None and federated.annotations.get(names.RETAIN_REPLICAS) == "true":
            count = int(present.spec.get("replicas", 1))
            written = replace_replicas(written, count)
        state = replace(members.read_member(name, present, sets, written), desired=count)
        return MemberDeployment(wanted, present, sets, written, state)


def replace_replicas(written: WrittenSpec, count: int) -> WrittenSpec:
    """A specification whose replicas the member has decided itself."""
    before = written.before
    return WrittenSpec(
        replace(written.spec, replicas=count),
        replace(before, replicas=count) if before is not None else None,
    )


def _course(
    found: Mapping[str, MemberDeployment], result: RolloutPlan, revision: str, note: str | None
) -> RolloutCourse:
    """The objects of a plan."""
    objects, leaving = {}, set()
    for name, each in found.items():
        spec = result.specs.get(name, each.member.spec)
        if each.wanted is None and (each.member.total or spec.replicas) and each.member.reachable:
            leaving.add(name)
        made = _object(each, spec, revision)
        if made is not None:
            objects[name] = made
    return RolloutCourse(objects, frozenset(leaving), result.verdict not in _ENDED, note)


def _object(each: MemberDeployment, spec: MemberSpec, revision: str) -> Fields | None:
    """The object of one member; ``None`` if nothing says how it looks."""
    if each.present is None or each.written is None:
        return members.with_spec(each.wanted, spec, None, None) if each.wanted else None
    before = each.written.before if spec == each.member.spec else each.member.spec
    if each.wanted is not None and spec.revision == revision:
        return members.with_spec(each.wanted, spec, before, None)
    pods = members.template_of(spec.revision, each.present, each.sets, each.written)
    base = each.wanted or _as_written(each.present)
    return members.with_spec(base, spec, before, pods)


def _as_written(present: StoredObject) -> Fields:
    """A member's object as a base for the next one."""
    return {key: value for key, value in present.fields.items() if key != "status"}


def _note(federated: StoredObject, text: str) -> str | None:
    """The annotation if it changes."""
    return text if federated.annotations.get(names.ROLLOUT_STATUS) != text else None


def _recreates(template: Fields) -> bool:
    strategy = (template.get("spec") or {}).get("strategy") or {}
    return bool(strategy.get("type") == "Recreate")


def _is_owned(replica_set: StoredObject, owner: StoredObject) -> bool:
    references = replica_set.metadata.get("ownerReferences") or ()
    return any(each.get("uid") == owner.record.uid for each in references)
