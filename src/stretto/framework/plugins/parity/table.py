"""The one table of kube-scheduler's default plugins, in the order in which it asks them."""

from typing import Final

from stretto.framework.model.plugin import FilterPlugin, ScorePlugin
from stretto.framework.plugins.parity.balanced_allocation import NodeResourcesBalancedAllocation
from stretto.framework.plugins.parity.dynamic_resources import DynamicResources
from stretto.framework.plugins.parity.image_locality import ImageLocality
from stretto.framework.plugins.parity.inter_pod_affinity import InterPodAffinity
from stretto.framework.plugins.parity.node_affinity import NodeAffinity
from stretto.framework.plugins.parity.node_declared_features import NodeDeclaredFeatures
from stretto.framework.plugins.parity.node_name import NodeName
from stretto.framework.plugins.parity.node_ports import NodePorts
from stretto.framework.plugins.parity.node_resources_fit import NodeResourcesFit
from stretto.framework.plugins.parity.node_unschedulable import NodeUnschedulable
from stretto.framework.plugins.parity.node_volume_limits import NodeVolumeLimits
from stretto.framework.plugins.parity.pod_topology_spread import PodTopologySpread
from stretto.framework.plugins.parity.taint_toleration import TaintToleration
from stretto.framework.plugins.parity.volume_binding import VolumeBinding
from stretto.framework.plugins.parity.volume_restrictions import VolumeRestrictions
from stretto.framework.plugins.parity.volume_zone import VolumeZone

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
