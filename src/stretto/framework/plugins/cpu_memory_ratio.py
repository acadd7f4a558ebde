"""AdaptiveCpuToMemRatio: prefers nodes whose free CPU and memory have the ratio of the request.

A memory-heavy pod on a node with much free CPU leaves CPU that no later pod can use. The score
compares the ratio of CPU to memory that is free on the node with the requested one: the smaller
over the larger, 50 to 100 where the node's ratio is at most the pod's (memory is in excess, as
Gödel prefers it), 0 to 50 where it is above.
"""

from collections.abc import Hashable, Mapping
from typing import Any, ClassVar, Final

from stretto.framework.compiled.amounts import ratio_match
from stretto.framework.compiled.tables import CompiledScore, ScoreCode
from stretto.framework.contract import arguments as read
from stretto.framework.contract.requests import scaled_requests
from stretto.framework.contract.rule import IntArray, Scope, ScoreRule, SlotArray, View
from stretto.state.classes.table import PodClass
from stretto.state.rows.resources import CPU, MEMORY, ResourceColumns

NAME: Final = "AdaptiveCpuToMemRatio"


class AdaptiveCpuToMemRatioRule(ScoreRule):
    """Scores by the match of requested and free ratios of CPU to memory."""

    NAME: ClassVar[str] = NAME
    SCOPE: ClassVar[Scope] = Scope.SLOT

    def __init__(self, args: Mapping[str, Any]) -> None:
        """Accept no arguments."""
        super().__init__(args)
        read.arguments(args, (), NAME)

    def signature(self, pod: PodClass) -> Hashable | None:
        """The requests of CPU and memory."""
        requested = dict(pod.requests)
        return requested.get(CPU, 0), requested.get(MEMORY, 0)

    def score(self, pod: PodClass, view: View, slots: SlotArray) -> IntArray:
        """int32[k]: see ``compiled.amounts.ratio_match``."""
        free, requested = view.columns.free, scaled_requests(pod, view)
        pair = requested.get(CPU, 0), requested.get(MEMORY, 0)
        return ratio_match(free[CPU, slots], free[MEMORY, slots], pair)

    def compiled(self, resources: ResourceColumns) -> CompiledScore:
        """Compiled score over CPU and memory."""
        return CompiledScore(ScoreCode.RATIO_MATCH, (CPU, MEMORY), (1.0, 1.0))
