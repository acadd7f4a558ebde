"""InterPodAffinity: terms of the pending pod, and terms of running pods that select it.

Required affinity needs a pod that matches all terms in each of their domains; a pod that matches
its own terms may be the first, while no pod does. Refusals are exactly kube-scheduler's. The score
is absolute (``docs/parity/kube-scheduler.md``). For a host key, it is ``50 ± 100·s / (2·s + W)``,
where s is the sum of weights on the host and W is the largest single weight. For other keys it is
``200·e / (2·e + W)``, where e is the excess of the sum over the smallest domain. Keys are weighted
by their W. Required affinity of running pods counts 1, or the value of ``hardPodAffinityWeight``.
"""

from collections.abc import Hashable, Iterable, Mapping
from typing import Any, ClassVar, Final

import numpy as np
import numpy.typing as npt

from stretto.framework.contract.arguments import arguments, flag, whole
from stretto.framework.contract.rule import (
    BoolArray,
    Fail,
    FilterRule,
    IntArray,
    Neighbours,
    Refusal,
    Restrict,
    Rule,
    Scope,
    ScoreRule,
    SlotArray,
    Subject,
    View,
)
from stretto.state.classes.table import PodClass
from stretto.state.classes.terms import ClassTerms, RunningTermScoring
from stretto.state.work.units import Cure

Ints = npt.NDArray[np.int64]

NAME: Final = "InterPodAffinity"
NOT_NEAR: Final = "node(s) didn't match pod affinity rules"
NEAR: Final = "node(s) didn't match pod anti-affinity rules"
UNWANTED: Final = "node(s) didn't satisfy existing pods anti-affinity rules"

WEIGHT: Final = "hardPodAffinityWeight"
"""Argument with the weight of required affinity of running pods in the score."""
MUTUAL: Final = "ignorePreferredTermsOfExistingPods"
"""Argument; if true, terms of running pods count only for pods with preferred terms."""
HEAVIEST: Final = 100
"""Largest weight, as in Kubernetes."""

_NODES: Final = Cure.NODE_ADDED | Cure.NODE_LABELS
_ALWAYS: Final = _NODES | Cure.POD_CHANGED | Cure.POD_LABELS | Cure.NAMESPACE_CHANGED


class InterPodAffinityRule(FilterRule, ScoreRule):
    """Refuses by required terms, prefers by preferred ones."""

    NAME: ClassVar[str] = NAME
    SCOPE: ClassVar[Scope] = Scope.DOMAIN
    FUSED: ClassVar[bool] = True
    SUBJECT: ClassVar[Subject] = Subject.OTHER_PODS
    WEIGHT: ClassVar[int] = 2
    CURES: ClassVar[Cure] = _ALWAYS | Cure.POD_LEFT | Cure.POD_PLACED | Cure.NODE_LEFT

    def __init__(self, args: Mapping[str, Any]) -> None:
        """Read kube-scheduler's ``InterPodAffinityArgs``."""
        super().__init__(args)
        given, where = arguments(args, (WEIGHT, MUTUAL), NAME), f"args of {NAME}"
        #: Scoring of the terms of running pods.
        self.running_term_scoring = RunningTermScoring(
            whole(given.get(WEIGHT, 1), 0, HEAVIEST, f"{where}: {WEIGHT}"),
            flag(given.get(MUTUAL, False), f"{where}: {MUTUAL}"),
        )

    def signature(self, pod: PodClass) -> Hashable | None:
        """The terms, including those of running pods; ``None`` without any."""
        wants = pod.terms
        all_terms = (
            wants.affinity_keys,
            wants.anti_affinity,
            wants.running_anti_affinity,
            wants.preferences,
            wants.malformed,
        )
        return (wants.epoch, wants.affinity_population, *all_terms) if any(all_terms) else None

    def cures(self, pod: PodClass) -> Cure:
        """Events that may help: new pods help only required affinity.

        A removed node removes its pods.
        """
        wants = pod.terms
        if wants.malformed:
            return Cure.POD_CHANGED
        if not (wants.affinity_keys or wants.anti_affinity or wants.running_anti_affinity):
            return Cure.NONE
        found = _ALWAYS | Cure.POD_LEFT | Cure.NODE_LEFT
        return found | Cure.POD_PLACED if wants.affinity_keys else found

    def prepare(self, pod: PodClass, view: View) -> Restrict | Fail | None:
        """Refuse the pod everywhere if its terms are malformed."""
        if pod.terms.malformed:
            return Fail(f"parsing pod: {pod.terms.malformed}")
        return None

    def filter(self, pod: PodClass, view: View, slots: SlotArray) -> BoolArray:
        """bool[k]: true where all required terms are satisfied."""
        if pod.terms.malformed:
            return np.zeros(len(slots), np.bool_)
        if view.look is None:
            return np.ones(len(slots), np.bool_)
        refused = _lacking(pod.terms, view.look)
        for key, population in (*pod.terms.anti_affinity, *pod.terms.running_anti_affinity):
            refused = refused | _has(view.look, key, population)
        return np.asarray(~refused[slots])

    def refusals(self, pod: PodClass, view: View, slots: SlotArray) -> list[Refusal]:
        """Reasons: first affinity, then anti-affinity, then that of running pods.

        Each node once.
        """
        look, wants = view.look, pod.terms
        if look is None or wants.malformed:
            return []
        said = [(NOT_NEAR, _lacking(wants, look), False)]
        for reason, terms in ((NEAR, wants.anti_affinity), (UNWANTED, wants.running_anti_affinity)):
            mask = np.zeros(look.size, np.bool_)
            for key, population in terms:
                mask |= _has(look, key, population)
            said.append((reason, mask, True))
        found, before = [], np.zeros(look.size, np.bool_)
        for reason, mask, resolvable in said:
            mine = (mask & ~before)[slots]
            before |= mask
            if mine.any():
                found.append(Refusal(reason, mine, resolvable=resolvable))
        return found

    def score(self, pod: PodClass, view: View, slots: SlotArray) -> IntArray:
        """int32[k]: the weights of preferred terms, key by key."""
        preferences = pod.terms.preferences
        total = np.zeros(len(slots), np.int64)
        if view.look is None or not preferences:
            return total.astype(np.int32)
        largest = {
            key: max(abs(w) for k, _, w in preferences if k == key) for key, _, _ in preferences
        }
        for key, most in largest.items():
            mine = [(population, weight) for k, population, weight in preferences if k == key]
            total += _preferred(view.look, key, mine, most)[slots] * most // sum(largest.values())
        return total.astype(np.int32)


def running_term_scoring_of(scores: Iterable[tuple[Rule, int]]) -> RunningTermScoring:
    """Scoring of the terms of running pods in the scores of a profile."""
    found = [rule for rule, weight in scores if weight and isinstance(rule, InterPodAffinityRule)]
    return found[0].running_term_scoring if found else RunningTermScoring()


def _lacking(wants: ClassTerms, look: Neighbours) -> BoolArray:
    """bool[slot]: true where required affinity is not satisfied."""
    bare = np.zeros(look.size, np.bool_)
    lacking = np.zeros(look.size, np.bool_)
    any_match = False
    for key in wants.affinity_keys:
        domain, sums = look.domain(key), look.sums(wants.affinity_population, key)
        bare |= domain == 0
        lacking |= (sums <= 0)[domain]
        any_match = any_match or bool((sums > 0).any())
    if wants.selects_itself and not any_match:
        return bare
    return np.asarray(lacking | bare)


def _has(look: Neighbours, key: str, population: int) -> BoolArray:
    """bool[slot]: true where a pod of a population is in the same domain."""
    return np.asarray((look.sums(population, key) > 0)[look.domain(key)])


def _preferred(look: Neighbours, key: str, preferences: list[tuple[int, int]], most: int) -> Ints:
    """int64[slot]: 0..100, the score of the preferred terms of one key."""
    domain = look.domain(key)
    sums = np.zeros(int(domain.max(initial=0)) + 1, np.int64)
    for population, weight in preferences:
        sums += weight * look.sums(population, key)
    if look.is_host(key):
        size = np.abs(sums)
        return np.asarray((50 + np.sign(sums) * (100 * size // (2 * size + most)))[domain])
    present = look.present(key, look.live())
    above = np.maximum(sums - (int(sums[present].min()) if present.any() else 0), 0)
    return np.asarray((200 * above // (2 * above + most))[domain])
