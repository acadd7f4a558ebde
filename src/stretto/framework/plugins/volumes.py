"""VolumeRestrictions, NodeVolumeLimits, VolumeBinding, VolumeZone: PVCs and disks of a pod.

A pod's PVCs are its own and no part of its class, so a class is never refused because of them. For
each pod with volumes, ``framework.volumes`` calls kube-parity's forms of these rules and places the
class within the nodes that are left. The rules here let profiles name them and disable them, and
declare their cures.
"""

from collections.abc import Hashable, Mapping
from typing import Any, ClassVar, Final

import numpy as np

from stretto.framework.contract.arguments import arguments, number
from stretto.framework.contract.rule import (
    BoolArray,
    FilterRule,
    Scope,
    SlotArray,
    Subject,
    View,
)
from stretto.state.classes.table import PodClass
from stretto.state.work.units import Cure

BIND_TIMEOUT: Final = 600.0
"""Seconds that a pod waits for its volumes by default, as in kube-scheduler."""
LONGEST_TIMEOUT: Final = 86_400.0
"""Longest allowed wait: a day."""
_NODES = Cure.NODE_ADDED | Cure.NODE_LABELS


class VolumeRule(FilterRule):
    """A rule about a pod's volumes: evaluated pod by pod, never by class.

    It ends the cycle because of a PVC, volume or storage class, for any nodes.
    """

    SCOPE: ClassVar[Scope] = Scope.DOMAIN
    SUBJECT: ClassVar[Subject] = Subject.VOLUMES
    CYCLE_CURES: ClassVar[Cure | None] = Cure.VOLUME_CHANGED
    FUSED: ClassVar[bool] = True

    def __init__(self, args: Mapping[str, Any]) -> None:
        """Read ``bindTimeoutSeconds``; the other arguments have no effect here."""
        super().__init__(args)
        given = arguments(args, ("bindTimeoutSeconds", "shape"), self.NAME)
        seconds = given.get("bindTimeoutSeconds", BIND_TIMEOUT)
        where = f"args of {self.NAME}.bindTimeoutSeconds"
        #: Seconds that a pod waits for its volumes once it has a node.
        self.bind_timeout = number(seconds, 0, LONGEST_TIMEOUT, where)

    def signature(self, pod: PodClass) -> Hashable | None:
        """``None``: PVCs belong to the pod and not to its class."""
        return None

    def filter(self, pod: PodClass, view: View, slots: SlotArray) -> BoolArray:
        """bool[k]: True everywhere: the class does not decide."""
        return np.ones(len(slots), np.bool_)


class VolumeRestrictionsRule(VolumeRule):
    """Disks that cannot be shared, and PVCs for one pod only."""

    NAME: ClassVar[str] = "VolumeRestrictions"
    CURES: ClassVar[Cure] = Cure.NODE_ADDED | Cure.POD_LEFT | Cure.NODE_LEFT | Cure.VOLUME_CHANGED


class NodeVolumeLimitsRule(VolumeRule):
    """The limit of volumes per driver and node."""

    NAME: ClassVar[str] = "NodeVolumeLimits"
    CURES: ClassVar[Cure] = Cure.NODE_ADDED | Cure.POD_LEFT | Cure.VOLUME_CHANGED


class VolumeBindingRule(VolumeRule):
    """Every PVC has, finds or can be provisioned a volume that the node reaches."""

    NAME: ClassVar[str] = "VolumeBinding"
    CURES: ClassVar[Cure] = _NODES | Cure.VOLUME_CHANGED


class VolumeZoneRule(VolumeRule):
    """Volumes with a zone are used in that zone."""

    NAME: ClassVar[str] = "VolumeZone"
    CURES: ClassVar[Cure] = _NODES | Cure.VOLUME_CHANGED
