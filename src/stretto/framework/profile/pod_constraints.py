"""Rules that a pod chooses for itself: Gödel's hard- and soft-constraints annotations.

``godel.bytedance.com/hard-constraints: A,B`` adds filters, ``soft-constraints: A:2,B`` adds scores
with weights, for that pod only and in addition to its profile's. Any known rule may be named; it
gets the arguments that the profile gives. Static rules are added to the static rows, so such pods
stay on the fast path; the staged runtime calls the other rules.

An unknown filter refuses every node with a reason of its own. (Gödel ignores it, so that a
misspelled constraint has no effect.) An unknown score adds 0.
"""

from collections.abc import Hashable, Mapping
from typing import Any, ClassVar, Final

import numpy as np

from stretto.base.errors import StrettoError
from stretto.base.registry import Registry
from stretto.framework.contract.rule import (
    BoolArray,
    FilterRule,
    IntArray,
    Refusal,
    Rule,
    Scope,
    ScoreRule,
    SlotArray,
    View,
)
from stretto.framework.plugins.fit import NodeResourcesFitRule
from stretto.framework.plugins.pod_launcher import PodLauncherRule
from stretto.state.classes.table import PodClass
from stretto.state.work.units import Cure

NAME: Final = "PodConstraints"
UNKNOWN: Final = "hard constraint {} names no plugin of this profile"
MOST: Final = 10_000
"""Largest weighted sum of a pod's own scores: rows are int16."""

ALIASES: Final[Mapping[str, tuple[str, Mapping[str, Any]]]] = {
    "NodeResourcesMostAllocated": (
        NodeResourcesFitRule.NAME,
        {"scoringStrategy": {"type": "MostAllocated"}},
    ),
    "NodeResourcesLeastAllocated": (
        NodeResourcesFitRule.NAME,
        {"scoringStrategy": {"type": "LeastAllocated"}},
    ),
}
"""Gödel's names for built-in rules with these arguments."""
ELSEWHERE: Final = frozenset({PodLauncherRule.NAME, "Coscheduling"})
"""Filters of Gödel that other parts of Stretto implement: units and node lists."""


class PodConstraints(FilterRule, ScoreRule):
    """Calls the static rules that pods name, and lists the other rules that they name."""

    NAME: ClassVar[str] = NAME
    SCOPE: ClassVar[Scope] = Scope.STATIC
    CURES: ClassVar[Cure] = (
        Cure.POD_LEFT
        | Cure.NODE_ADDED
        | Cure.NODE_GREW
        | Cure.NODE_LABELS
        | Cure.NODE_TAINTS
        | Cure.POD_CHANGED
    )

    def __init__(self, args: Mapping[str, Any]) -> None:
        """Start without rules; see ``over``."""
        super().__init__(args)
        self._rules: Registry[type[Rule]] | None = None
        self._arguments: Mapping[str, Any] = {}
        self._present: frozenset[str] = frozenset()
        self._made: dict[str, Rule | None] = {}

    @classmethod
    def over(
        cls,
        rules: Registry[type[Rule]],
        arguments: Mapping[str, Any],
        present: frozenset[str],
    ) -> "PodConstraints":
        """Constraints of one profile.

        Args:
            rules: every rule that may be named.
            arguments: arguments of the profile by rule.
            present: filters that the profile already has.
        """
        made = cls({})
        made._rules, made._arguments, made._present = rules, arguments, present
        return made

    def filter_signature(self, pod: PodClass) -> Hashable | None:
        """Signatures of the named static filters, and unknown names."""
        found = [
            (rule.NAME, rule.filter_signature(pod)) for rule in self._filters(pod, Scope.STATIC)
        ]
        unknown = self._unknown(pod)
        return (tuple(found), unknown) if found or unknown else None

    def score_signature(self, pod: PodClass) -> Hashable | None:
        """Signatures of the named static scores, with their weights."""
        found = [
            (rule.NAME, weight, rule.signature(pod))
            for rule, weight in self._scores(pod, Scope.STATIC)
        ]
        return tuple(found) or None

    def signature(self, pod: PodClass) -> Hashable | None:
        """Signatures of both halves."""
        halves = self.filter_signature(pod), self.score_signature(pod)
        return None if halves == (None, None) else halves

    def filter(self, pod: PodClass, view: View, slots: SlotArray) -> BoolArray:
        """bool[k]: true where every named static filter passes."""
        passes = np.full(len(slots), not self._unknown(pod), np.bool_)
        for rule in self._filters(pod, Scope.STATIC):
            passes &= rule.filter(pod, view, slots)
        return passes

    def refusals(self, pod: PodClass, view: View, slots: SlotArray) -> list[Refusal]:
        """The reasons of the named filters, and a reason per unknown name."""
        everywhere = np.ones(len(slots), np.bool_)
        found = [
            Refusal(UNKNOWN.format(name), everywhere, resolvable=False)
            for name in self._unknown(pod)
        ]
        for rule in self._filters(pod, Scope.STATIC):
            found += rule.refusals(pod, view, slots)
        return found

    def score(self, pod: PodClass, view: View, slots: SlotArray) -> IntArray:
        """int32[k]: the weighted sum of the named static scores."""
        return _sum(self._scores(pod, Scope.STATIC), pod, view, slots)

    def applies_to(self, pod: PodClass) -> bool:
        """Return whether a pod names a rule that depends on more than the node object."""
        if not pod.annotations.hard and not pod.annotations.soft:
            return False
        return bool(self._filters(pod, Scope.SLOT) or self._scores(pod, Scope.SLOT))

    def slot_values(self, pod: PodClass, view: View, slots: SlotArray) -> IntArray:
        """int32[k]: -1 where a named rule on slots refuses, otherwise the sum of such scores."""
        passes = np.ones(len(slots), np.bool_)
        for rule in self._filters(pod, Scope.SLOT):
            passes &= rule.filter(pod, view, slots)
        total = _sum(self._scores(pod, Scope.SLOT), pod, view, slots)
        return np.where(passes, total, -1).astype(np.int32)

    def _filters(self, pod: PodClass, scope: Scope) -> list[FilterRule]:
        rules = (self._rule(name) for name, _ in pod.annotations.hard if name not in self._present)
        return [
            rule
            for rule in rules
            if isinstance(rule, FilterRule)
            and rule.SCOPE is scope
            and rule.signature(pod) is not None
        ]

    def _scores(self, pod: PodClass, scope: Scope) -> list[tuple[ScoreRule, int]]:
        rules = ((self._rule(name), weight) for name, weight in pod.annotations.soft)
        return [
            (rule, weight)
            for rule, weight in rules
            if isinstance(rule, ScoreRule)
            and rule.SCOPE is scope
            and rule.signature(pod) is not None
        ]

    def _unknown(self, pod: PodClass) -> tuple[str, ...]:
        """Unknown filters that a pod names."""
        return tuple(
            name
            for name, _ in pod.annotations.hard
            if name not in self._present
            and name not in ELSEWHERE
            and not isinstance(self._rule(name), FilterRule)
        )

    def _rule(self, name: str) -> Rule | None:
        """Return the rule with a name, constructed on first use; ``None`` if there is none."""
        if name not in self._made:
            self._made[name] = self._make(name)
        return self._made[name]

    def _make(self, name: str) -> Rule | None:
        real, usual = ALIASES.get(name, (name, {}))
        if self._rules is None or real not in self._rules:
            return None
        try:
            return self._rules.get(real)(self._arguments.get(name, usual))
        except StrettoError:
            return None


def _sum(
    scores: list[tuple[ScoreRule, int]], pod: PodClass, view: View, slots: SlotArray
) -> IntArray:
    total = np.zeros(len(slots), np.int32)
    for rule, weight in scores:
        total += rule.score(pod, view, slots) * np.int32(min(weight, MOST // 100))
    return total.clip(0, MOST).astype(np.int32)
