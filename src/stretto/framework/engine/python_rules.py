"""Rules without a compiled form: evaluated in NumPy, one batch of slots at a time.

The kernels do not include the rules of plugin authors. They call them for exactly the slots that
they rescore, so that the class cache stores these results too. ``guarded`` handles their errors.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from stretto.framework.compiled.python_calls import DOMAIN_RULES, SLOT_RULES, SLOT_SCORES
from stretto.framework.contract.rule import FilterRule, Scope, ScoreRule, View
from stretto.framework.profile.guard import lock_arrays, unlock_arrays
from stretto.framework.profile.profile import Profile
from stretto.state.cluster.cluster import Cluster


class PythonRules:
    """The rules of a profile that have only a Python form."""

    def __init__(self, profile: Profile, cluster: Cluster) -> None:
        """Find the rules with the scope SLOT, whose results are cached, and those over domains."""
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
        #: Whether some rule must be evaluated at every decision.
        self.over_domains = bool(self._domain_filters or self._domain_scores)
        self._cluster = cluster
        self._outside = profile.outside
        self._flags: dict[int, tuple[int, int]] = {}

    @property
    def faults(self) -> dict[str, str]:
        """The last error of each plugin rule, by the name of the rule."""
        healths = [rule.health for rule in self._outside]
        return {h.name: f"rule {h.name} {h.last_fault}" for h in healths if h.faults}

    @property
    def exists(self) -> bool:
        """Whether there is any such rule."""
        return bool(self._filters or self._scores or self.over_domains)

    def values(
        self, view: View, class_id: int, slots: npt.NDArray[np.integer[Any]]
    ) -> npt.NDArray[np.int16]:
        """int16[k]: -1 where a rule on slots rejects, else the weighted sum of scores."""
        return self._say(self._filters, self._scores, view, class_id, slots)

    def domain_values(
        self, view: View, class_id: int, slots: npt.NDArray[np.integer[Any]]
    ) -> npt.NDArray[np.int16]:
        """int16[k]: the same for rules over domains; valid for one decision."""
        return self._say(self._domain_filters, self._domain_scores, view, class_id, slots)

    def concerned(self, class_id: int) -> int:
        """``SLOT_RULES``, ``SLOT_SCORES``, ``DOMAIN_RULES``: which rules apply to a class."""
        serial = self._cluster.classes.serial(class_id)
        kept = self._flags.get(class_id)
        if kept is None or kept[0] != serial:
            pod = self._cluster.classes[class_id]
            slot_rules = (*self._filters, *(rule for rule, _ in self._scores))
            domain_rules = (*self._domain_filters, *(rule for rule, _ in self._domain_scores))
            flags = SLOT_RULES * any(rule.signature(pod) is not None for rule in slot_rules)
            flags |= SLOT_SCORES * any(rule.signature(pod) is not None for rule, _ in self._scores)
            flags |= DOMAIN_RULES * any(rule.signature(pod) is not None for rule in domain_rules)
            self._flags[class_id] = kept = serial, flags
        return kept[1]

    def lock(self, view: View) -> list[npt.NDArray[Any]]:
        """Make all arrays that a rule can reach read-only until ``unlock``."""
        for rule in self._outside:
            rule.hold(view)
        return lock_arrays(view)

    def unlock(self, locked: list[npt.NDArray[Any]]) -> None:
        """Undo ``lock``."""
        for rule in self._outside:
            rule.hold(None)
        unlock_arrays(locked)

    def _say(
        self,
        filters: tuple[FilterRule, ...],
        scores: tuple[tuple[ScoreRule, int], ...],
        view: View,
        class_id: int,
        slots: npt.NDArray[np.integer[Any]],
    ) -> npt.NDArray[np.int16]:
        pod, asked = self._cluster.classes[class_id], slots.astype(np.int64)
        total = np.zeros(len(asked), np.int16)
        for score, weight in scores:
            if score.signature(pod) is not None:
                total += (weight * score.score(pod, view, asked)).astype(np.int16)
        for rule in filters:
            if rule.signature(pod) is not None:
                total[~rule.filter(pod, view, asked)] = -1
        return total
