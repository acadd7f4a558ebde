"""InterPodAffinity: near these pods, not near those; and what running pods say of newcomers.

Required affinity needs one pod that matches all terms; a pod that matches its own terms may be the
first, where no node with one of the labels has such a pod. Required affinity of running pods counts
1 in the score, whatever the pod itself wishes.
"""

from collections.abc import Iterable
from typing import ClassVar, Final

import numpy as np

from stretto.framework.model.nodes import NodeColumns
from stretto.framework.model.normalise import TOP, at
from stretto.framework.model.plugin import Check, FilterPlugin, ScorePlugin, Trial
from stretto.framework.model.pod_facts import PodFacts
from stretto.framework.model.snapshot import Snapshot
from stretto.framework.model.status import (
    SKIP,
    SUCCESS,
    BoolArray,
    IntArray,
    Status,
    Verdict,
    refuse_each,
    unresolvable,
    unschedulable,
)
from stretto.framework.model.tallies import TermKind
from stretto.framework.model.terms import Reach, Term
from stretto.state.classes.terms import Regard
from stretto.state.objects import Objects

NAME: Final = "InterPodAffinity"
NOT_NEAR: Final = unresolvable("node(s) didn't match pod affinity rules")
NEAR: Final = unschedulable("node(s) didn't match pod anti-affinity rules")
UNWANTED: Final = unschedulable("node(s) didn't satisfy existing pods anti-affinity rules")

BY_DEFAULT: Final = Regard()
"""Required affinity of running pods counts 1, for every pod."""

Sums = dict[str, IntArray]
"""Matching pods by label and value."""


class InterPodAffinity(FilterPlugin, ScorePlugin):
    """Refuses by required terms, prefers by preferred ones."""

    NAME: ClassVar[str] = NAME
    WEIGHT: ClassVar[int] = 2

    def prefilter(self, pod: PodFacts, snapshot: Snapshot) -> Check | Status:
        """The pod's terms and those of running pods that mean it; skipped without either."""
        if pod.shape.malformed:
            return unresolvable(f"parsing pod: {pod.shape.malformed}")
        check = AffinityCheck(pod, snapshot)
        return check if check.matters else SKIP

    def score(self, pod: PodFacts, snapshot: Snapshot, feasible: IntArray) -> IntArray | None:
        """The weights of all preferred terms, spread between the least and the largest."""
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


def reach(term: Term, objects: Objects) -> Reach:
    """The pods that a term of the asking pod means."""
    selector = term.namespace_selector
    if selector.matches({}):
        return Reach(None, term.selector)
    return Reach(term.namespaces | objects.namespaces_with(selector), term.selector)


def near(snapshot: Snapshot, reaches: tuple[Reach, ...]) -> IntArray:
    """int64[n]: pods that all of these mean."""
    return snapshot.population.tally(
        ("near", reaches),
        lambda namespace, labels: all(each.means(namespace, labels) for each in reaches),
        terminating_too=True,
    )


def raw_scores(pod: PodFacts, snapshot: Snapshot, regard: Regard = BY_DEFAULT) -> IntArray | None:
    """int64[n]: weights before normalising; None where no term touches a node with its label.

    ``regard`` says what terms of running pods count, as ``InterPodAffinityArgs`` may.
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
    if regard.mutual and not (terms.preferred or terms.shunned):
        return None
    for mine, sign in ((terms.preferred, 1), (terms.shunned, -1)):
        for term in mine:
            count(term.key, near(snapshot, (reach(term, snapshot.objects),)), sign * term.weight)
    labels = snapshot.objects.namespace_labels(pod.namespace)
    affinity = (population.affinity, regard.required)
    kinds = (affinity, (population.preferred, 1), (population.shunned, -1))
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


class AffinityCheck(Check):
    """Required terms, of the pod and of running pods, against all nodes."""

    def __init__(self, pod: PodFacts, snapshot: Snapshot) -> None:
        """Count matching pods by value."""
        terms, objects = pod.shape.terms, snapshot.objects
        #: The asking pod.
        self.pod = pod
        #: Labels of its namespace.
        self.namespace_labels = objects.namespace_labels(pod.namespace)
        #: The nodes.
        self.nodes: NodeColumns = snapshot.nodes
        #: Its required affinity, as pods that are meant.
        self.wanted = tuple((each.key, reach(each, objects)) for each in terms.affinity)
        #: Its required anti-affinity, likewise.
        self.unwanted = tuple((each.key, reach(each, objects)) for each in terms.anti)
        #: Pods that meet all wanted terms.
        self.near: Sums = {}
        #: Pods that meet an unwanted term.
        self.far: Sums = {}
        #: Running pods whose anti-affinity means the pod.
        self.shut: Sums = self._shut(snapshot, snapshot.population.anti)
        if self.wanted:
            counts = near(snapshot, tuple(each for _, each in self.wanted))
            self._add(self.near, [(key, counts) for key, _ in self.wanted])
        self._add(self.far, [(key, near(snapshot, (each,))) for key, each in self.unwanted])
        #: Whether anything is asked.
        self.matters = bool(terms.affinity or terms.anti or _pairs(self.shut))
        #: Whether the pod meets its own terms.
        self.meets_itself = bool(self.wanted) and self.is_near(pod)

    def verdict(self) -> Verdict | None:
        """First affinity, then anti-affinity, then that of running pods."""
        count = self.nodes.count
        lacking, bare = np.zeros(count, np.bool_), np.zeros(count, np.bool_)
        for key, _ in self.wanted:
            codes = self.nodes.domain(key).codes
            bare |= codes == 0
            lacking |= (self.near[key] <= 0)[codes]
        if self.meets_itself and not _pairs(self.near):
            lacking = bare
        statuses = [
            (lacking | bare, NOT_NEAR),
            (self._hit(self.far), NEAR),
            (self._hit(self.shut), UNWANTED),
        ]
        return refuse_each(count, statuses)

    def trial(self, node: int) -> Trial:
        """The counts of the node's own values as pods leave."""
        return AffinityTrial(self, node)

    def is_near(self, pod: PodFacts) -> bool:
        """Whether a pod meets all wanted terms."""
        return all(each.means(pod.namespace, pod.labels) for _, each in self.wanted)

    def _shut(self, snapshot: Snapshot, kind: TermKind) -> Sums:
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


class AffinityTrial(Trial):
    """The counts of one node's values."""

    def __init__(self, check: AffinityCheck, node: int) -> None:
        """Begin with all pods."""
        self._check = check
        self._node = node
        self._near = {key: sums.copy() for key, sums in check.near.items()}
        self._far = {key: sums.copy() for key, sums in check.far.items()}
        self._shut = {key: sums.copy() for key, sums in check.shut.items()}

    def remove(self, pod: PodFacts) -> None:
        """A pod leaves the node."""
        self._count(pod, -1)

    def add(self, pod: PodFacts) -> None:
        """A pod comes back."""
        self._count(pod, 1)

    def status(self) -> Status:
        """What refuses the node now."""
        wanted = [(key, self._value(key)) for key, _ in self._check.wanted]
        if any(value == 0 for _, value in wanted):
            return NOT_NEAR
        missing = any(self._near[key][value] <= 0 for key, value in wanted)
        if missing and not (self._check.meets_itself and not _pairs(self._near)):
            return NOT_NEAR
        if self._hit(self._far):
            return NEAR
        return UNWANTED if self._hit(self._shut) else SUCCESS

    def _value(self, key: str) -> int:
        return int(self._check.nodes.domain(key).codes[self._node])

    def _hit(self, sums: Sums) -> bool:
        return any(by_value[self._value(key)] > 0 for key, by_value in sums.items())

    def _count(self, pod: PodFacts, by: int) -> None:
        check = self._check
        asking = check.pod
        for term in pod.shape.terms.anti:
            if term.means(asking.namespace, asking.labels, check.namespace_labels):
                self._change(self._shut, term.key, by)
        if check.wanted and check.is_near(pod):
            for key, _ in check.wanted:
                self._change(self._near, key, by)
        for key, each in check.unwanted:
            if each.means(pod.namespace, pod.labels):
                self._change(self._far, key, by)

    def _change(self, sums: Sums, key: str, by: int) -> None:
        value = self._value(key)
        if value and key not in sums:  # a term that no running pod states
            sums[key] = np.zeros(self._check.nodes.domain(key).size, np.int64)
        if value:
            sums[key][value] += by


def _pairs(sums: Sums) -> bool:
    """Whether any label value has a pod."""
    return any(by_value.any() for by_value in sums.values())
