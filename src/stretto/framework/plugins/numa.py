"""NonNativeTopology: NUMA nodes that hold what a pod bound to them asks.

The name is Gödel's. What is chosen is said in ``state.numa.choice``; here is the answer for
slots, for those who ask why: shards place pods of NUMA nodes by kernels of their own.
"""

from collections.abc import Hashable, Mapping
from typing import Any, ClassVar, Final

import numpy as np

from stretto.framework.contract import arguments as read
from stretto.framework.contract.rule import BoolArray, FilterRule, Refusal, Scope, SlotArray, View
from stretto.state.classes.annotations import NumaBinding
from stretto.state.classes.table import PodClass
from stretto.state.work.units import Cure

NAME: Final = "NonNativeTopology"
NO_NUMA: Final = "node(s) report no NUMA topology"
REASONS: Final[Mapping[NumaBinding, str]] = {
    NumaBinding.ONE: "node topology not satisfy non-exclusive dedicated cores pod requests",
    NumaBinding.SOCKET: "no socket of the node(s) satisfies the pod's requests",
    NumaBinding.WHOLE: "node topology not satisfy exclusive dedicated cores pod requests",
}
"""Gödel's words where it has some, so that tools which read them still do."""


class NonNativeTopologyRule(FilterRule):
    """Refuses nodes whose NUMA nodes do not hold a pod that is bound to some."""

    NAME: ClassVar[str] = NAME
    SCOPE: ClassVar[Scope] = Scope.SLOT
    CURES: ClassVar[Cure] = (
        Cure.POD_LEFT | Cure.NODE_ADDED | Cure.NODE_GREW | Cure.NODE_LABELS | Cure.POD_CHANGED
    )
    FUSED: ClassVar[bool] = True

    def __init__(self, args: Mapping[str, Any]) -> None:
        """Take no arguments."""
        super().__init__(args)
        read.arguments(args, (), NAME)

    def signature(self, pod: PodClass) -> Hashable | None:
        """The class itself, where it is bound to NUMA nodes."""
        return pod.id if pod.annotations.numa is not None else None

    def filter(self, pod: PodClass, view: View, slots: SlotArray) -> BoolArray:
        """bool[k]: True where the NUMA nodes hold the pod."""
        topology = view.nodes.topology
        if pod.annotations.numa is None or topology is None:
            return np.full(len(slots), pod.annotations.numa is None, np.bool_)
        return np.array([topology.choose(int(s), pod) != 0 for s in slots.tolist()], np.bool_)

    def refusals(self, pod: PodClass, view: View, slots: SlotArray) -> list[Refusal]:
        """Nodes without any NUMA node, and those where others hold too much of them."""
        refused = ~self.filter(pod, view, slots)
        topology = view.nodes.topology
        if pod.annotations.numa is None or topology is None or not refused.any():
            return []
        without = np.array([int(s) not in topology.numbers for s in slots.tolist()], np.bool_)
        reason = REASONS[pod.annotations.numa.binding]
        found = [
            Refusal(NO_NUMA, refused & without, resolvable=False),
            Refusal(reason, refused & ~without),
        ]
        return [each for each in found if each.mask.any()]
