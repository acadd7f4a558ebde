"""TaintToleration: no pods on nodes whose taints they do not bear.

``NoSchedule`` and ``NoExecute`` refuse; ``PreferNoSchedule`` costs score. The score is absolute:
100 / (1 + n) for n taints not borne, rounded down. The first such taint costs half the scale and
each further one less, so several can be told apart and a node's score does not depend on other
nodes. (kube-scheduler stretches the counts found between 0 and 100 anew for each pod.)

Distinct lists of taints are few: each is judged once and the answer gathered by slot. Pods that
Gödel's node manager starts look at the taints of the NMNode instead of those of the Node.
"""

from collections.abc import Hashable, Mapping
from typing import Any, ClassVar, Final

import numpy as np

from stretto.api.types.handover_annotations import KUBELET
from stretto.framework.contract.arguments import arguments
from stretto.framework.contract.rule import (
    TOP_SCORE,
    BoolArray,
    FilterRule,
    IntArray,
    Refusal,
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
    toleration_keys,
    untolerated,
)
from stretto.state.work.units import Cure

NAME: Final = "TaintToleration"
REASON: Final = "node(s) had untolerated taint(s)"
HARD: Final = (NO_SCHEDULE, NO_EXECUTE)
"""Effects that refuse."""
SOFT: Final = (PREFER_NO_SCHEDULE,)
"""Effects that cost score."""


class TaintTolerationRule(FilterRule, ScoreRule):
    """Refuses or disfavours nodes by their taints."""

    NAME: ClassVar[str] = NAME
    SCOPE: ClassVar[Scope] = Scope.STATIC
    CURES: ClassVar[Cure] = Cure.NODE_ADDED | Cure.NODE_TAINTS | Cure.POD_CHANGED

    def __init__(self, args: Mapping[str, Any]) -> None:
        """Take no arguments."""
        super().__init__(args)
        arguments(args, (), NAME)

    def signature(self, pod: PodClass) -> Hashable | None:
        """All that matters of the tolerations; never ``None``: taints concern every pod."""
        return _signature(pod, (*HARD, *SOFT))

    def filter_signature(self, pod: PodClass) -> Hashable | None:
        """What matters of the tolerations where a taint refuses."""
        return _signature(pod, HARD)

    def score_signature(self, pod: PodClass) -> Hashable | None:
        """What matters of the tolerations where a taint costs score."""
        return _signature(pod, SOFT)

    def filter(self, pod: PodClass, view: View, slots: SlotArray) -> BoolArray:
        """bool[k]: True where every refusing taint is borne."""
        passes: BoolArray = _untolerated(pod, view, slots, HARD) == 0
        return passes

    def refusals(self, pod: PodClass, view: View, slots: SlotArray) -> list[Refusal]:
        """The nodes with taints not borne; evicting pods does not help."""
        refused = ~self.filter(pod, view, slots)
        return [Refusal(REASON, refused, resolvable=False)] if refused.any() else []

    def score(self, pod: PodClass, view: View, slots: SlotArray) -> IntArray:
        """int32[k]: 100 / (1 + n) for n disfavouring taints not borne."""
        count = _untolerated(pod, view, slots, SOFT)
        return (TOP_SCORE // (1 + count)).astype(np.int32)


def _untolerated(pod: PodClass, view: View, slots: SlotArray, effects: tuple[str, ...]) -> IntArray:
    """int32[k]: taints with these effects that the pod does not bear."""
    nodes = view.nodes
    numbers = nodes.taints_by(pod.annotations.launcher)[slots]
    counts = np.zeros(len(nodes.taint_sets), np.int32)
    for number in nodes.taint_ids_in(numbers).tolist():
        counts[number] = untolerated(nodes.taint_sets[number], pod.spec.tolerations, effects)
    return counts[numbers]


def _signature(pod: PodClass, effects: tuple[str, ...]) -> Hashable:
    keys = toleration_keys(pod.spec.tolerations, effects)
    return keys if pod.annotations.launcher == KUBELET else (pod.annotations.launcher, keys)
