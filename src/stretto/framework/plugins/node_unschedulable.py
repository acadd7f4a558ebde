"""NodeUnschedulable: no new pods on cordoned nodes.

A cordon counts as a taint ``node.kubernetes.io/unschedulable`` with effect ``NoSchedule``: pods
that tolerate that taint (DaemonSets' do) may go there. It concerns the kubelet: pods that Gödel's
node manager starts ignore it, as in Gödel.
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
"""The taint that a cordon counts as."""


class NodeUnschedulableRule(FilterRule):
    """Refuses cordoned nodes to pods that do not tolerate a cordon."""

    NAME: ClassVar[str] = NAME
    SCOPE: ClassVar[Scope] = Scope.STATIC
    REASON: ClassVar[str] = REASON
    RESOLVABLE: ClassVar[bool] = False
    CURES: ClassVar[Cure] = Cure.NODE_ADDED | Cure.NODE_TAINTS | Cure.POD_CHANGED
    PREFILTERS: ClassVar[bool] = False

    def __init__(self, args: Mapping[str, Any]) -> None:
        """Take no arguments."""
        super().__init__(args)
        arguments(args, (), NAME)

    def signature(self, pod: PodClass) -> Hashable | None:
        """The same for all pods that do not tolerate a cordon; ``None`` for the others."""
        return None if _tolerates_cordon(pod) else NAME

    def filter(self, pod: PodClass, view: View, slots: SlotArray) -> BoolArray:
        """bool[k]: True where the node is not cordoned, or everywhere."""
        if _tolerates_cordon(pod):
            return np.ones(len(slots), np.bool_)
        passes: BoolArray = view.nodes.unschedulable[slots] == 0
        return passes


def _tolerates_cordon(pod: PodClass) -> bool:
    if pod.annotations.launcher == NODE_MANAGER:
        return True
    return any(tolerates(each, CORDON) for each in pod.spec.tolerations)
