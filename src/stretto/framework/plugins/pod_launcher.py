"""PodLauncher: a node needs the agent that starts the pod (Gödel).

Two agents may manage one machine: the kubelet, which the Node represents, and Gödel's node manager,
which the NMNode of the same name represents. The annotation ``godel.bytedance.com/pod-launcher``
names the agent of a pod; the default is the kubelet.
"""

from collections.abc import Hashable, Mapping
from typing import Any, ClassVar, Final

from stretto.framework.contract.arguments import arguments
from stretto.framework.contract.rule import BoolArray, FilterRule, Refusal, Scope, SlotArray, View
from stretto.state.classes.table import PodClass
from stretto.state.nodes.table import MANAGED_BY
from stretto.state.work.units import Cure

NAME: Final = "PodLauncher"


class PodLauncherRule(FilterRule):
    """Refuses nodes that the pod's agent does not manage."""

    NAME: ClassVar[str] = NAME
    SCOPE: ClassVar[Scope] = Scope.STATIC
    CURES: ClassVar[Cure] = Cure.NODE_ADDED | Cure.NODE_TAINTS | Cure.POD_CHANGED

    def __init__(self, args: Mapping[str, Any]) -> None:
        """Accept no arguments."""
        super().__init__(args)
        arguments(args, (), NAME)

    def signature(self, pod: PodClass) -> Hashable | None:
        """Agent of the pod; never ``None``: a node may have either agent alone."""
        return pod.annotations.launcher

    def filter(self, pod: PodClass, view: View, slots: SlotArray) -> BoolArray:
        """bool[k]: true where the agent runs."""
        passes: BoolArray = (view.nodes.managers[slots] & MANAGED_BY[pod.annotations.launcher]) != 0
        return passes

    def refusals(self, pod: PodClass, view: View, slots: SlotArray) -> list[Refusal]:
        """The nodes without the agent; evicting pods does not help."""
        refused = ~self.filter(pod, view, slots)
        reason = f"node(s) didn't have the launcher {pod.annotations.launcher}"
        return [Refusal(reason, refused, resolvable=False)] if refused.any() else []
