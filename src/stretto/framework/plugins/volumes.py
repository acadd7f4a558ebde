"""VolumeRestrictions, NodeVolumeLimits, VolumeBinding, VolumeZone: claims and disks of a pod.

A pod's claims are its own and no part of its class, so a class never fails by them. Where a profile
has one of these rules, ``volume_runtime`` asks kube-scheduler's own plugins about each pod that has
volumes, over the nodes, claims and volumes as they are, and lets the class be placed inside what is
left. Here they stand so that profiles can name them and switch them off.
"""

from collections.abc import Hashable, Mapping
from typing import Any, ClassVar, Final

import numpy as np

from stretto.framework.contract.arguments import arguments, number
from stretto.framework.contract.rule import BoolArray, FilterRule, Scope, SlotArray, View
from stretto.state.classes.table import PodClass
from stretto.state.work.units import Cure

BIND_TIMEOUT: Final = 600.0
"""Seconds that a pod waits for its volumes, unless told otherwise: as in kube-scheduler."""
LONGEST_TIMEOUT: Final = 86_400.0
"""No wait is longer than a day."""
_NODES = Cure.NODE_ADDED | Cure.NODE_LABELS


class VolumeRule(FilterRule):
    """A rule about a pod's volumes: asked pod by pod, never by class."""

    SCOPE: ClassVar[Scope] = Scope.DOMAIN
    FUSED: ClassVar[bool] = True

    def __init__(self, args: Mapping[str, Any]) -> None:
        """Take no arguments that matter here, but for how long a pod waits for its volumes."""
        super().__init__(args)
        given = arguments(args, ("bindTimeoutSeconds", "shape"), self.NAME)
        seconds = given.get("bindTimeoutSeconds", BIND_TIMEOUT)
        where = f"args of {self.NAME}.bindTimeoutSeconds"
        #: Seconds that a pod waits for its volumes once it has a node.
        self.bind_timeout = number(seconds, 0, LONGEST_TIMEOUT, where)

    def signature(self, pod: PodClass) -> Hashable | None:
        """Nothing: claims are a pod's own."""
        return None

    def filter(self, pod: PodClass, view: View, slots: SlotArray) -> BoolArray:
        """bool[k]: everywhere, as far as the class is concerned."""
        return np.ones(len(slots), np.bool_)


class VolumeRestrictionsRule(VolumeRule):
    """Disks that cannot be shared, and claims for one pod alone."""

    NAME: ClassVar[str] = "VolumeRestrictions"
    CURES: ClassVar[Cure] = Cure.NODE_ADDED | Cure.POD_LEFT | Cure.NODE_LEFT | Cure.VOLUME_CHANGED


class NodeVolumeLimitsRule(VolumeRule):
    """So many volumes of each driver on a node."""

    NAME: ClassVar[str] = "NodeVolumeLimits"
    CURES: ClassVar[Cure] = Cure.NODE_ADDED | Cure.POD_LEFT | Cure.VOLUME_CHANGED


class VolumeBindingRule(VolumeRule):
    """Every claim has, finds or can be made a volume that the node reaches."""

    NAME: ClassVar[str] = "VolumeBinding"
    CURES: ClassVar[Cure] = _NODES | Cure.VOLUME_CHANGED


class VolumeZoneRule(VolumeRule):
    """Volumes with a zone are used there."""

    NAME: ClassVar[str] = "VolumeZone"
    CURES: ClassVar[Cure] = _NODES | Cure.VOLUME_CHANGED
