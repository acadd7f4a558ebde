"""Every built-in rule, by name: the one place that knows them all."""

from typing import Final

from stretto.base.registry import Registry
from stretto.framework.contract.rule import Rule
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
from stretto.framework.plugins.node_unschedulable import NodeUnschedulableRule
from stretto.framework.plugins.numa import NonNativeTopologyRule
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

RULES: Final[Registry[type[Rule]]] = Registry(
    "plugin",
    {
        "NodeUnschedulable": NodeUnschedulableRule,
        "NodeName": NodeNameRule,
        "TaintToleration": TaintTolerationRule,
        "NodeAffinity": NodeAffinityRule,
        "NodePorts": NodePortsRule,
        "NodeResourcesFit": NodeResourcesFitRule,
        "Devices": DevicesRule,
        "NonNativeTopology": NonNativeTopologyRule,
        "VolumeRestrictions": VolumeRestrictionsRule,
        "NodeVolumeLimits": NodeVolumeLimitsRule,
        "VolumeBinding": VolumeBindingRule,
        "VolumeZone": VolumeZoneRule,
        "PodTopologySpread": PodTopologySpreadRule,
        "InterPodAffinity": InterPodAffinityRule,
        "DynamicResources": DynamicResourcesRule,
        "PodLauncher": PodLauncherRule,
        "NodeResourcesBalancedAllocation": NodeResourcesBalancedAllocationRule,
        "ImageLocality": ImageLocalityRule,
        "NodeLabel": NodeLabelRule,
        "SubCluster": SubClusterRule,
        "LoadAware": LoadAwareRule,
        "NodeResourcesAffinity": NodeResourcesAffinityRule,
        "AdaptiveCpuToMemRatio": AdaptiveCpuToMemRatioRule,
        "Random": RandomRule,
        "DotProd": DotProdRule,
        "GpuClustering": GpuClusteringRule,
        "GpuPacking": GpuPackingRule,
        "BestFit": BestFitRule,
        "FGD": FgdRule,
    },
)
"""Rules by name, in the order in which kube-scheduler asks its own."""
