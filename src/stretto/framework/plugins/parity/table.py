"""The one table of kube-scheduler's default plugins, in the order in which it asks them."""

from typing import Final

from stretto.framework.model.plugin import FilterPlugin, ScorePlugin
from stretto.framework.plugins.parity.balanced_allocation import (
    NodeResourcesBalancedAllocationPlugin,
)
from stretto.framework.plugins.parity.dynamic_resources import DynamicResourcesPlugin
from stretto.framework.plugins.parity.image_locality import ImageLocalityPlugin
from stretto.framework.plugins.parity.inter_pod_affinity import InterPodAffinityPlugin
from stretto.framework.plugins.parity.node_affinity import NodeAffinityPlugin
from stretto.framework.plugins.parity.node_declared_features import NodeDeclaredFeaturesPlugin
from stretto.framework.plugins.parity.node_name import NodeNamePlugin
from stretto.framework.plugins.parity.node_ports import NodePortsPlugin
from stretto.framework.plugins.parity.node_resources_fit import NodeResourcesFitPlugin
from stretto.framework.plugins.parity.node_unschedulable import NodeUnschedulablePlugin
from stretto.framework.plugins.parity.node_volume_limits import NodeVolumeLimitsPlugin
from stretto.framework.plugins.parity.pod_topology_spread import PodTopologySpreadPlugin
from stretto.framework.plugins.parity.taint_toleration import TaintTolerationPlugin
from stretto.framework.plugins.parity.volume_binding import VolumeBindingPlugin
from stretto.framework.plugins.parity.volume_restrictions import VolumeRestrictionsPlugin
from stretto.framework.plugins.parity.volume_zone import VolumeZonePlugin

_TAINTS: Final = TaintTolerationPlugin()
_AFFINITY: Final = NodeAffinityPlugin()
_FIT: Final = NodeResourcesFitPlugin()
_BINDING: Final = VolumeBindingPlugin()
_SPREAD: Final = PodTopologySpreadPlugin()
_PODS: Final = InterPodAffinityPlugin()
_RESOURCES: Final = DynamicResourcesPlugin()

FILTERS: Final[tuple[FilterPlugin, ...]] = (
    NodeUnschedulablePlugin(),
    NodeNamePlugin(),
    _TAINTS,
    _AFFINITY,
    NodePortsPlugin(),
    _FIT,
    VolumeRestrictionsPlugin(),
    NodeVolumeLimitsPlugin(),
    _BINDING,
    VolumeZonePlugin(),
    _SPREAD,
    _PODS,
    _RESOURCES,
    NodeDeclaredFeaturesPlugin(),
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
    NodeResourcesBalancedAllocationPlugin(),
    ImageLocalityPlugin(),
)
"""Scores; their order does not matter."""
