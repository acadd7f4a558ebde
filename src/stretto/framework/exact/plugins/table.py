"""The one table of kube-scheduler's default plugins, in the order in which it asks them."""

from typing import Final

from stretto.framework.exact.contract import FilterPlugin, ScorePlugin
from stretto.framework.exact.plugins.balanced_allocation import NodeResourcesBalancedAllocation
from stretto.framework.exact.plugins.dynamic_resources import DynamicResources
from stretto.framework.exact.plugins.image_locality import ImageLocality
from stretto.framework.exact.plugins.inter_pod_affinity import InterPodAffinity
from stretto.framework.exact.plugins.node_affinity import NodeAffinity
from stretto.framework.exact.plugins.node_declared_features import NodeDeclaredFeatures
from stretto.framework.exact.plugins.node_name import NodeName
from stretto.framework.exact.plugins.node_ports import NodePorts
from stretto.framework.exact.plugins.node_resources_fit import NodeResourcesFit
from stretto.framework.exact.plugins.node_unschedulable import NodeUnschedulable
from stretto.framework.exact.plugins.node_volume_limits import NodeVolumeLimits
from stretto.framework.exact.plugins.pod_topology_spread import PodTopologySpread
from stretto.framework.exact.plugins.taint_toleration import TaintToleration
from stretto.framework.exact.plugins.volume_binding import VolumeBinding
from stretto.framework.exact.plugins.volume_restrictions import VolumeRestrictions
from stretto.framework.exact.plugins.volume_zone import VolumeZone

_TAINTS: Final = TaintToleration()
_AFFINITY: Final = NodeAffinity()
_FIT: Final = NodeResourcesFit()
_BINDING: Final = VolumeBinding()
_SPREAD: Final = PodTopologySpread()
_PODS: Final = InterPodAffinity()
_RESOURCES: Final = DynamicResources()

FILTERS: Final[tuple[FilterPlugin, ...]] = (
    NodeUnschedulable(),
    NodeName(),
    _TAINTS,
    _AFFINITY,
    NodePorts(),
    _FIT,
    VolumeRestrictions(),
    NodeVolumeLimits(),
    _BINDING,
    VolumeZone(),
    _SPREAD,
    _PODS,
    _RESOURCES,
    NodeDeclaredFeatures(),
)
"""Filters in the order of the messages."""

SCORES: Final[tuple[ScorePlugin, ...]] = (
    _TAINTS,
    _AFFINITY,
    _FIT,
    _BINDING,
    _SPREAD,
    _PODS,
    _RESOURCES,
    NodeResourcesBalancedAllocation(),
    ImageLocality(),
)
"""Scores; their order does not matter."""
