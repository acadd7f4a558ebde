"""TaintToleration: pods avoid nodes whose taints they do not tolerate.

``NoSchedule`` and ``NoExecute`` refuse; ``PreferNoSchedule`` lowers the score. The score is
absolute: 100 / (1 + n) for n untolerated taints, rounded down. The first such taint costs half the
scale and each further one less, so that several can be distinguished and a node's score does not
depend on other nodes. (kube-scheduler scales the counts between 0 and 100 for each pod.)

There are few distinct lists of taints: each is evaluated once, and the results are assigned to the
slots. For pods that Gödel's node manager starts, the taints of the NMNode apply instead of those of
the Node.
"""

from collections.abc import Hashable, Mapping
from typing import Any, ClassVar, Final

import numpy as np

from stretto.api.types.core import Taint
from stretto.api.types.handover_annotations import KUBELET
from stretto.framework.contract.arguments import arguments
from stretto.framework.contract.rule import (
    TOP_SCORE,
    BoolArray,
    FilterRule,
    IntArray,
    Scope,
    ScoreRule,
    SlotArray,
    View,
)
from stretto.state.classes.table import PodClass
from stretto.state.nodes.taints import (
    NO_EXECUTE,
    NO_SCHEDULE,
    PREFER_NO_SCHEDULE,
    tolerates,
    toleration_keys,
)
from stretto.state.work.units import Cure

NAME: Final = "TaintToleration"
REASON: Final = "node(s) had untolerated taint(s)"
HARD: Final = (NO_SCHEDULE, NO_EXECUTE)
"""Effects that refuse."""
SOFT: Final = (PREFER_NO_SCHEDULE,)
"""Effects that lower the score."""


class TaintTolerationRule(FilterRule, ScoreRule):
    """Refuses nodes or lowers their score by their taints."""

    NAME: ClassVar[str] = NAME
    SCOPE: ClassVar[Scope] = Scope.STATIC
    REASON: ClassVar[str] = REASON
    RESOLVABLE: ClassVar[bool] = False
    CURES: ClassVar[Cure] = Cure.NODE_ADDED | Cure.NODE_TAINTS | Cure.POD_CHANGED
    PREFILTERS: ClassVar[bool] = False
    WEIGHT: ClassVar[int] = 3
    #: True if tolerations may compare (``Gt``, ``Lt``); kube-scheduler disables this by default.
    COMPARES: ClassVar[bool] = True

    def __init__(self, args: Mapping[str, Any]) -> None:
        """Accept no arguments."""
        super().__init__(args)
        arguments(args, (), NAME)

    def signature(self, pod: PodClass) -> Hashable | None:
        """The tolerations in canonical form; never ``None``: taints concern every pod."""
        return _signature(pod, (*HARD, *SOFT))

    def filter_signature(self, pod: PodClass) -> Hashable | None:
        """The tolerations of taints that refuse."""
        return _signature(pod, HARD)

    def score_signature(self, pod: PodClass) -> Hashable | None:
        """The tolerations of taints that lower the score."""
        return _signature(pod, SOFT)

    def filter(self, pod: PodClass, view: View, slots: SlotArray) -> BoolArray:
        """bool[k]: true where the pod tolerates every taint that refuses."""
        passes: BoolArray = self.untolerated(pod, view, slots, HARD) == 0
        return passes

    def score(self, pod: PodClass, view: View, slots: SlotArray) -> IntArray:
        """int32[k]: 100 / (1 + n) for n untolerated taints that lower the score."""
        count = self.untolerated(pod, view, slots, SOFT)
        return (TOP_SCORE // (1 + count)).astype(np.int32)

    def untolerated(
        self, pod: PodClass, view: View, slots: SlotArray, effects: tuple[str, ...]
    ) -> IntArray:
        """int32[k]: number of taints with these effects that the pod does not tolerate."""
        nodes, tolerations = view.nodes, pod.spec.tolerations

        def is_untolerated(taint: Taint) -> bool:
            return taint.effect in effects and not any(
                tolerates(each, taint, compares=self.COMPARES) for each in tolerations
            )

        numbers = nodes.taints_by(pod.annotations.launcher)[slots]
        counts = np.zeros(len(nodes.taint_sets), np.int32)
        for number in nodes.taint_ids_in(numbers).tolist():
            counts[number] = sum(map(is_untolerated, nodes.taint_sets[number]))
        return counts[numbers]


def _signature(pod: PodClass, effects: tuple[str, ...]) -> Hashable:
    keys = toleration_keys(pod.spec.tolerations, effects)
    return keys if pod.annotations.launcher == KUBELET else (pod.annotations.launcher, keys)
