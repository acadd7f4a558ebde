"""Progress of a rollout in every cluster, and the reasons for waiting."""

from stretto.federation.answers.records import RolloutFacts, RolloutRow
from stretto.federation.answers.subjects import title
from stretto.federation.controllers.keys import FederatedItem
from stretto.federation.controllers.rollouts.course import FleetRollouts, RolloutLook
from stretto.federation.planner.rollout.member import MemberSpec, RolloutMember
from stretto.federation.planner.rollout.policy import RolloutVerdict


def rollout_facts(rollouts: FleetRollouts, item: FederatedItem) -> RolloutFacts | None:
    """The rollout of an object; ``None`` if it rolls independently in each cluster.

    Raises:
        InputError: the policy of the rollout is malformed.
    """
    look = rollouts.look(item.type, item.federated)
    if look is None:
        return None
    rows = tuple(_row(each, look) for each in look.demand.members)
    return RolloutFacts(
        title(item),
        look.plan.verdict.value,
        look.demand.revision,
        look.plan.surge_left,
        look.plan.unavailable_left,
        rows,
    )


def _row(member: RolloutMember, look: RolloutLook) -> RolloutRow:
    new = member.of(look.demand.revision)
    old = member.total - new.total
    spec = look.plan.specs.get(member.name, member.spec)
    waits = _waits(member, spec, look)
    return RolloutRow(member.name, member.desired, new.total, new.available, old, waits)


def _waits(member: RolloutMember, spec: MemberSpec, look: RolloutLook) -> str:
    """The reason why a cluster waits, or ``done``."""
    revision = look.demand.revision
    if not member.reachable:
        return "the cluster does not answer"
    if member.done(revision):
        return "done"
    if not member.settled():
        return "its controller to observe the last change"
    if look.plan.verdict is RolloutVerdict.PAUSED:
        return "the operator: the rollout is paused"
    if look.plan.verdict is RolloutVerdict.WAITING and spec.revision != revision:
        return "the soak time or the approval of an earlier stage"
    if look.plan.verdict is RolloutVerdict.FAILED:
        return "a decision: the rollout failed"
    new = member.of(revision)
    if spec.revision != revision or spec.paused:
        return "the budget, which other clusters use"
    if new.available < new.total:
        return f"{new.total - new.available} new pods to become available"
    if spec.replicas != member.desired:
        return "the budget, to reach its replicas"
    return "its controller to replace pods"
