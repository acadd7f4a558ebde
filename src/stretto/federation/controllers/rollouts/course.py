"""One rolling update over all clusters: the specification of each member until the next step.

The rollout planner computes replicas, template and limits of each member. It keeps the sums over
all clusters within the limits of the source, also while a rescale, a migration or the loss of a
member coincides with an update. A cluster that a Deployment leaves is scaled down before the
Deployment is deleted.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from stretto.base.clock import Clock
from stretto.base.errors import InputError
from stretto.federation.controllers.rollouts.reading import MemberDeployment, MemberDeployments
from stretto.federation.objects.decision.decided import waiting_of
from stretto.federation.objects.rollouts import members, rules
from stretto.federation.objects.rollouts.rules import RolloutNotes
from stretto.federation.planner.rollout.member import MemberSpec
from stretto.federation.planner.rollout.plan import finished_stages, plan
from stretto.federation.planner.rollout.policy import RolloutDemand, RolloutPlan, RolloutVerdict
from stretto.federation.settings import PlannerKind
from stretto.federation.types import FederatedType
from stretto.reconcile.cache import Fields, StoredObject

_ENDED: Final = (RolloutVerdict.DONE, RolloutVerdict.ROLLED_BACK)
"""Verdicts after which the rollout needs no further step."""


@dataclass(frozen=True, slots=True)
class RolloutCourse:
    """Specifications of one object until the next step."""

    #: The objects to write, by cluster; they replace the objects of source and overrides.
    objects: Mapping[str, Fields] = field(default_factory=dict)
    #: Clusters that the object leaves while their pods are still needed.
    leaving: frozenset[str] = frozenset()
    #: True if a further step is needed even without a change.
    is_open: bool = False
    #: The new annotation of the federated object; ``None`` if it is unchanged.
    note: str | None = None
    #: Reason why nothing may be written; empty if writes are allowed.
    problem: str = ""


@dataclass(frozen=True, slots=True)
class RolloutLook:
    """State of a rollout and its next step."""

    #: The Deployment in every cluster.
    members: Mapping[str, MemberDeployment]
    #: Input of the planner.
    demand: RolloutDemand
    #: Result of the planner.
    plan: RolloutPlan
    #: Progress of the rollout.
    notes: RolloutNotes


NO_COURSE: Final = RolloutCourse()
"""Every member receives the object of source and overrides."""


class FleetRollouts:
    """Plans the rollouts of Deployments."""

    def __init__(self, deployments: MemberDeployments, clock: Clock) -> None:
        """Initialize for the Deployments of members; soak times are those of the wall clock."""
        self._deployments = deployments
        self._clock = clock

    def look(self, type_: FederatedType, federated: StoredObject) -> RolloutLook | None:
        """The state and the next step; ``None`` if each cluster rolls independently.

        Raises:
            InputError: the policy of the rollout or an override is malformed.
        """
        template: Fields = federated.spec["template"]
        if self._deployments.planners is not PlannerKind.STRETTO:
            return None
        revision = members.revision_of(template)
        now = self._clock.now()
        notes = rules.notes_of(federated.annotations, revision, now)
        found = self._deployments.of(type_, federated, revision, notes.most)
        if not found:
            return None
        rule = rules.rule_of(federated.annotations)
        states = tuple(each.member for each in found.values())
        # Replicas of lost clusters are desired already: they run elsewhere until the clusters
        # return.
        closed = waiting_of(federated.annotations).closed
        replicas = sum(each.desired for each in states) + closed
        policy = rules.policy_of(rule, template, replicas)
        demand = RolloutDemand(replicas, revision, notes.previous, states, policy)
        usable = sum(each.of(revision).available for each in states)
        notes = rules.noted(notes, finished_stages(demand), usable, now)
        demand = replace(demand, progress=rules.progress_of(rule, notes, now))
        result = plan(demand)
        failed = result.verdict in (RolloutVerdict.FAILED, RolloutVerdict.ROLLING_BACK)
        most = self._most(found, result, notes.most)
        notes = rules.ended(notes, notes.failed or failed, result.verdict.value, most)
        return RolloutLook(found, demand, result, notes)

    def _most(
        self, found: Mapping[str, MemberDeployment], result: RolloutPlan, noted: Mapping[str, int]
    ) -> dict[str, int]:
        """Maximum pods by cluster until the next plan, without clusters that cannot run any."""
        most = {name: count for name, count in noted.items() if self._deployments.is_unread(name)}
        for name, each in found.items():
            spec = result.specs.get(name, each.member.spec)
            count = each.member.bounds(spec).most
            if name not in most and count:
                most[name] = count
        return most

    def course(self, type_: FederatedType, federated: StoredObject) -> RolloutCourse:
        """The next step of an object; a problem if its policy or an override is malformed."""
        try:
            look = self.look(type_, federated)
        except InputError as error:
            return RolloutCourse(problem=str(error))
        if look is None:
            return NO_COURSE
        note = rules.changed_note(federated.annotations, look.notes)
        return _course(look.members, look.plan, look.demand.revision, note)


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
    """The object of one member; ``None`` if the member has no object and needs none."""
    if each.sent is not None:
        return _without_status(each.sent)
    if each.present is None or each.written is None:
        return members.with_spec(each.wanted, spec, None, None) if each.wanted else None
    before = each.written.before if spec == each.member.spec else each.member.spec
    if each.wanted is not None and spec.revision == revision:
        return members.with_spec(each.wanted, spec, before, None)
    pods = members.template_of(spec.revision, each.present, each.sets, each.written)
    base = each.wanted or _without_status(each.present.fields)
    return members.with_spec(base, spec, before, pods)


def _without_status(fields: Fields) -> Fields:
    """An object as a base for the next one."""
    return {key: value for key, value in fields.items() if key != "status"}
