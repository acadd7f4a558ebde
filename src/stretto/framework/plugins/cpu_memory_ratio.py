"""AdaptiveCpuToMemRatio: pods go where CPU and memory are left in the ratio in which they ask.

A pod of much memory on a node with much CPU left strands the one or the other. The score is how
near the ratios of what a node has free and of what the pod asks are: the smaller over the larger,
50 to 100 where the node's is at or under the pod's (it has memory to spare, as Gödel prefers it),
0 to 50 where it is over.
"""

from collections.abc import Hashable, Mapping
from typing import Any, ClassVar, Final

from stretto.framework.compiled.amounts import ratio_match
from stretto.framework.compiled.tables import CompiledScore, ScoreCode
from stretto.framework.contract import arguments as read
from stretto.framework.contract.requests import scaled_asks
from stretto.framework.contract.rule import IntArray, Scope, ScoreRule, SlotArray, View
from stretto.state.classes.table import PodClass
from stretto.state.rows.resources import CPU, MEMORY, ResourceColumns

NAME: Final = "AdaptiveCpuToMemRatio"


class AdaptiveCpuToMemRatioRule(ScoreRule):
    """Scores by how well a pod's ratio of CPU to memory matches what is free."""

    NAME: ClassVar[str] = NAME
    SCOPE: ClassVar[Scope] = Scope.SLOT

    def __init__(self, args: Mapping[str, Any]) -> None:
        """Take no arguments."""
        super().__init__(args)
        read.arguments(args, (), NAME)

    def signature(self, pod: PodClass) -> Hashable | None:
        """What is asked of CPU and memory."""
        asked = dict(pod.requests)
        return asked.get(CPU, 0), asked.get(MEMORY, 0)

    def score(self, pod: PodClass, view: View, slots: SlotArray) -> IntArray:
        """int32[k]: see ``formulas_amounts.ratio_match``."""
        free, asked = view.columns.free, scaled_asks(pod, view)
        pair = asked.get(CPU, 0), asked.get(MEMORY, 0)
        return ratio_match(free[CPU, slots], free[MEMORY, slots], pair)

    def compiled(self, resources: ResourceColumns) -> CompiledScore:
        """Its code, over CPU and memory."""
        return CompiledScore(ScoreCode.RATIO_MATCH, (CPU, MEMORY), (1.0, 1.0))
