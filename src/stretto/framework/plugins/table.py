"""Every built-in rule, by name: the one place that knows them all."""

from typing import Final

from stretto.base.registry import Registry
from stretto.framework.contract.rule import Rule
from stretto.framework.plugins.allocation import NodeResourcesBalancedAllocation
from stretto.framework.plugins.cpu_memory_ratio import AdaptiveCpuToMemRatio
from stretto.framework.plugins.devices import Devices
from stretto.framework.plugins.dynamic_resources import DynamicResources
from stretto.framework.plugins.fit import NodeResourcesFit
from stretto.framework.plugins.gpu_policies import (
    FGD,
    BestFit,
    DotProd,
    GpuClustering,
    GpuPacking,
    Random,
)
from stretto.framework.plugins.image_locality import ImageLocality
from stretto.framework.plugins.inter_pod_affinity import InterPodAffinity
from stretto.framework.plugins.load_aware import LoadAware
from stretto.framework.plugins.node_affinity import NodeAffinity
from stretto.framework.plugins.node_label import NodeLabel
from stretto.framework.plugins.node_name import NodeName
from stretto.framework.plugins.node_unschedulable import NodeUnschedulable
from stretto.framework.plugins.numa import NonNativeTopology
from stretto.framework.plugins.pod_launcher import PodLauncher
from stretto.framework.plugins.pod_topology_spread import PodTopologySpread
from stretto.framework.plugins.ports import NodePorts
from stretto.framework.plugins.resource_affinity import NodeResourcesAffinity
from stretto.framework.plugins.sub_cluster import SubCluster
from stretto.framework.plugins.taints import TaintToleration
from stretto.framework.plugins.volumes import (
    NodeVolumeLimits,
    VolumeBinding,
    VolumeRestrictions,
    VolumeZone,
)

RULES: Final[Registry[type[Rule]]] = Registry(
    "plugin",
    {
        "NodeUnschedulable": NodeUnschedulable,
        "NodeName": NodeName,
        "TaintToleration": TaintToleration,
        "NodeAffinity": NodeAffinity,
        "NodePorts": NodePorts,
        "NodeResourcesFit": NodeResourcesFit,
        "Devices": Devices,
        "NonNativeTopology": NonNativeTopology,
        "VolumeRestrictions": VolumeRestrictions,
        "NodeVolumeLimits": NodeVolumeLimits,
        "VolumeBinding": VolumeBinding,
        "VolumeZone": VolumeZone,
        "PodTopologySpread": PodTopologySpread,
        "InterPodAffinity": InterPodAffinity,
        "DynamicResources": DynamicResources,
        "PodLauncher": PodLauncher,
        "NodeResourcesBalancedAllocation": NodeResourcesBalancedAllocation,
        "ImageLocality": ImageLocality,
        "NodeLabel": NodeLabel,
        "SubCluster": SubCluster,
        "LoadAware": LoadAware,
        "NodeResourcesAffinity": NodeResourcesAffinity,
        "AdaptiveCpuToMemRatio": AdaptiveCpuToMemRatio,
        "Random": Random,
        "DotProd": DotProd,
        "GpuClustering": GpuClustering,
        "GpuPacking": GpuPacking,
        "BestFit": BestFit,
        "FGD": FGD,
    },
)
"""Rules by name, in the order in which kube-scheduler asks its own."""
