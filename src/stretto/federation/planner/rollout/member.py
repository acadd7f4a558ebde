"""A workload in one member cluster, and the number of pods it can have before the next plan.

The Deployment controller of the member acts between two plans. The specification bounds its
actions: while pods of another revision exist, it creates up to ``max_surge`` pods above the
replicas and deletes pods as long as all but ``max_unavailable`` are available. Otherwise it keeps
the replicas. The envelope of a member is the range of its pods under all these actions.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property


@dataclass(frozen=True, slots=True)
class MemberSpec:
    """Specification of a member; without surge and unavailable pods the template's limits apply."""

    #: Replicas.
    replicas: int
    #: Revision of the pod template.
    revision: str
    #: Pods above the replicas during an update.
    max_surge: int = 0
    #: Pods that may be unavailable during an update.
    max_unavailable: int = 0
    #: True if the update is paused; then only the number of replicas applies.
    paused: bool = False


@dataclass(frozen=True, slots=True)
class PodCount:
    """Pods of one revision."""

    #: Pods that exist.
    total: int
    #: Pods that are available.
    available: int


@dataclass(frozen=True, slots=True)
class Envelope:
    """Bounds of the pods of a member until the next plan."""

    #: Maximum pods.
    most: int
    #: Minimum available pods, if none fails.
    least: int


@dataclass(frozen=True)
class RolloutMember:
    """The workload in one cluster."""

    #: The cluster.
    name: str
    #: Replicas that the division assigns.
    desired: int
    #: The written specification.
    spec: MemberSpec
    #: The specification that the member's controller has observed.
    acting: MemberSpec
    #: Pods by revision.
    pods: Mapping[str, PodCount] = field(default_factory=dict)
    #: True if the cluster answers. Pods in a cluster that does not answer count as unavailable.
    #: They may exist as long as the division assigns any replicas to it; a cluster that the
    #: workload has left counts as lost.
    reachable: bool = True
    #: True if health checks of the new revision pass here.
    healthy: bool = True

    @cached_property
    def total(self) -> int:
        """Pods that exist."""
        return sum(each.total for each in self.pods.values())

    @cached_property
    def available(self) -> int:
        """Pods that are available."""
        return sum(each.available for each in self.pods.values())

    def of(self, revision: str) -> PodCount:
        """Pods of one revision."""
        return self.pods.get(revision, PodCount(0, 0))

    def settled(self) -> bool:
        """True if the member's controller has observed the written specification."""
        return self.spec == self.acting

    def rolls(self, spec: MemberSpec) -> bool:
        """True if pods of a revision other than that of ``spec`` exist, or may exist by now."""
        turns = self.acting.revision != spec.revision and self.acting.replicas > 0
        return turns or self.total > self.of(spec.revision).total

    def done(self, revision: str) -> bool:
        """True if the member runs the desired replicas of ``revision``, all available."""
        wanted = PodCount(self.desired, self.desired)
        full = self.of(revision) == wanted and self.total == self.desired
        return full and self.settled() and self.spec.replicas == self.desired

    def bounds(self, spec: MemberSpec) -> Envelope:
        """Bounds of the pods under ``spec`` and under the specification in effect."""
        one, other = self._now, self._under(spec)
        return Envelope(max(one.most, other.most), min(one.least, other.least))

    def envelope(self, spec: MemberSpec) -> Envelope:
        """Bounds of the pods that the fleet relies on."""
        found = self.bounds(spec)
        if self.reachable:
            return found
        return Envelope(found.most if self.desired else 0, 0)

    @cached_property
    def _now(self) -> Envelope:
        """Bounds of the pods under the specification in effect."""
        return self._under(self.acting)

    def _under(self, spec: MemberSpec) -> Envelope:
        total, available = self.total, self.available
        if not self.rolls(spec):
            return Envelope(max(total, spec.replicas), min(available, spec.replicas))
        down = 0 if spec.paused else spec.max_unavailable
        most = spec.replicas + spec.max_surge
        # A scale-down removes pods of every revision, also available ones.
        taken = max(0, total - most)
        least = max(0, min(available - taken, spec.replicas - down))
        if not spec.paused and spec.revision == self.acting.revision:
            # Pods of the new revision never exceed the replicas.
            most = min(most, spec.replicas + total - self.of(spec.revision).total)
        return Envelope(max(total, most), least)

    def surge_in_use(self, replicas: int) -> int:
        """Pods above ``replicas`` that exist, or that the controller may create now."""
        return max(0, self._now.most - replicas)

    def held(self) -> MemberSpec:
        """The specification that pauses the update without stopping pods."""
        if not self.rolls(self.spec):
            return self.spec
        surge = self.surge_in_use(self.spec.replicas)
        return replace(self.spec, max_surge=surge, max_unavailable=1, paused=True)
