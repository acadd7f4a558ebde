"""Plan the next step of a rollout: clusters update, grow and shrink within the remaining budget.

The sums of the envelopes of all members stay within two limits: at most replicas + max surge pods,
and at least replicas − max unavailable available pods. The workload stays within the limits for
every behaviour of the members' controllers until the next plan. If pods fail or the replicas change
so that a limit is exceeded, no step increases the excess.

The order of the steps is: updates that have begun continue, clusters that have too many replicas
shrink, clusters with the new revision grow, and further clusters begin to update. A member that
loses its budget is paused in the middle of its update. A member that has not observed its last
specification is skipped, because its state is unknown.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from stretto.federation.planner.rollout.member import MemberSpec, RolloutMember
from stretto.federation.planner.rollout.policy import (
    RolloutDemand,
    RolloutPlan,
    RolloutStage,
    RolloutVerdict,
)


def plan(demand: RolloutDemand) -> RolloutPlan:
    """The next step of the rollout."""
    failed = demand.progress.failed or _fails(demand)
    back = failed and demand.policy.rollback
    revision = demand.previous if back else demand.revision
    stages = demand.policy.staged(tuple(each.name for each in demand.members))
    work = _Step(demand, revision)
    if demand.progress.paused:
        work.hold()
        return work.result(RolloutVerdict.PAUSED)
    members = {each.name: each for each in demand.members if each.reachable}
    ordered = [members[n] for stage in stages for n in stage.clusters if n in members]
    if failed and not back:
        work.hold()
    else:
        work.continue_updates(ordered)
    work.shrink(ordered)
    work.grow(ordered)
    if back:
        work.begin_updates(reversed(ordered))
        if all(each.done(revision) for each in members.values()):
            return work.result(RolloutVerdict.ROLLED_BACK)
        return work.result(RolloutVerdict.ROLLING_BACK)
    if failed:
        return work.result(RolloutVerdict.FAILED)
    begun, waits = _open_stages(demand, stages)
    work.begin_updates(members[name] for name in begun if name in members)
    if all(each.done(revision) for each in members.values()):
        return work.result(RolloutVerdict.DONE)
    only_waits = waits and not work.changes()
    return work.result(RolloutVerdict.WAITING if only_waits else RolloutVerdict.PROGRESSING)


def finished_stages(demand: RolloutDemand) -> int:
    """Number of completed stages, from the first one on."""
    members = {each.name: each for each in demand.members}
    stages = demand.policy.staged(tuple(members))
    for number, stage in enumerate(stages):
        if not all(_updated(members[name], demand.revision) for name in stage.clusters):
            return number
    return len(stages)


def _fails(demand: RolloutDemand) -> bool:
    """True if a cluster with the new revision is unhealthy, or there is no progress."""
    updated = (each for each in demand.members if each.spec.revision == demand.revision)
    if any(not each.healthy for each in updated if each.reachable):
        return True
    limit = demand.policy.limit_s
    done = all(each.done(demand.revision) for each in demand.members if each.reachable)
    return limit is not None and not done and demand.progress.since_progress_s > limit


def _open_stages(demand: RolloutDemand, stages: Sequence[RolloutStage]) -> tuple[list[str], bool]:
    """Clusters of the stages that have begun, and True if a gate blocks the next stage."""
    members = {each.name: each for each in demand.members}
    begun: list[str] = []
    for number, stage in enumerate(stages):
        begun += stage.clusters
        if not all(_updated(members[name], demand.revision) for name in stage.clusters):
            return begun, False
        following = stages[number + 1 :]
        new = [members[n] for later in following for n in later.clusters]
        if any(each.spec.revision == demand.revision and each.total for each in new):
            continue
        soaks = demand.progress.since_done_s < stage.soak_s
        if following and (soaks or (stage.approval and number not in demand.progress.approved)):
            return begun, True
    return begun, False


def _updated(member: RolloutMember, revision: str) -> bool:
    """True if all pods have the revision and are available.

    A lost cluster blocks no stage. Neither does a cluster that the workload leaves: its pods keep
    their revision until clusters of later stages have replaced them.
    """
    if not (member.reachable and member.desired):
        return True
    pods = member.of(revision)
    same = member.spec.revision == revision or not member.spec.replicas
    return same and member.settled() and pods.total == pods.available == member.total


class _Step:
    """The specifications of one plan, and the remaining budget."""

    def __init__(self, demand: RolloutDemand, revision: str) -> None:
        self._revision = revision
        self._members = {each.name: each for each in demand.members}
        self._specs = {each.name: each.spec for each in demand.members}
        policy = demand.policy
        bounds = [each.envelope(self._specs[each.name]) for each in demand.members]
        self._surge = demand.replicas + policy.max_surge - sum(each.most for each in bounds)
        least = sum(each.least for each in bounds)
        self._down = least - (demand.replicas - policy.max_unavailable)

    def result(self, verdict: RolloutVerdict) -> RolloutPlan:
        """The plan, with the specifications that differ from the written ones."""
        changed = {
            name: spec for name, spec in self._specs.items() if spec != self._members[name].spec
        }
        return RolloutPlan(verdict, changed, self._surge, self._down)

    def changes(self) -> bool:
        """True if a specification differs from the written one."""
        return any(spec != self._members[name].spec for name, spec in self._specs.items())

    def continue_updates(self, members: Iterable[RolloutMember]) -> None:
        """Continue the update of members; a member with an unwanted revision changes direction."""
        for each in members:
            if each.settled() and each.rolls(each.spec):
                self._update(each)

    def begin_updates(self, members: Iterable[RolloutMember]) -> None:
        """Let members with another revision begin their update."""
        for each in members:
            spec = self._specs[each.name]
            if each.settled() and spec.revision != self._revision:
                self._update(each)

    def _update(self, member: RolloutMember) -> None:
        """Assign the usable part of the budget to a member."""
        before = self._specs[member.name]
        revision = self._goal(member, before)
        if before.revision == revision and not member.rolls(before):
            return
        goal = replace(before, revision=revision, paused=False)
        if not member.total:
            self._take(member, replace(goal, max_surge=0, max_unavailable=1))
            return
        pods = member.of(revision)
        # Less surge than the used one would stop available pods.
        used = member.surge_in_use(goal.replicas)
        still = replace(goal, max_unavailable=0)
        surge = self._largest(
            member,
            (used, max(used, goal.replicas - pods.total)),
            lambda count: replace(still, max_surge=count),
        )
        surging = replace(still, max_surge=surge)
        down = self._largest(
            member,
            (0, goal.replicas - pods.available),
            lambda count: replace(surging, max_unavailable=count),
        )
        if self._down < 0:
            # Too few pods are available, so the unused part of the grant is withdrawn.
            down = max(0, min(down, before.max_unavailable + self._down))
        # A member that was paused before its update began is reset at no cost.
        untouched = before.paused and pods.total == member.total
        if surge or down or not goal.replicas or untouched:
            self._take(member, replace(surging, max_unavailable=down))
        elif before.revision == revision:
            self._take(member, member.held())

    def _goal(self, member: RolloutMember, before: MemberSpec) -> str:
        """The revision to run; pods that the division does not assign keep theirs until deletion.

        A cluster that the workload leaves has no template of a revision that it never had.
        """
        has_it = member.of(self._revision).total == member.total
        return self._revision if member.desired or has_it else before.revision

    def hold(self) -> None:
        """Pause every update that runs."""
        for each in self._members.values():
            if each.settled() and each.reachable:
                self._take(each, each.held())

    def _largest(
        self,
        member: RolloutMember,
        between: tuple[int, int],
        spec: Callable[[int], MemberSpec],
    ) -> int:
        """The largest value of a limit that the budget allows."""
        low, high = between
        if high > low and self._affords(member, spec(high)):
            return high
        while low < high:
            middle = (low + high + 1) // 2
            if self._affords(member, spec(middle)):
                low = middle
            else:
                high = middle - 1
        return low

    def shrink(self, members: Iterable[RolloutMember]) -> None:
        """Remove excess replicas from members as long as enough pods stay available."""
        for each in members:
            spec = self._specs[each.name]
            if each.settled() and not each.rolls(spec) and spec.replicas > each.desired:
                count = self._fewest(each, spec)
                self._take(each, replace(spec, replicas=count))

    def _fewest(self, member: RolloutMember, spec: MemberSpec) -> int:
        low, high = member.desired, spec.replicas
        while low < high:
            middle = (low + high) // 2
            if self._affords(member, replace(spec, replicas=middle)):
                high = middle
            else:
                low = middle + 1
        return low

    def grow(self, members: Iterable[RolloutMember]) -> None:
        """Add replicas to members that have the new revision, or no pods."""
        for each in members:
            spec = self._specs[each.name]
            fresh = spec.revision == self._revision or not each.total
            if each.settled() and fresh and not each.rolls(spec) and spec.replicas < each.desired:
                headroom = max(0, self._surge)
                count = min(each.desired, max(spec.replicas, each.total) + headroom)
                grown = replace(spec, replicas=count, revision=self._revision)
                if count > spec.replicas and self._affords(each, grown):
                    self._take(each, grown)

    def _cost(self, member: RolloutMember, spec: MemberSpec) -> tuple[int, int]:
        """Budget that ``spec`` uses in addition to the present choice: surge, unavailable pods."""
        before, after = member.envelope(self._specs[member.name]), member.envelope(spec)
        return after.most - before.most, before.least - after.least

    def _affords(self, member: RolloutMember, spec: MemberSpec) -> bool:
        surge, down = self._cost(member, spec)
        return (surge <= 0 or surge <= self._surge) and (down <= 0 or down <= self._down)

    def _take(self, member: RolloutMember, spec: MemberSpec) -> None:
        """Choose ``spec`` and deduct its cost, if the budget allows it."""
        if not self._affords(member, spec):
            return
        surge, down = self._cost(member, spec)
        self._surge -= surge
        self._down -= down
        self._specs[member.name] = spec
