"""NodePorts: the host ports that a pod requests are free.

Each slot has a bit per port and address; a pod conflicts with its own bits and with those of the
same port on overlapping addresses.
"""

from collections.abc import Hashable, Mapping
from typing import Any, ClassVar, Final

import numpy as np

from stretto.framework.contract import arguments as read
from stretto.framework.contract.rule import BoolArray, FilterRule, Scope, SlotArray, View
from stretto.state.classes.table import PodClass
from stretto.state.work.units import Cure

NAME: Final = "NodePorts"
REASON: Final = "node(s) didn't have free ports for the requested pod ports"


class NodePortsRule(FilterRule):
    """Refuses nodes where a host port is taken."""

    NAME: ClassVar[str] = NAME
    SCOPE: ClassVar[Scope] = Scope.SLOT
    REASON: ClassVar[str] = REASON
    CURES: ClassVar[Cure] = Cure.POD_LEFT | Cure.NODE_ADDED | Cure.POD_CHANGED
    FUSED: ClassVar[bool] = True

    def __init__(self, args: Mapping[str, Any]) -> None:
        """Accept no arguments."""
        super().__init__(args)
        read.arguments(args, (), NAME)

    def signature(self, pod: PodClass) -> Hashable | None:
        """The ports; ``None`` without any."""
        return pod.ports or None

    def filter(self, pod: PodClass, view: View, slots: SlotArray) -> BoolArray:
        """bool[k]: true where every port is free."""
        if not pod.ports:
            return np.ones(len(slots), np.bool_)
        used = view.columns.ports
        mask = view.columns.ledger.ports.conflict_mask(pod.ports)[: len(used)]
        taken = np.zeros(len(slots), np.bool_)
        for word in np.flatnonzero(mask).tolist():
            taken |= (used[word, slots] & mask[word]) != 0
        return ~taken
