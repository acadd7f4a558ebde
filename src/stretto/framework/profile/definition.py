"""A profile: its rules, and how shards, binder and queue behave under it."""

from collections.abc import Mapping

import msgspec

from stretto.api.wire.kinds import NAMESPACE, POD_DISRUPTION_BUDGET, Kind
from stretto.framework.compiled.tables import DevicePick, TieBreak
from stretto.framework.compiled.ties import PICKS, TieRule
from stretto.framework.plugins.pod_topology_spread import default_spread
from stretto.framework.profile.host_rules import HostRules
from stretto.framework.profile.rule_set import ProfileRules
from stretto.state.classes.terms import DefaultSpread
from stretto.state.cluster.config import ClusterConfig
from stretto.state.ingest.whole_objects import CURES, OWNER_KINDS, VOLUME_KINDS
from stretto.state.victims.rules import PreemptionRules
from stretto.state.work.claims import CommitMode, ConflictMode
from stretto.state.work.rescheduling import ReschedulingRules


class Profile(ProfileRules, frozen=True, eq=False):
    """Rules with their weights, and settings."""

    #: How ties between equal scores are broken.
    ties: TieRule = TieRule.ROTATE
    #: Which devices of a node a pod gets.
    device_pick: DevicePick = DevicePick.FULLEST
    #: Pods that must fit together, by the kind of their owner; adds to the dispatcher's own.
    min_members: Mapping[str, int | str] = {}
    #: Seconds before the first retry after a refusal.
    first_delay: float = 1.0
    #: Longest delay between retries in seconds.
    longest_delay: float = 10.0
    #: Whether pods that fit nowhere are retried; published protocols drop them.
    retry: bool = True
    #: The load measure by which the next shard is chosen.
    dispatch: str = "least-loaded"
    #: When a claim conflicts.
    conflicts: ConflictMode = ConflictMode.FIT
    #: What a conflict does to the other claims of a unit.
    commit: CommitMode = CommitMode.INCREMENTAL
    #: How many hosts a claim tries, where conflicts are decided by hosts.
    hosts: HostRules = HostRules()
    #: Whether kube-parity decides, pod by pod, instead of the filters and scores above.
    exact: bool = False
    #: Percentage of nodes that must be found feasible before the search ends; 0 is kube-scheduler's
    #: own share by cluster size, ``None`` looks at all nodes.
    percentage: int | None = None
    #: The same as a number of nodes; overrides the percentage.
    quota: int | None = None
    #: Rules of preemption.
    preemption: PreemptionRules = PreemptionRules()
    #: How pods are moved to free capacity; ``None`` for not at all.
    rescheduling: ReschedulingRules | None = None
    #: Seconds that a node may stay over-committed before its pods that do not run yet are evicted;
    #: infinity for never, ``None`` for the deployment's default (15 s behind an API server).
    evict_over_committed_after: float | None = None
    #: What was read and has no effect.
    notes: tuple[str, ...] = ()

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """Kinds that its rules read, besides nodes, pods, groups and priorities."""
        if self.exact:
            return tuple(CURES)
        return (
            *((POD_DISRUPTION_BUDGET,) if self.preemption.enabled else ()),
            *(VOLUME_KINDS if self.needs_volumes else ()),
            NAMESPACE,
            *(OWNER_KINDS if self.default_spread else ()),
        )

    @property
    def default_spread(self) -> tuple[DefaultSpread, ...]:
        """Spread constraints for pods that state none, where they have an effect."""
        return () if self.exact else default_spread(self.filters, self.scores)

    def shape(self, config: ClusterConfig) -> ClusterConfig:
        """The cluster's configuration with what its rules read.

        kube-scheduler counts devices like any other resource and reads pods and nodes in full.
        """
        replace = msgspec.structs.replace
        config = replace(config, overcommits=self.capacity.overcommit is not None)
        if not self.exact:
            return replace(config, volumes=self.needs_volumes, images=self.needs_images)
        return replace(config, whole=True, device_kinds={})

    @property
    def tie_rule(self) -> TieBreak:
        """How the kernels break ties."""
        return PICKS[self.ties]

    @property
    def draws(self) -> bool:
        """Whether placing needs random numbers."""
        return self.ties is TieRule.RANDOM or self.device_pick is DevicePick.RANDOM
