"""The kube-parity decision about one pod in the form of rules, for explanations.

Explanations evaluate filters and scores on slots. Under kube-parity, one adapter per plugin returns
the results from the decision, so reasons, nearest nodes and the choice have the same format as for
every profile.
"""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from stretto.framework.contract.rule import (
    BoolArray,
    Declaration,
    Fail,
    FilterRule,
    IntArray,
    Refusal,
    Restrict,
    Scope,
    ScoreRule,
    SlotArray,
    View,
)
from stretto.framework.model.cached_facts import PodFactsCache
from stretto.framework.model.snapshot import ParitySnapshot
from stretto.framework.model.status import StatusCode
from stretto.framework.parity.decision import Decision, FilterResult
from stretto.framework.parity.filtering import run_filters
from stretto.framework.parity.runtime import ParityRuntime
from stretto.framework.plugins.fit import NodeResourcesFitRule
from stretto.framework.plugins.table import PARITY_FILTERS, PARITY_SCORES
from stretto.state.classes.table import PodClass
from stretto.state.cluster.cluster import Cluster
from stretto.state.rows.pods import NO_SLOT

Judges = tuple[tuple[FilterRule, ...], tuple[tuple[ScoreRule, int], ...]]
"""Filters, and scores with their weights."""


class ParityRules:
    """Adapters for kube-parity's decisions, pod by pod."""

    def __init__(self, cluster: Cluster) -> None:
        """Explain decisions over a cluster that stores whole objects."""
        self._cluster = cluster
        self._runtime = ParityRuntime(cluster, PodFactsCache(cluster))

    def of(self, row: int) -> Judges:
        """Filters, and scores with their weights, for one pod, without the pod on its own node."""
        runtime = self._runtime
        runtime.sync()
        facts, follower = runtime.fact_cache.facts(row), runtime.follower
        on_node = [row] if self._cluster.pods.slot[row] != NO_SLOT else []
        with follower.without(on_node):
            decision = follower.scheduler.decide_facts(facts, thorough=True, may_preempt=False)
            said = decision.filtered
            if said is None and len(decision.names):  # a gated pod
                said = run_filters(facts, follower.snapshot, thorough=True)
        at = np.full(self._cluster.nodes.size, -1, np.int64)
        at[runtime.slots()] = np.arange(len(decision.names))
        filters = () if said is None else _filters(said, at, decision, follower.snapshot)
        return filters, _scores(decision, at)

    def verdict_key(self, row: int) -> Hashable:
        """Key that is equal for pods with equal results of every plugin."""
        found = self._runtime.fact_cache.facts(row).template_key()
        return found if found is not None else self._cluster.pods.uid[row]


class FilterAdapter(FilterRule):
    """One plugin's result for one pod."""

    NAME = ""
    SCOPE = Scope.DOMAIN

    def __init__(self, said: FilterResult, at: SlotArray, decision: Decision) -> None:
        """Adapt a result; ``at`` is the position of the node by slot, -1 for none."""
        super().__init__({})
        self._said = said
        self._at = at
        self._decision = decision

    def prepare(self, pod: PodClass, view: View) -> Restrict | Fail | None:
        """The plugin's PreFilter result: no node, or some nodes only."""
        if self._said.ended_by == self.NAME:
            return Fail(self._said.prefilter[self.NAME].message)
        check = self._said.checks.get(self.NAME)
        if check is None or check.only is None:
            return None
        found = [view.nodes.by_name[name] for name in check.only if name in view.nodes.by_name]
        return Restrict(np.array(sorted(found), np.int64))

    def filter(self, pod: PodClass, view: View, slots: SlotArray) -> BoolArray:
        """bool[k]: true where the plugin allows the pod."""
        mask = np.ones(len(slots), np.bool_)
        for refusal in self.refusals(pod, view, slots):
            mask &= ~refusal.mask
        return mask

    def refusals(self, pod: PodClass, view: View, slots: SlotArray) -> list[Refusal]:
        """Every reason with the slots to which it applies."""
        nodes = self._at[slots]
        known = nodes >= 0
        masks: dict[tuple[str, bool], BoolArray] = {}
        for node, (name, status) in self._said.crowded.items():
            if name == self.NAME:
                _add(masks, status.reasons, True, nodes == node)
        verdict = self._said.verdicts.get(self.NAME)
        if verdict is not None:
            refused = known & verdict.refused[nodes]
            which = verdict.which[nodes]
            for number in np.unique(which[refused]).tolist():
                status = verdict.status_of(number)
                resolvable = status.code is StatusCode.UNSCHEDULABLE
                _add(masks, status.reasons, resolvable, refused & (which == number))
        return [Refusal(text, mask, resolvable) for (text, resolvable), mask in masks.items()]


class FitAdapter(FilterAdapter):
    """The result of NodeResourcesFit, with the amounts that a node lacks."""

    NAME = NodeResourcesFitRule.NAME

    def __init__(
        self, said: FilterResult, at: SlotArray, decision: Decision, snapshot: ParitySnapshot
    ) -> None:
        """Adapt a result; amounts come from a snapshot."""
        super().__init__(said, at, decision)
        self._snapshot = snapshot

    def lacks(self, pod: PodClass, view: View, slot: int) -> Sequence[tuple[str, int, int]]:
        """(resource, requested, free) of each resource that a slot lacks."""
        node, found = int(self._at[slot]), []
        for resource, requested in self._decision.pod.shape.filter_requests.items():
            has = int(self._snapshot.nodes.amount(resource)[node])
            free = has - int(self._snapshot.used_of(resource)[node])
            if 0 < requested > free:
                found.append((resource, requested, free))
        return found


class ScoreAdapter(ScoreRule):
    """One plugin's scores of the nodes for one pod."""

    NAME = ""
    SCOPE = Scope.DOMAIN

    def __init__(self, values: IntArray) -> None:
        """int32[slot]: the normalised scores; 0 where the pod is infeasible."""
        super().__init__({})
        self._values = values

    def score(self, pod: PodClass, view: View, slots: SlotArray) -> IntArray:
        """int32[k] in 0..100."""
        return self._values[slots]


def _adapter(base: type[Any], plugin: Declaration) -> type[Any]:
    """Return the adapter's type with a plugin's declarations."""
    return type(plugin.NAME, (base,), {}, declares=type(plugin))


_FILTERS: Final[Mapping[str, type[Any]]] = {
    plugin.NAME: _adapter(FitAdapter if plugin.NAME == FitAdapter.NAME else FilterAdapter, plugin)
    for plugin in PARITY_FILTERS
}
_SCORES: Final[Mapping[str, type[Any]]] = {
    plugin.NAME: _adapter(ScoreAdapter, plugin) for plugin in PARITY_SCORES
}


def _filters(
    said: FilterResult, at: SlotArray, decision: Decision, snapshot: ParitySnapshot
) -> tuple[FilterRule, ...]:
    found: list[FilterRule] = []
    for kind in _FILTERS.values():
        more = (snapshot,) if issubclass(kind, FitAdapter) else ()
        found.append(kind(said, at, decision, *more))
    return tuple(found)


def _scores(decision: Decision, at: SlotArray) -> tuple[tuple[ScoreRule, int], ...]:
    slot_of = np.flatnonzero(at >= 0)
    slot_of = slot_of[np.argsort(at[slot_of])]
    found: list[tuple[ScoreRule, int]] = []
    for plugin in PARITY_SCORES:
        score = decision.scores.get(plugin.NAME)
        if score is not None:
            values = np.zeros(len(at), np.int32)
            values[slot_of[decision.feasible]] = score
            found.append((_SCORES[plugin.NAME](values), plugin.WEIGHT))
    return tuple(found)


def _add(
    masks: dict[tuple[str, bool], BoolArray],
    reasons: Sequence[str],
    resolvable: bool,
    mask: BoolArray,
) -> None:
    for text in reasons:
        key = (text, resolvable)
        masks[key] = masks[key] | mask if key in masks else mask
