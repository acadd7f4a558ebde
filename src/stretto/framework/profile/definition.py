"""A profile: its rules, and the settings of shards, binder and queues."""

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

    #: Rule that breaks ties between equal scores.
    ties: TieRule = TieRule.ROTATE
    #: Rule that selects the devices of a node for a pod.
    device_pick: DevicePick = DevicePick.FULLEST
    #: Number of pods that must fit together, by the kind of their owner; extends the dispatcher's
    #: own.
    min_members: Mapping[str, int | str] = {}
    #: Seconds before the first retry after a refusal.
    first_delay: float = 1.0
    #: Longest delay between retries in seconds.
    longest_delay: float = 10.0
    #: True if pods that fit nowhere are retried; published protocols drop them.
    retry: bool = True
    #: Load measure by which the next shard is chosen.
    dispatch: str = "least-loaded"
    #: Condition for a conflict of a claim.
    conflicts: ConflictMode = ConflictMode.FIT
    #: Effect of a conflict on the other claims of a unit.
    commit: CommitMode = CommitMode.INCREMENTAL
    #: Number of hosts that a claim tries, if hosts decide conflicts.
    hosts: HostRules = HostRules()
    #: True if kube-parity decides, pod by pod, instead of the filters and scores above.
    exact: bool = False
    #: Percentage of nodes that must be found feasible before the search ends; 0 is kube-scheduler's
    #: own share by cluster size, ``None`` evaluates all nodes.
    percentage: int | None = None
    #: Number of nodes instead of a percentage; it overrides the percentage.
    quota: int | None = None
    #: Rules of preemption.
    preemption: PreemptionRules = PreemptionRules()
    #: Moves of pods to free capacity; ``None`` for no moves.
    rescheduling: ReschedulingRules | None = None
    #: Seconds for which a node may stay over-committed before its pods that do not run yet are
    #: evicted; infinity for never, ``None`` for the deployment's default (15 s with an API server).
    evict_over_committed_after: float | None = None
    #: Settings that were read and have no effect.
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
        """Spread constraints for pods without constraints, if they have an effect."""
        return () if self.exact else default_spread(self.filters, self.scores)

    def shape(self, config: ClusterConfig) -> ClusterConfig:
        """Return the cluster's configuration with the data that its rules read.

        kube-scheduler counts devices like any other resource and reads complete pods and nodes.
        """
        replace = msgspec.structs.replace
        config = replace(config, overcommits=self.capacity.overcommit is not None)
        if not self.exact:
            return replace(config, volumes=self.needs_volumes, images=self.needs_images)
        return replace(config, whole=True, device_kinds={})

    @property
    def tie_rule(self) -> TieBreak:
        """Method with which the kernels break ties."""
        return PICKS[self.ties]

    @property
    def draws(self) -> bool:
        """True if placement needs random numbers."""
        return self.ties is TieRule.RANDOM or self.device_pick is DevicePick.RANDOM
