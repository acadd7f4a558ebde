"""The table of rules, in kube-scheduler's order: both forms of each, and the default profile.

A new rule is one line: in ``DEFAULT`` if profiles have it by default, in ``OPTIONAL`` if profiles
must name it.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from stretto.base.registry import Registry
from stretto.framework.contract.rule import FilterPlugin, FilterRule, Rule, ScorePlugin, ScoreRule
from stretto.framework.contract.shared import shared_filter, shared_score
from stretto.framework.plugins.allocation import NodeResourcesBalancedAllocationRule
from stretto.framework.plugins.cpu_memory_ratio import AdaptiveCpuToMemRatioRule
from stretto.framework.plugins.devices import DevicesRule
from stretto.framework.plugins.dynamic_resources import DynamicResourcesRule
from stretto.framework.plugins.fit import NodeResourcesFitRule
from stretto.framework.plugins.gpu_policies import (
    BestFitRule,
    DotProdRule,
    FgdRule,
    GpuClusteringRule,
    GpuPackingRule,
    RandomRule,
)
from stretto.framework.plugins.image_locality import ImageLocalityRule
from stretto.framework.plugins.inter_pod_affinity import InterPodAffinityRule
from stretto.framework.plugins.load_aware import LoadAwareRule
from stretto.framework.plugins.node_affinity import NodeAffinityRule
from stretto.framework.plugins.node_label import NodeLabelRule
from stretto.framework.plugins.node_name import NodeNameRule
from stretto.framework.plugins.node_overcommitment import NodeOvercommitmentRule
from stretto.framework.plugins.node_unschedulable import NodeUnschedulableRule
from stretto.framework.plugins.numa import NonNativeTopologyRule
from stretto.framework.plugins.parity.balanced_allocation import (
    NodeResourcesBalancedAllocationPlugin,
)
from stretto.framework.plugins.parity.dynamic_resources import DynamicResourcesPlugin
from stretto.framework.plugins.parity.inter_pod_affinity import InterPodAffinityPlugin
from stretto.framework.plugins.parity.node_affinity import NodeAffinityPlugin
from stretto.framework.plugins.parity.node_declared_features import NodeDeclaredFeaturesPlugin
from stretto.framework.plugins.parity.node_ports import NodePortsPlugin
from stretto.framework.plugins.parity.node_resources_fit import NodeResourcesFitPlugin
from stretto.framework.plugins.parity.node_volume_limits import NodeVolumeLimitsPlugin
from stretto.framework.plugins.parity.pod_topology_spread import PodTopologySpreadPlugin
from stretto.framework.plugins.parity.taint_toleration import TaintTolerationPlugin
from stretto.framework.plugins.parity.volume_binding import VolumeBindingPlugin
from stretto.framework.plugins.parity.volume_restrictions import VolumeRestrictionsPlugin
from stretto.framework.plugins.parity.volume_zone import VolumeZonePlugin
from stretto.framework.plugins.pod_launcher import PodLauncherRule
from stretto.framework.plugins.pod_topology_spread import PodTopologySpreadRule
from stretto.framework.plugins.ports import NodePortsRule
from stretto.framework.plugins.resource_affinity import NodeResourcesAffinityRule
from stretto.framework.plugins.sub_cluster import SubClusterRule
from stretto.framework.plugins.taints import TaintTolerationRule
from stretto.framework.plugins.volumes import (
    NodeVolumeLimitsRule,
    VolumeBindingRule,
    VolumeRestrictionsRule,
    VolumeZoneRule,
)


class Forms(NamedTuple):
    """One rule in the forms of both engines."""

    #: The form for the default engine; ``None`` for a rule of kube-parity alone.
    rule: type[Rule] | None
    #: The form for kube-parity; ``None`` for a rule that kube-scheduler does not have.
    parity: type[FilterPlugin] | type[ScorePlugin] | None = None


DEFAULT: Final = (
    Forms(NodeUnschedulableRule, shared_filter(NodeUnschedulableRule)),
    Forms(NodeNameRule, shared_filter(NodeNameRule)),
    Forms(TaintTolerationRule, TaintTolerationPlugin),
    Forms(NodeAffinityRule, NodeAffinityPlugin),
    Forms(NodePortsRule, NodePortsPlugin),
    Forms(NodeResourcesFitRule, NodeResourcesFitPlugin),
    Forms(DevicesRule),
    Forms(NonNativeTopologyRule),
    Forms(VolumeRestrictionsRule, VolumeRestrictionsPlugin),
    Forms(NodeVolumeLimitsRule, NodeVolumeLimitsPlugin),
    Forms(VolumeBindingRule, VolumeBindingPlugin),
    Forms(VolumeZoneRule, VolumeZonePlugin),
    Forms(PodTopologySpreadRule, PodTopologySpreadPlugin),
    Forms(InterPodAffinityRule, InterPodAffinityPlugin),
    Forms(DynamicResourcesRule, DynamicResourcesPlugin),
    Forms(None, NodeDeclaredFeaturesPlugin),
    Forms(PodLauncherRule),
    Forms(NodeResourcesBalancedAllocationRule, NodeResourcesBalancedAllocationPlugin),
    Forms(ImageLocalityRule, shared_score(ImageLocalityRule)),
)
"""Rules of a profile without plugins, and of kube-parity."""

OPTIONAL: Final[tuple[type[Rule], ...]] = (
    NodeLabelRule,
    SubClusterRule,
    LoadAwareRule,
    NodeOvercommitmentRule,
    NodeResourcesAffinityRule,
    AdaptiveCpuToMemRatioRule,
    RandomRule,
    DotProdRule,
    GpuClusteringRule,
    GpuPackingRule,
    BestFitRule,
    FgdRule,
)
"""Rules that a profile must name."""

_BY_DEFAULT: Final = tuple(forms.rule for forms in DEFAULT if forms.rule is not None)
_PARITY: Final = tuple(forms.parity() for forms in DEFAULT if forms.parity is not None)

RULES: Final[Registry[type[Rule]]] = Registry(
    "plugin", {rule.NAME: rule for rule in (*_BY_DEFAULT, *OPTIONAL)}
)
"""Every rule of the default engine by name."""

DEFAULT_FILTERS: Final = tuple(r.NAME for r in _BY_DEFAULT if issubclass(r, FilterRule))
"""Filters of a profile without plugins, in kube-scheduler's order."""

DEFAULT_SCORES: Final[Mapping[str, int]] = {
    rule.NAME: rule.WEIGHT for rule in _BY_DEFAULT if issubclass(rule, ScoreRule)
}
"""Scores of a profile without plugins, with their weights."""

PARITY_FILTERS: Final = tuple(form for form in _PARITY if isinstance(form, FilterPlugin))
"""Filters of kube-parity, in the order of its messages."""

PARITY_SCORES: Final = tuple(form for form in _PARITY if isinstance(form, ScorePlugin))
"""Scores of kube-parity; their order does not matter."""
