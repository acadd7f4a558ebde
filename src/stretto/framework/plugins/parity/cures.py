"""Queueing hints: which events may turn a "no" of each plugin into a "yes".

A pod sleeps on the events of the first plugin that refused each node, for as long as those refuse,
nothing that the others look at can help. Where a plugin ended the cycle, its events alone count.
"""

from collections.abc import Mapping
from typing import Final

from stretto.state.work.units import Cure

_NODE: Final = Cure.NODE_ADDED
_LABELLED: Final = Cure.NODE_ADDED | Cure.NODE_LABELS
_CROWD: Final = Cure.POD_LEFT | Cure.POD_PLACED | Cure.POD_LABELS | Cure.NODE_LEFT

CURES: Final[Mapping[str, Cure]] = {
    "NodeUnschedulable": _NODE | Cure.NODE_TAINTS,
    "NodeName": _NODE,
    "TaintToleration": _NODE | Cure.NODE_TAINTS,
    "NodeAffinity": _LABELLED,
    "NodePorts": _NODE | Cure.POD_LEFT,
    "NodeResourcesFit": _NODE | Cure.NODE_GREW | Cure.POD_LEFT,
    # A pod whose node goes uses its claims no longer.
    "VolumeRestrictions": _NODE | Cure.POD_LEFT | Cure.NODE_LEFT | Cure.VOLUME_CHANGED,
    "NodeVolumeLimits": _NODE | Cure.POD_LEFT | Cure.VOLUME_CHANGED,
    "VolumeBinding": _LABELLED | Cure.VOLUME_CHANGED,
    "VolumeZone": _LABELLED | Cure.VOLUME_CHANGED,
    # A value that goes, or one that becomes ineligible, may have had the least count.
    "PodTopologySpread": _LABELLED | Cure.NODE_TAINTS | _CROWD,
    "InterPodAffinity": _LABELLED | Cure.NAMESPACE_CHANGED | _CROWD,
    "DynamicResources": Cure.POD_CHANGED,
    "NodeDeclaredFeatures": Cure.ANY,
}
"""By plugin; a change of the pod itself may cure every one."""

VOLUMES: Final = {"VolumeRestrictions", "NodeVolumeLimits", "VolumeBinding", "VolumeZone"}
"""Plugins that end a cycle because of a claim, a volume or a class, whatever the nodes are."""
