"""Results of the volume rules for one pod as filter rules, for explanations.

PVCs belong to single pods, so the rules of the profile have no result by class. For an explanation
of one pod, the results of that pod replace them.
"""

from collections.abc import Sequence

import numpy as np

from stretto.framework.contract.rule import (
    BoolArray,
    Fail,
    FilterRule,
    Refusal,
    Restrict,
    SlotArray,
    View,
)
from stretto.framework.model.status import StatusCode
from stretto.framework.plugins.volumes import VolumeRule
from stretto.framework.volumes.rules import VolumeJudgement, VolumeRuleResult, VolumeRules
from stretto.state.classes.table import PodClass


class VolumeRuleAdapter(FilterRule):
    """The result of one volume rule for one pod."""

    NAME = ""
    SCOPE = VolumeRule.SCOPE

    def __init__(self, said: Sequence[VolumeRuleResult], nowhere: str) -> None:
        """Store the results by node, or the reason for no node at all."""
        super().__init__({})
        self._said = said
        self._nowhere = nowhere

    def prepare(self, pod: PodClass, view: View) -> Restrict | Fail | None:
        """Exclude every node if the rule did so."""
        return Fail(self._nowhere) if self._nowhere else None

    def filter(self, pod: PodClass, view: View, slots: SlotArray) -> BoolArray:
        """bool[k]: true where the rule allows the pod."""
        mask = np.ones(len(slots), np.bool_)
        for each in self._said:
            mask &= ~each.refused[slots]
        return mask

    def refusals(self, pod: PodClass, view: View, slots: SlotArray) -> list[Refusal]:
        """Every reason with the slots to which it applies."""
        found: list[Refusal] = []
        for each in self._said:
            refused, which = each.refused[slots], each.which[slots]
            for number in np.unique(which[refused]).tolist():
                resolvable = each.codes[number] is StatusCode.UNSCHEDULABLE
                found.extend(
                    Refusal(text, refused & (which == number), resolvable)
                    for text in each.reasons[number]
                )
        return found


def volume_adapters_of(
    filters: Sequence[FilterRule], rules: VolumeRules, row: int
) -> tuple[FilterRule, ...]:
    """The filters of a profile, with the volume rules replaced by their results for one pod."""
    judged = rules.judge_one(row)
    return tuple(_of(rule, judged) if isinstance(rule, VolumeRule) else rule for rule in filters)


def _of(rule: VolumeRule, judged: VolumeJudgement) -> FilterRule:
    name, reason = judged.nowhere
    said = [each for each in judged.said if each.rule == rule.NAME]
    mine = reason if name == rule.NAME or (reason and not name) else ""
    kind = type(rule.NAME, (VolumeRuleAdapter,), {}, declares=type(rule))
    found: FilterRule = kind(said, mine)
    return found
