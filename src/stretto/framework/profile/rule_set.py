"""The rules of a profile, by scope and by what they need of the cluster."""

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

    #: Name in reports: the profile's own, its file's, or its scheduler's.
    name: str
    #: Names in a pod's ``schedulerName`` that the profile serves, its own first.
    scheduler_names: tuple[str, ...]
    #: Filters in order.
    filters: tuple[FilterRule, ...]
    #: Scores with their weights.
    scores: tuple[tuple[ScoreRule, int], ...]
    #: Rules that pods choose for themselves; ``None`` where they may not.
    chosen: PodConstraints | None = None
    #: How more of the nodes is used than pods request.
    capacity: CapacityRules = CapacityRules()

    @property
    def volume_timeout(self) -> float:
        """Seconds that a pod with a node waits for its volumes."""
        found = (rule.bind_timeout for rule in self.filters if isinstance(rule, VolumeBindingRule))
        return next(found, BIND_TIMEOUT)

    @property
    def sub_cluster(self) -> SubClusterRule | None:
        """The rule that separates sub-clusters; ``None`` where there are none."""
        found = (rule for rule in self.filters if isinstance(rule, SubClusterRule) and rule.key)
        return next(found, None)

    @property
    def every_filter(self) -> tuple[FilterRule, ...]:
        """The filters, and the rule for those that pods choose."""
        return self.filters if self.chosen is None else (*self.filters, self.chosen)

    @property
    def every_score(self) -> tuple[tuple[ScoreRule, int], ...]:
        """The scores, and the rule for those that pods choose."""
        return self.scores if self.chosen is None else (*self.scores, (self.chosen, 1))

    @property
    def static_filters(self) -> tuple[FilterRule, ...]:
        """Filters on the node object alone: cached as rows per signature."""
        return tuple(rule for rule in self.every_filter if rule.SCOPE is Scope.STATIC)

    @property
    def static_scores(self) -> tuple[tuple[ScoreRule, int], ...]:
        """Scores by the node object alone."""
        return tuple(each for each in self.every_score if each[0].SCOPE is Scope.STATIC)

    @property
    def slot_scores(self) -> tuple[tuple[ScoreRule, int], ...]:
        """Scores by what is on the slot, compiled or not."""
        return tuple(each for each in self.scores if each[0].SCOPE is Scope.SLOT)

    @property
    def needs_volumes(self) -> bool:
        """Whether a rule reads the volumes of pods."""
        return any(isinstance(rule, VolumeRule) for rule in self.filters)

    @property
    def needs_images(self) -> bool:
        """Whether a rule reads the images of nodes."""
        return any(isinstance(rule, ImageLocalityRule) for rule, _ in self.scores)

    @property
    def python_filters(self) -> tuple[FilterRule, ...]:
        """Filters that the kernels do not apply: they run in Python."""
        return tuple(r for r in self.filters if r.SCOPE is not Scope.STATIC and not r.FUSED)

    @property
    def outside(self) -> tuple[GuardedRule, ...]:
        """Rules from outside the package, each once."""
        every = (*self.filters, *(rule for rule, _ in self.scores))
        return tuple(dict.fromkeys(rule for rule in every if isinstance(rule, GuardedRule)))

    @property
    def learns(self) -> bool:
        """Whether a rule measures against typical pods that are learnt from the cluster."""
        return any(isinstance(rule, FgdRule) and rule.kinds is None for rule, _ in self.scores)

    def typical_pods(self, devices: DeviceColumns) -> TypicalPodTable | None:
        """The typical pods that the profile gives; ``None`` when it gives none."""
        found = (rule.fixed(devices) for rule, _ in self.scores if isinstance(rule, FgdRule))
        return next(found, None)

    @property
    def running_term_scoring(self) -> RunningTermScoring:
        """How terms of running pods count in the scores of pods that they select."""
        return running_term_scoring_of(self.scores)
