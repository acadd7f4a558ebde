"""NodeUnschedulable: no new pods on cordoned nodes.

A cordon counts as a taint ``node.kubernetes.io/unschedulable`` with effect ``NoSchedule``: pods
that tolerate this taint (such as DaemonSet pods) may use the node. It concerns the kubelet: pods
that Gödel's node manager starts ignore it, as in Gödel.
"""

from collections.abc import Hashable, Mapping
from typing import Any, ClassVar, Final

import numpy as np

from stretto.api.types.core import Taint
from stretto.api.types.handover_annotations import NODE_MANAGER
from stretto.framework.contract.arguments import arguments
from stretto.framework.contract.rule import BoolArray, FilterRule, Scope, SlotArray, View
from stretto.state.classes.table import PodClass
from stretto.state.nodes.taints import NO_SCHEDULE, tolerates
from stretto.state.work.units import Cure

NAME: Final = "NodeUnschedulable"
REASON: Final = "node(s) were unschedulable"
CORDON: Final = Taint(key="node.kubernetes.io/unschedulable", effect=NO_SCHEDULE)
"""Taint that is equivalent to a cordon."""


class NodeUnschedulableRule(FilterRule):
    """Refuses cordoned nodes to pods that do not tolerate a cordon."""

    NAME: ClassVar[str] = NAME
    SCOPE: ClassVar[Scope] = Scope.STATIC
    REASON: ClassVar[str] = REASON
    RESOLVABLE: ClassVar[bool] = False
    CURES: ClassVar[Cure] = Cure.NODE_ADDED | Cure.NODE_TAINTS | Cure.POD_CHANGED
    PREFILTERS: ClassVar[bool] = False

    def __init__(self, args: Mapping[str, Any]) -> None:
        """Accept no arguments."""
        super().__init__(args)
        arguments(args, (), NAME)

    def signature(self, pod: PodClass) -> Hashable | None:
        """Equal for all pods that do not tolerate a cordon; ``None`` for other pods."""
        return None if _tolerates_cordon(pod) else NAME

    def filter(self, pod: PodClass, view: View, slots: SlotArray) -> BoolArray:
        """bool[k]: true where the node is not cordoned.

        True everywhere if the pod tolerates cordons.
        """
        if _tolerates_cordon(pod):
            return np.ones(len(slots), np.bool_)
        passes: BoolArray = view.nodes.unschedulable[slots] == 0
        return passes


def _tolerates_cordon(pod: PodClass) -> bool:
    if pod.annotations.launcher == NODE_MANAGER:
        return True
    return any(tolerates(each, CORDON) for each in pod.spec.tolerations)
