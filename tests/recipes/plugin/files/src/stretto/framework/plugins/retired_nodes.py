"""RetiredNodes: no pod goes to a node with the label ``example.com/retired``."""

from collections.abc import Hashable
from typing import ClassVar, Final

from stretto.framework.contract.rule import BoolArray, FilterRule, Refusal, Scope, SlotArray, View
from stretto.state.classes.table import PodClass
from stretto.state.work.units import Cure

NAME: Final = "RetiredNodes"
REASON: Final = "node(s) were retired"


class RetiredNodesRule(FilterRule):
    """Rejects nodes with the label."""

    NAME: ClassVar[str] = NAME
    SCOPE: ClassVar[Scope] = Scope.STATIC
    CURES: ClassVar[Cure] = Cure.NODE_ADDED | Cure.NODE_LABELS

    def signature(self, pod: PodClass) -> Hashable | None:
        """The same for every pod."""
        return NAME

    def filter(self, pod: PodClass, view: View, slots: SlotArray) -> BoolArray:
        """bool[k]: True for nodes without the label."""
        passes: BoolArray = view.nodes.labels.column("example.com/retired")[slots] <= 0
        return passes

    def refusals(self, pod: PodClass, view: View, slots: SlotArray) -> list[Refusal]:
        """Labeled nodes; evictions do not help."""
        refused = ~self.filter(pod, view, slots)
        return [Refusal(REASON, refused, resolvable=False)] if refused.any() else []
