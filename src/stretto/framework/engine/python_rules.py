"""Rules without a compiled form: asked in NumPy, slot batch by slot batch.

A rule of a plugin author depends on what is on a slot, like a built-in one, but the kernels do not
know it. It is asked for exactly the slots that are scored anew, so the class cache keeps its
answers too. Its errors are its guard's business (``guarded``).
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from stretto.framework.contract.rule import FilterRule, Scope, ScoreRule, View
from stretto.framework.profile.profile import Profile
from stretto.state.cluster.cluster import Cluster


class PythonRules:
    """The rules of a profile that must be asked."""

    def __init__(self, profile: Profile, cluster: Cluster) -> None:
        """Find them: those on slots, whose answers are kept, and those over domains."""
        asked = profile.python_filters
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
        self._outside = profile.outside

    @property
    def faults(self) -> dict[str, str]:
        """What rules from outside did wrong, by name: the last error of each."""
        healths = [rule.health for rule in self._outside]
        return {h.name: f"rule {h.name} {h.last_fault}" for h in healths if h.faults}

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
                passes &= rule.filter(pod, view, asked)
        total = np.zeros(len(asked), np.int32)
        for score, weight in scores:
            if score.signature(pod) is not None:
                total += weight * score.score(pod, view, asked)
        return np.where(passes, total, -1).astype(np.int16)
