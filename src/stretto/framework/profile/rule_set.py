"""The rules of a profile, by scope and by the data that they need."""

import msgspec

from stretto.framework.compiled.tables import TypicalPodTable
from stretto.framework.contract.rule import FilterRule, Scope, ScoreRule
from stretto.framework.plugins.gpu_policies import FgdRule
from stretto.framework.plugins.image_locality import ImageLocalityRule
from stretto.framework.plugins.inter_pod_affinity import running_term_scoring_of
from stretto.framework.plugins.sub_cluster import SubClusterRule
from stretto.framework.plugins.volumes import BIND_TIMEOUT, VolumeBindingRule, VolumeRule
from stretto.framework.profile.capacity.rules import CapacityRules
from stretto.framework.profile.guard import GuardedRule
from stretto.framework.profile.pod_constraints import PodConstraints
from stretto.state.classes.terms import RunningTermScoring
from stretto.state.rows.devices import DeviceColumns


class ProfileRules(msgspec.Struct, frozen=True, eq=False):
    """Filters in order, scores with their weights."""

    #: Name in reports: the profile's own name, its file's, or its scheduler's.
    name: str
    #: Values of ``schedulerName`` that the profile serves, its own first.
    scheduler_names: tuple[str, ...]
    #: Filters in order.
    filters: tuple[FilterRule, ...]
    #: Scores with their weights.
    scores: tuple[tuple[ScoreRule, int], ...]
    #: Rules that pods choose for themselves; ``None`` if pods may not choose rules.
    chosen: PodConstraints | None = None
    #: Settings that use more of the nodes than pods request.
    capacity: CapacityRules = CapacityRules()

    @property
    def volume_timeout(self) -> float:
        """Seconds for which a pod with a node waits for its volumes."""
        found = (rule.bind_timeout for rule in self.filters if isinstance(rule, VolumeBindingRule))
        return next(found, BIND_TIMEOUT)

    @property
    def sub_cluster(self) -> SubClusterRule | None:
        """Rule that separates sub-clusters; ``None`` if there are none."""
        found = (rule for rule in self.filters if isinstance(rule, SubClusterRule) and rule.key)
        return next(found, None)

    @property
    def every_filter(self) -> tuple[FilterRule, ...]:
        """The filters, and the rule for filters that pods choose."""
        return self.filters if self.chosen is None else (*self.filters, self.chosen)

    @property
    def every_score(self) -> tuple[tuple[ScoreRule, int], ...]:
        """The scores, and the rule for scores that pods choose."""
        return self.scores if self.chosen is None else (*self.scores, (self.chosen, 1))

    @property
    def static_filters(self) -> tuple[FilterRule, ...]:
        """Filters that depend on the node object alone: cached as rows per signature."""
        return tuple(rule for rule in self.every_filter if rule.SCOPE is Scope.STATIC)

    @property
    def static_scores(self) -> tuple[tuple[ScoreRule, int], ...]:
        """Scores that depend on the node object alone."""
        return tuple(each for each in self.every_score if each[0].SCOPE is Scope.STATIC)

    @property
    def slot_scores(self) -> tuple[tuple[ScoreRule, int], ...]:
        """Scores that depend on the state of the slot, compiled or not."""
        return tuple(each for each in self.scores if each[0].SCOPE is Scope.SLOT)

    @property
    def needs_volumes(self) -> bool:
        """True if a rule reads the volumes of pods."""
        return any(isinstance(rule, VolumeRule) for rule in self.filters)

    @property
    def needs_images(self) -> bool:
        """True if a rule reads the images of nodes."""
        return any(isinstance(rule, ImageLocalityRule) for rule, _ in self.scores)

    @property
    def python_filters(self) -> tuple[FilterRule, ...]:
        """Filters that the kernels do not apply: they run in Python."""
        return tuple(r for r in self.filters if r.SCOPE is not Scope.STATIC and not r.FUSED)

    @property
    def outside(self) -> tuple[GuardedRule, ...]:
        """Rules from outside the package, without duplicates."""
        every = (*self.filters, *(rule for rule, _ in self.scores))
        return tuple(dict.fromkeys(rule for rule in every if isinstance(rule, GuardedRule)))

    @property
    def learns(self) -> bool:
        """True if a rule measures against typical pods that are learned from the cluster."""
        return any(isinstance(rule, FgdRule) and rule.kinds is None for rule, _ in self.scores)

    def typical_pods(self, devices: DeviceColumns) -> TypicalPodTable | None:
        """Typical pods that the profile gives; ``None`` if it gives none."""
        found = (rule.fixed(devices) for rule, _ in self.scores if isinstance(rule, FgdRule))
        return next(found, None)

    @property
    def running_term_scoring(self) -> RunningTermScoring:
        """Scoring of the terms of running pods for the pods that they select."""
        return running_term_scoring_of(self.scores)
