"""InterPodAffinity: terms of the pending pod, and terms of running pods that select it.

Required affinity needs one pod that matches all terms; a pod that matches its own terms may be the
first if no node with one of the labels has such a pod. Required affinity of running pods counts 1
in the score, regardless of the pod's own preferences.
"""

from collections.abc import Iterable
from typing import Final

import numpy as np

from stretto.framework.contract.rule import FilterPlugin, NodeCheck, NodeDryRun, ScorePlugin
from stretto.framework.model.nodes import NodeColumns
from stretto.framework.model.normalise import TOP, at
from stretto.framework.model.pod_facts import SchedulingFacts
from stretto.framework.model.snapshot import ParitySnapshot
from stretto.framework.model.status import (
    SKIP,
    SUCCESS,
    BoolArray,
    IntArray,
    NodeStatuses,
    PluginStatus,
    refuse_each,
    unresolvable,
    unschedulable,
)
from stretto.framework.model.tallies import TermTable
from stretto.framework.model.terms import AffinityTerm, TermTarget
from stretto.framework.plugins import inter_pod_affinity as rule
from stretto.state.classes.terms import RunningTermScoring
from stretto.state.objects import ClusterObjects

NOT_NEAR: Final = unresolvable(rule.NOT_NEAR)
NEAR: Final = unschedulable(rule.NEAR)
UNWANTED: Final = unschedulable(rule.UNWANTED)

BY_DEFAULT: Final = RunningTermScoring()
"""Required affinity of running pods counts 1, for every pod."""

Sums = dict[str, IntArray]
"""Number of matching pods by label and value."""


class InterPodAffinityPlugin(FilterPlugin, ScorePlugin, declares=rule.InterPodAffinityRule):
    """Refuses by required terms, prefers by preferred ones."""

    def prefilter(self, pod: SchedulingFacts, snapshot: ParitySnapshot) -> NodeCheck | PluginStatus:
        """Evaluate the pod's terms and those of running pods that select it.

        Skipped without either.
        """
        if pod.shape.malformed:
            return unresolvable(f"parsing pod: {pod.shape.malformed}")
        check = AffinityCheck(pod, snapshot)
        return check if check.matters else SKIP

    def score(
        self, pod: SchedulingFacts, snapshot: ParitySnapshot, feasible: IntArray
    ) -> IntArray | None:
        """Scores: weights of all preferred terms, scaled between the smallest and the largest."""
        raw = raw_scores(pod, snapshot)
        if raw is None:
            return None
        raw = at(raw, feasible)
        least = int(raw.min())
        apart = int(raw.max()) - least
        if apart <= 0:
            return np.zeros(len(raw), np.int64)
        scaled: IntArray = (float(TOP) * ((raw - least) / float(apart))).astype(np.int64)
        return scaled


def target_of(term: AffinityTerm, objects: ClusterObjects) -> TermTarget:
    """The pods that a term of the pending pod selects."""
    selector = term.namespace_selector
    if selector.matches({}):
        return TermTarget(None, term.selector)
    return TermTarget(term.namespaces | objects.namespaces_with(selector), term.selector)


def count_targets(snapshot: ParitySnapshot, reaches: tuple[TermTarget, ...]) -> IntArray:
    """int64[n]: number of pods that all of these terms select."""
    return snapshot.population.tally(
        ("near", reaches),
        lambda namespace, labels: all(each.means(namespace, labels) for each in reaches),
        terminating_too=True,
    )


def raw_scores(
    pod: SchedulingFacts,
    snapshot: ParitySnapshot,
    running_term_scoring: RunningTermScoring = BY_DEFAULT,
) -> IntArray | None:
    """int64[n]: weights before normalising; ``None`` if no term applies to any node.

    ``running_term_scoring`` contains the weight of terms of running pods, as in
    ``InterPodAffinityArgs``.
    """
    nodes, population = snapshot.nodes, snapshot.population
    counts: dict[str, IntArray] = {}
    touched = False

    def count(key: str, pods: IntArray, weight: int) -> None:
        nonlocal touched
        if not touched:
            touched = bool((pods[nodes.has(key)] > 0).any())
        counts[key] = counts.get(key, 0) + weight * pods

    terms = pod.shape.terms
    if running_term_scoring.mutual and not (terms.preferred or terms.anti_preferred):
        return None
    for mine, sign in ((terms.preferred, 1), (terms.anti_preferred, -1)):
        for term in mine:
            count(
                term.key,
                count_targets(snapshot, (target_of(term, snapshot.objects),)),
                sign * term.weight,
            )
    labels = snapshot.objects.namespace_labels(pod.namespace)
    affinity = (population.affinity, running_term_scoring.required)
    kinds = (affinity, (population.preferred, 1), (population.anti_preferred, -1))
    for kind, sign in kinds:
        for group in population.meaning(kind, pod, labels) if sign else ():
            count(group.term.key, group.counts, sign * group.term.weight)
    if not touched:
        return None
    total = np.zeros(nodes.count, np.int64)
    for key, weights in counts.items():
        domain = nodes.domain(key)
        total += domain.sums(weights)[domain.codes]
    return total


class AffinityCheck(NodeCheck):
    """Required terms, of the pod and of running pods, against all nodes."""

    def __init__(self, pod: SchedulingFacts, snapshot: ParitySnapshot) -> None:
        """Count matching pods by value."""
        terms, objects = pod.shape.terms, snapshot.objects
        #: Pending pod.
        self.pod = pod
        #: Labels of the pod's namespace.
        self.namespace_labels = objects.namespace_labels(pod.namespace)
        #: All nodes.
        self.nodes: NodeColumns = snapshot.nodes
        #: Required affinity, as selected pods.
        self.wanted = tuple((each.key, target_of(each, objects)) for each in terms.affinity)
        #: Required anti-affinity, as selected pods.
        self.unwanted = tuple((each.key, target_of(each, objects)) for each in terms.anti)
        #: Number of pods that match all required affinity terms, by label and value.
        self.near: Sums = {}
        #: Number of pods that match a required anti-affinity term, by label and value.
        self.far: Sums = {}
        #: Number of running pods whose anti-affinity selects the pod, by label and value.
        self.shut: Sums = self._forbidden(snapshot, snapshot.population.anti)
        if self.wanted:
            counts = count_targets(snapshot, tuple(each for _, each in self.wanted))
            self._add(self.near, [(key, counts) for key, _ in self.wanted])
        self._add(
            self.far, [(key, count_targets(snapshot, (each,))) for key, each in self.unwanted]
        )
        #: True if any term applies.
        self.matters = bool(terms.affinity or terms.anti or _pairs(self.shut))
        #: True if the pod matches its own terms.
        self.selects_itself = bool(self.wanted) and self.has_required_affinity(pod)

    def verdict(self) -> NodeStatuses | None:
        """Statuses: first affinity, then anti-affinity, then that of running pods."""
        count = self.nodes.count
        lacking, bare = np.zeros(count, np.bool_), np.zeros(count, np.bool_)
        for key, _ in self.wanted:
            codes = self.nodes.domain(key).codes
            bare |= codes == 0
            lacking |= (self.near[key] <= 0)[codes]
        if self.selects_itself and not _pairs(self.near):
            lacking = bare
        statuses = [
            (lacking | bare, NOT_NEAR),
            (self._hit(self.far), NEAR),
            (self._hit(self.shut), UNWANTED),
        ]
        return refuse_each(count, statuses)

    def trial(self, node: int) -> NodeDryRun:
        """A dry run over the counts of the node's own values."""
        return AffinityDryRun(self, node)

    def has_required_affinity(self, pod: SchedulingFacts) -> bool:
        """Return whether a pod matches all required affinity terms."""
        return all(each.means(pod.namespace, pod.labels) for _, each in self.wanted)

    def _forbidden(self, snapshot: ParitySnapshot, kind: TermTable) -> Sums:
        sums: Sums = {}
        groups = snapshot.population.meaning(kind, self.pod, self.namespace_labels)
        self._add(sums, [(group.term.key, group.counts) for group in groups])
        return sums

    def _add(self, sums: Sums, counts: Iterable[tuple[str, IntArray]]) -> None:
        for key, pods in counts:
            more = self.nodes.domain(key).sums(pods)
            sums[key] = sums[key] + more if key in sums else more

    def _hit(self, sums: Sums) -> BoolArray:
        """bool[n]: nodes with a value that has a pod."""
        mask = np.zeros(self.nodes.count, np.bool_)
        for key, by_value in sums.items():
            mask |= (by_value > 0)[self.nodes.domain(key).codes]
        return mask


class AffinityDryRun(NodeDryRun):
    """The counts of one node's values."""

    def __init__(self, check: AffinityCheck, node: int) -> None:
        """Start with all pods on the node."""
        self._check = check
        self._node = node
        self._required_counts = {key: sums.copy() for key, sums in check.near.items()}
        self._forbidden_counts = {key: sums.copy() for key, sums in check.far.items()}
        self._forbidden = {key: sums.copy() for key, sums in check.shut.items()}

    def remove(self, pod: SchedulingFacts) -> None:
        """Remove a pod from the node."""
        self._count(pod, -1)

    def add(self, pod: SchedulingFacts) -> None:
        """Add a pod to the node."""
        self._count(pod, 1)

    def status(self) -> PluginStatus:
        """First refusal of the current node."""
        wanted = [(key, self._value(key)) for key, _ in self._check.wanted]
        if any(value == 0 for _, value in wanted):
            return NOT_NEAR
        missing = any(self._required_counts[key][value] <= 0 for key, value in wanted)
        if missing and not (self._check.selects_itself and not _pairs(self._required_counts)):
            return NOT_NEAR
        if self._hit(self._forbidden_counts):
            return NEAR
        return UNWANTED if self._hit(self._forbidden) else SUCCESS

    def _value(self, key: str) -> int:
        return int(self._check.nodes.domain(key).codes[self._node])

    def _hit(self, sums: Sums) -> bool:
        return any(by_value[self._value(key)] > 0 for key, by_value in sums.items())

    def _count(self, pod: SchedulingFacts, by: int) -> None:
        check = self._check
        asking = check.pod
        for term in pod.shape.terms.anti:
            if term.means(asking.namespace, asking.labels, check.namespace_labels):
                self._change(self._forbidden, term.key, by)
        if check.wanted and check.has_required_affinity(pod):
            for key, _ in check.wanted:
                self._change(self._required_counts, key, by)
        for key, each in check.unwanted:
            if each.means(pod.namespace, pod.labels):
                self._change(self._forbidden_counts, key, by)

    def _change(self, sums: Sums, key: str, by: int) -> None:
        value = self._value(key)
        if value and key not in sums:  # a term that no running pod has
            sums[key] = np.zeros(self._check.nodes.domain(key).size, np.int64)
        if value:
            sums[key][value] += by


def _pairs(sums: Sums) -> bool:
    """Return whether any label value has a pod."""
    return any(by_value.any() for by_value in sums.values())
