"""VolumeRestrictions, NodeVolumeLimits, VolumeBinding, VolumeZone: rules about PVCs and disks.

A pod's PVCs belong to the pod and not to its class, so a class is never refused because of them.
For each pod with volumes, ``framework.volumes`` calls kube-parity's forms of these rules and places
the class on the remaining nodes. With the rules of this module, profiles can name and disable them;
the rules also declare their cures.
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
"""Default seconds for which a pod waits for its volumes, as in kube-scheduler."""
LONGEST_TIMEOUT: Final = 86_400.0
"""Longest allowed wait in seconds: a day."""
_NODES = Cure.NODE_ADDED | Cure.NODE_LABELS


class VolumeRule(FilterRule):
    """A rule about a pod's volumes: evaluated pod by pod, never by class.

    It ends the cycle because of a PVC, volume or storage class, independent of nodes.
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
        #: Seconds for which a pod with a node waits for its volumes.
        self.bind_timeout = number(seconds, 0, LONGEST_TIMEOUT, where)

    def signature(self, pod: PodClass) -> Hashable | None:
        """Return ``None``: PVCs belong to the pod and not to its class."""
        return None

    def filter(self, pod: PodClass, view: View, slots: SlotArray) -> BoolArray:
        """bool[k]: true everywhere, because the class does not decide."""
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
