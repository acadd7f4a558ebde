"""Rules without a compiled form: asked in NumPy, slot batch by slot batch.

A rule of a plugin author depends on what is on a slot, like a built-in one, but the kernels do not
know it. It is asked for exactly the slots that are scored anew, so the class cache keeps its
answers too. A rule that fails refuses the slots it was asked about, by name, and the scheduler
goes on.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from stretto.framework.contract import FilterRule, Rule, Scope, ScoreRule, View
from stretto.framework.profile import Profile
from stretto.state.classes import PodClass
from stretto.state.cluster import Cluster


class AskedRules:
    """The rules of a profile that must be asked."""

    def __init__(self, profile: Profile, cluster: Cluster) -> None:
        """Find them: those on slots, whose answers are kept, and those over domains."""
        asked = profile.asked_filters
        self._filters = tuple(rule for rule in asked if rule.SCOPE is not Scope.DOMAIN)
        self._domain_filters = tuple(rule for rule in asked if rule.SCOPE is Scope.DOMAIN)
        self._domain_scores = tuple(
            (rule, weight)
            for rule, weight in profile.scores
            if weight and rule.SCOPE is Scope.DOMAIN and not rule.FUSED
        )
        resources = cluster.ledger.resources
        self._scores = tuple(
            (rule, weight)
            for rule, weight in profile.slot_scores
            if weight and rule.compiled(resources) is None
        )
        self._cluster = cluster
        #: What rules did wrong, by name: the last error of each.
        self.faults: dict[str, str] = {}

    @property
    def exists(self) -> bool:
        """Whether there is any rule to ask."""
        return bool(self._filters or self._scores or self.over_domains)

    @property
    def over_domains(self) -> bool:
        """Whether there is a rule that must be asked at every decision."""
        return bool(self._domain_filters or self._domain_scores)

    def values(
        self, view: View, class_id: int, slots: npt.NDArray[np.integer[Any]]
    ) -> npt.NDArray[np.int16]:
        """int16[k]: -1 where a rule on slots refuses, else the weighted sum of scores."""
        return self._say(self._filters, self._scores, view, class_id, slots)

    def domain_values(
        self, view: View, class_id: int, slots: npt.NDArray[np.integer[Any]]
    ) -> npt.NDArray[np.int16]:
        """int16[k]: the same of the rules over domains; good for one decision."""
        return self._say(self._domain_filters, self._domain_scores, view, class_id, slots)

    def _say(
        self,
        filters: tuple[FilterRule, ...],
        scores: tuple[tuple[ScoreRule, int], ...],
        view: View,
        class_id: int,
        slots: npt.NDArray[np.integer[Any]],
    ) -> npt.NDArray[np.int16]:
        pod, asked = self._cluster.classes[class_id], slots.astype(np.int64)
        passes = np.ones(len(asked), np.bool_)
        for rule in filters:
            if rule.signature(pod) is not None:
                passes &= self._filter(rule, pod, view, asked)
        total = np.zeros(len(asked), np.int32)
        for score, weight in scores:
            if score.signature(pod) is not None:
                total += weight * self._score(score, pod, view, asked)
        return np.where(passes, total, -1).astype(np.int16)

    def _filter(
        self, rule: FilterRule, pod: PodClass, view: View, slots: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.bool_]:
        """A filter's answer; one that fails or answers nonsense refuses."""
        try:
            answer = np.asarray(rule.filter(pod, view, slots))
        except Exception as error:  # noqa: BLE001  (somebody else's code: it must not stop us)
            return self._fault(rule, f"raised {error!r}", len(slots))
        if answer.shape != slots.shape or answer.dtype != np.bool_:
            given = f"answered {answer.dtype}{list(answer.shape)}, expected bool[{len(slots)}]"
            return self._fault(rule, given, len(slots))
        return answer

    def _score(
        self, rule: ScoreRule, pod: PodClass, view: View, slots: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.int32]:
        """A score's answer, in 0..100; one that fails or answers nonsense scores 0."""
        nothing = np.zeros(len(slots), np.int32)
        try:
            answer = np.asarray(rule.score(pod, view, slots))
        except Exception as error:  # noqa: BLE001
            self._fault(rule, f"raised {error!r}", 0)
            return nothing
        if answer.shape != slots.shape or not np.issubdtype(answer.dtype, np.integer):
            given = f"answered {answer.dtype}{list(answer.shape)}, expected int32[{len(slots)}]"
            self._fault(rule, given, 0)
            return nothing
        return answer.clip(0, 100).astype(np.int32)

    def _fault(self, rule: Rule, what: str, count: int) -> npt.NDArray[np.bool_]:
        self.faults[rule.NAME] = f"rule {rule.NAME} {what}"
        return np.zeros(count, np.bool_)
