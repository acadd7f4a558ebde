"""Rules without a compiled form: evaluated in NumPy, one batch of slots at a time.

The kernels do not include the rules of plugin authors. They call these rules for exactly the slots
that they rescore, so that the class cache stores these results, too. ``profile.guard`` handles
their errors.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from stretto.framework.compiled.python_calls import DOMAIN_RULES, SLOT_RULES, SLOT_SCORES
from stretto.framework.contract.rule import FilterRule, Scope, ScoreRule, View
from stretto.framework.engine.derived import DerivedFilter, compiled_form
from stretto.framework.profile.guard import lock_arrays, unlock_arrays
from stretto.framework.profile.profile import Profile
from stretto.state.classes.table import PodClass
from stretto.state.cluster.cluster import Cluster

Filters = tuple[FilterRule, ...]
"""Filters in the order of the profile."""
Scores = tuple[tuple[ScoreRule, int], ...]
"""Scores with their weights."""


class PythonRules:
    """The rules of a profile that have only a Python form."""

    def __init__(
        self, profile: Profile, cluster: Cluster, derived: DerivedFilter | None = None
    ) -> None:
        """Find the rules with the scope SLOT, whose results are cached, and those over domains.

        The kernels apply ``derived`` themselves.
        """
        kernels_apply = None if derived is None else derived.rule
        filters = [rule for rule in profile.python_filters if rule is not kernels_apply]
        self._filters = tuple(rule for rule in filters if rule.SCOPE is not Scope.DOMAIN)
        self._domain_filters = tuple(rule for rule in filters if rule.SCOPE is Scope.DOMAIN)
        self._domain_scores = tuple(
            (rule, weight)
            for rule, weight in profile.scores
            if weight and rule.SCOPE is Scope.DOMAIN and not rule.FUSED
        )
        resources = cluster.ledger.resources
        self._scores = tuple(
            (rule, weight)
            for rule, weight in profile.slot_scores
            if weight and compiled_form(rule, resources, derived) is None
        )
        #: True if some rule must be evaluated at every decision.
        self.over_domains = bool(self._domain_filters or self._domain_scores)
        self._cluster = cluster
        self._outside = profile.outside
        self._by_class: dict[int, tuple[int, _ClassRules]] = {}

    @property
    def faults(self) -> dict[str, str]:
        """The last error of each plugin rule, by the name of the rule."""
        healths = [rule.health for rule in self._outside]
        return {h.name: f"rule {h.name} {h.last_fault}" for h in healths if h.faults}

    @property
    def exists(self) -> bool:
        """True if there is any such rule."""
        return bool(self._filters or self._scores or self.over_domains)

    def values(
        self, view: View, class_id: int, slots: npt.NDArray[np.integer[Any]]
    ) -> npt.NDArray[np.int16]:
        """int16[k]: -1 where a rule on slots rejects, otherwise the weighted sum of scores."""
        mine = self._rules_of(class_id)
        return _sum_scores(mine.pod, mine.filters, mine.scores, view, slots)

    def domain_values(
        self, view: View, class_id: int, slots: npt.NDArray[np.integer[Any]]
    ) -> npt.NDArray[np.int16]:
        """int16[k]: the same for rules over domains; valid for one decision."""
        mine = self._rules_of(class_id)
        return _sum_scores(mine.pod, mine.domain_filters, mine.domain_scores, view, slots)

    def concerned(self, class_id: int) -> int:
        """Flags of the rules of a class: ``SLOT_RULES``, ``SLOT_SCORES``, ``DOMAIN_RULES``."""
        mine = self._rules_of(class_id)
        flags = SLOT_RULES * bool(mine.filters or mine.scores) | SLOT_SCORES * bool(mine.scores)
        return flags | DOMAIN_RULES * bool(mine.domain_filters or mine.domain_scores)

    def _rules_of(self, class_id: int) -> "_ClassRules":
        """The rules that apply to a class; their signatures are read once per class."""
        serial = int(self._cluster.classes.serials[class_id])
        kept = self._by_class.get(class_id)
        if kept is not None and kept[0] == serial:
            return kept[1]
        pod = self._cluster.classes[class_id]
        made = _ClassRules(
            pod,
            _applying(pod, self._filters),
            _applying_scores(pod, self._scores),
            _applying(pod, self._domain_filters),
            _applying_scores(pod, self._domain_scores),
        )
        self._by_class[class_id] = serial, made
        return made

    def lock(self, view: View) -> list[npt.NDArray[Any]]:
        """Make all arrays that a rule can access read-only until ``unlock``."""
        for rule in self._outside:
            rule.hold(view)
        return lock_arrays(view)

    def unlock(self, locked: list[npt.NDArray[Any]]) -> None:
        """Undo ``lock``."""
        for rule in self._outside:
            rule.hold(None)
        unlock_arrays(locked)


class _ClassRules(NamedTuple):
    """A class and the rules that apply to it."""

    #: The class.
    pod: PodClass
    #: Filters with the scope SLOT.
    filters: Filters
    #: Scores with the scope SLOT, and their weights.
    scores: Scores
    #: Filters with the scope DOMAIN.
    domain_filters: Filters
    #: Scores with the scope DOMAIN, and their weights.
    domain_scores: Scores


def _applying(pod: PodClass, filters: Filters) -> Filters:
    return tuple(rule for rule in filters if rule.signature(pod) is not None)


def _applying_scores(pod: PodClass, scores: Scores) -> Scores:
    return tuple((rule, weight) for rule, weight in scores if rule.signature(pod) is not None)


def _sum_scores(
    pod: PodClass,
    filters: Filters,
    scores: Scores,
    view: View,
    slots: npt.NDArray[np.integer[Any]],
) -> npt.NDArray[np.int16]:
    """int16[k]: -1 where a filter rejects, otherwise the weighted sum of the scores."""
    wanted = slots.astype(np.int64)
    total = np.zeros(len(wanted), np.int16)
    for score, weight in scores:
        total += (weight * score.score(pod, view, wanted)).astype(np.int16)
    for rule in filters:
        total[~rule.filter(pod, view, wanted)] = -1
    return total
