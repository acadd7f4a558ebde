"""One round of a rolling update across clusters, as planned by KubeAdmiral's first release.

All clusters share one budget of surge and unavailable pods. The pods that a cluster already
occupies are deducted first. Clusters then spend the rest in the order of their names: clusters that
grow update first, clusters that shrink give up pods, the others update, clusters grow, and clusters
that shrink update last. A cluster without a plan waits and keeps its old template.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class RollingTarget:
    """A workload in one cluster."""

    #: The cluster.
    name: str
    #: Replicas that the replica planner assigns.
    desired: int
    #: Replicas of the specification in the member.
    replicas: int
    #: Pods that exist.
    actual: int
    #: Pods that are available.
    available: int
    #: True if the member has the new template.
    updated: bool
    #: Pods of the new template.
    updated_replicas: int
    #: Available pods of the new template.
    updated_available: int
    #: Pods of the newest replica set of the member.
    new_replicas: int
    #: Available pods of that replica set.
    new_available: int
    #: Surge that the specification of the member allows.
    max_surge: int
    #: Unavailable pods that the specification of the member allows.
    max_unavailable: int

    def updates(self) -> bool:
        """True if the member is in an update."""
        return self.new_replicas < self.replicas or (self.updated and self.to_update() > 0)

    def to_update(self) -> int:
        """Pods that lack the new template."""
        return max(0, self.replicas - self.updated_replicas)

    def to_make_available(self) -> int:
        """Number of pods of the new template that are not available, plus pods that lack it."""
        return max(0, self.replicas - self.updated_available)

    def occupied_surge(self) -> int:
        """Surge that the member uses or may use without a new plan."""
        extra = max(0, self.actual - self.replicas)
        if not self.updates():
            return extra
        missing = max(0, self.replicas - self.new_replicas)
        return max(extra, min(self.max_surge, extra + missing))

    def occupied_unavailable(self) -> int:
        """Unavailable pods that the member has or may have without a new plan."""
        missing = max(0, self.replicas - self.available)
        if not self.updates():
            return missing
        return max(missing, min(self.max_unavailable, max(0, self.replicas - self.new_available)))

    def surges(self) -> bool:
        """True if the member updates by surge alone."""
        return self.max_surge != 0 and self.max_unavailable == 0

    def flips(self, to_surge: bool) -> bool:
        """True if the member must change from surge to unavailable pods."""
        return self.surges() and not to_surge and self.to_make_available() > 0

    def rests(self) -> bool:
        """True if the member keeps the old template and no update runs."""
        return not self.updated and not self.updates()


@dataclass(frozen=True, slots=True)
class RollingPlan:
    """Fields to set in a member; ``None`` for the value of the template."""

    #: Replicas.
    replicas: int | None = None
    #: Surge.
    max_surge: int | None = None
    #: Unavailable pods.
    max_unavailable: int | None = None
    #: True if only the replicas change, and the member keeps its old template.
    only_replicas: bool = False


@dataclass(frozen=True, slots=True)
class RollingLimits:
    """Limits over all clusters."""

    #: Replicas of the workload.
    replicas: int
    #: Pods above the replicas.
    max_surge: int
    #: Unavailable pods.
    max_unavailable: int

    def surges(self) -> bool:
        """True if updates use surge alone."""
        return self.max_surge != 0 and self.max_unavailable == 0

    def remaining_surge(self, targets: Sequence[RollingTarget]) -> int:
        """Surge that no cluster occupies; negative if the limit is exceeded."""
        above = sum(each.replicas for each in targets) - self.replicas
        return self.max_surge - above - sum(each.occupied_surge() for each in targets)

    def remaining_unavailable(self, targets: Sequence[RollingTarget]) -> int:
        """Unavailable pods that no cluster occupies; negative if the limit is exceeded."""
        below = self.replicas - sum(each.replicas for each in targets)
        return self.max_unavailable - below - sum(each.occupied_unavailable() for each in targets)


@dataclass(frozen=True, slots=True)
class RollingRound:
    """The result of a round."""

    #: Plans by cluster; a cluster without one waits.
    plans: Mapping[str, RollingPlan]
    #: True if the plans exceeded the limits, so that all of them were dropped.
    rejected: bool = False


def is_scaling(limits: RollingLimits, targets: Sequence[RollingTarget]) -> bool:
    """True if clusters only grow, or only shrink, and none updates."""
    grows = any(each.desired > each.replicas for each in targets)
    shrinks = any(each.desired < each.replicas for each in targets)
    done = all(not each.to_update() and not each.flips(limits.surges()) for each in targets)
    return grows != shrinks and done


def plan(limits: RollingLimits, targets: Sequence[RollingTarget]) -> RollingRound:
    """Plan one round."""
    if is_scaling(limits, targets):
        return RollingRound({each.name: RollingPlan() for each in targets})
    ordered = sorted(targets, key=lambda each: each.name)
    grow = [each for each in ordered if each.desired > each.replicas]
    shrink = [each for each in ordered if each.desired < each.replicas]
    work = _Round(limits, ordered)
    for each in grow:
        if not work.waits(each):
            work.update(each, RollingPlan(each.replicas), each.occupied_unavailable())
    for each in shrink:
        work.shrink(each)
    for each in ordered:
        if each.desired == each.replicas and not work.waits(each):
            work.update(each, RollingPlan(), each.occupied_unavailable())
    for each in grow:
        work.grow(each)
    for each in shrink:
        work.update_shrunk(each)
    if _is_valid(limits, targets, work.plans):
        return RollingRound(work.plans)
    return RollingRound({}, rejected=True)


class _Round:
    """The budget and the plans of one round."""

    def __init__(self, limits: RollingLimits, targets: Sequence[RollingTarget]) -> None:
        self._to_surge = limits.surges()
        self._surge = limits.remaining_surge(targets)
        self._unavailable = limits.remaining_unavailable(targets)
        self.plans: dict[str, RollingPlan] = {}

    def waits(self, target: RollingTarget) -> bool:
        """True if the target cannot begin its update."""
        occupied = target.occupied_surge() > 0 or target.occupied_unavailable() > 0
        return self._is_spent() and target.rests() and not occupied

    def _is_spent(self) -> bool:
        return self._surge <= 0 and self._unavailable <= 0

    def update(self, target: RollingTarget, base: RollingPlan, unavailable: int) -> None:
        """Let the target update with its occupied budget and the remaining budget."""
        occupied = target.occupied_surge()
        own = target.max_surge
        surge = max(0, min(self._surge + occupied, target.to_update()))
        more_surge = max(0, surge - occupied)
        if self._surge < 0 and occupied > own:
            surge = min(surge, own)
        own = target.max_unavailable
        down = max(0, min(self._unavailable + unavailable, target.to_make_available()))
        more_down = max(0, down - unavailable)
        if self._unavailable < 0 and unavailable > own:
            down = min(down, own)
        self._surge -= more_surge
        self._unavailable -= more_down
        self.plans[target.name] = self._limited(target, base, surge, down)

    def _limited(
        self, target: RollingTarget, base: RollingPlan, surge: int, down: int
    ) -> RollingPlan:
        """The plan with its limits: none after an update, never both zero."""
        if not target.to_update() and not target.flips(self._to_surge):
            return replace(base, max_surge=None, max_unavailable=None)
        if not surge and not down:
            surge, down = (1, 0) if target.surges() else (0, 1)
        return replace(base, max_surge=surge, max_unavailable=down)

    def shrink(self, target: RollingTarget) -> None:
        """Take replicas of the old template from a target."""
        occupied = target.occupied_unavailable()
        if self._unavailable <= 0 and occupied <= 0:
            return
        occupied = 0 if target.updates() else occupied
        most = min(target.replicas - target.desired, target.replicas)
        count = max(0, min(self._unavailable + occupied, most))
        self._unavailable -= max(0, count - occupied)
        self.plans[target.name] = RollingPlan(target.replicas - count, only_replicas=True)

    def grow(self, target: RollingTarget) -> None:
        """Add replicas to a target that has the new template, or none."""
        occupied = target.occupied_surge()
        if self._surge <= 0 and occupied <= 0:
            return
        if not target.updated and target.replicas:
            return
        occupied = 0 if target.updates() else occupied
        count = max(0, min(self._surge + occupied, target.desired - target.replicas))
        self._surge -= max(0, count - occupied)
        before = self.plans.get(target.name, RollingPlan())
        self.plans[target.name] = replace(before, replicas=target.replicas + count)

    def update_shrunk(self, target: RollingTarget) -> None:
        """Let a shrinking target update as well."""
        before = self.plans.get(target.name, RollingPlan(target.replicas))
        occupied = target.occupied_unavailable()
        if not target.updates() and before.replicas is not None:
            occupied = max(0, occupied - (target.replicas - before.replicas))
        if self._is_spent() and target.rests() and occupied <= 0:
            return
        self.update(target, replace(before, only_replicas=False), occupied)


def _is_valid(
    limits: RollingLimits, targets: Sequence[RollingTarget], plans: Mapping[str, RollingPlan]
) -> bool:
    """True if the desired and the planned totals are near the replicas of the workload."""
    wanted = sum(each.desired for each in targets)
    present = sum(each.replicas for each in targets)
    planned = 0
    for each in targets:
        found = plans.get(each.name)
        if found is None:
            planned += each.replicas
        else:
            planned += each.desired if found.replicas is None else found.replicas
    least, most = min(wanted, present), max(wanted, present)
    return (
        limits.replicas - wanted <= limits.max_unavailable
        and least - planned <= limits.max_unavailable
        and planned - most <= limits.max_surge
    )
