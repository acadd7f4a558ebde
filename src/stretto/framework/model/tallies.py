"""Pod counts per node: the pods that match a selector, and the pods that declare a term.

Topology spread and affinity need the number of matching pods per node. A count is computed on first
use and then follows every added or removed pod. Therefore a decision costs a few sums over nodes
and never a loop over pods. Pods with equal labels form one group; a selector is evaluated per
group.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Final

import numpy as np

from stretto.framework.model.pod_facts import SchedulingFacts
from stretto.framework.model.status import IntArray
from stretto.framework.model.terms import AffinityTerm

TALLIES_KEPT: Final = 4096
"""Maximum number of cached counts; beyond it the least recently used one is dropped."""

Means = Callable[[str, Mapping[str, str]], bool]
"""Predicate on a namespace and labels."""
GroupKey = tuple[str, frozenset[tuple[str, str]], bool]


class PodTally:
    """The number of matching pods on each node."""

    __slots__ = ("counts", "key", "means", "terminating_too")

    def __init__(self, key: Hashable, means: Means, size: int, *, terminating_too: bool) -> None:
        """Count the pods for which ``means`` is true."""
        #: Name of the count.
        self.key = key
        #: Predicate on the counted pods.
        self.means = means
        #: True if terminating pods count.
        self.terminating_too = terminating_too
        #: int64[n]: number of pods.
        self.counts: IntArray = np.zeros(size, np.int64)


class LabelGroup:
    """Pods with equal namespace and labels, either all terminating or none."""

    __slots__ = ("labels", "namespace", "tallies", "terminating", "where")

    def __init__(self, namespace: str, labels: Mapping[str, str], terminating: bool) -> None:
        """Start without pods."""
        #: Namespace of the pods.
        self.namespace = namespace
        #: Labels of the pods.
        self.labels = labels
        #: True if the pods are terminating.
        self.terminating = terminating
        #: Number of pods by node.
        self.where: dict[int, int] = {}
        #: Counts that include these pods.
        self.tallies: list[PodTally] = []

    def is_selected(self, tally: PodTally) -> bool:
        """Return whether a count includes these pods."""
        if self.terminating and not tally.terminating_too:
            return False
        return tally.means(self.namespace, self.labels)


class TermGroup:
    """All running pods that declare one term."""

    __slots__ = ("counts", "meant", "term", "total")

    def __init__(self, term: AffinityTerm, size: int) -> None:
        """Start without pods."""
        #: The term.
        self.term = term
        #: int64[n]: number of pods.
        self.counts: IntArray = np.zeros(size, np.int64)
        #: Total number of pods.
        self.total = 0
        #: By group: true if the term selects its pods; cached.
        self.meant: dict[Hashable, bool] = {}


class TermTable(dict[AffinityTerm, TermGroup]):
    """Terms of one kind (required anti-affinity, ...) with the pods that declare them."""


class RunningPods:
    """All running pods, counted."""

    def __init__(self) -> None:
        """Start without nodes and pods."""
        #: Required affinity of running pods.
        self.affinity = TermTable()
        #: Required anti-affinity of running pods.
        self.anti = TermTable()
        #: Preferred affinity of running pods.
        self.preferred = TermTable()
        #: Preferred anti-affinity of running pods.
        self.anti_preferred = TermTable()
        self._size = 0
        self._groups: dict[GroupKey, LabelGroup] = {}
        self._tallies: dict[Hashable, PodTally] = {}

    def grow(self, size: int) -> None:
        """Add nodes."""
        more = size - self._size
        if more <= 0:
            return
        self._size = size
        zeros = np.zeros(more, np.int64)
        for tally in self._tallies.values():
            tally.counts = np.concatenate([tally.counts, zeros])
        for table in self._tables():
            for group in table.values():
                group.counts = np.concatenate([group.counts, zeros])

    def count(self, pod: SchedulingFacts, node: int, by: int) -> None:
        """Add (1) or remove (-1) a pod."""
        group = self._label_group_of(pod)
        left = group.where.get(node, 0) + by
        if left:
            group.where[node] = left
        else:
            del group.where[node]
        for tally in group.tallies:
            tally.counts[node] += by
        terms = pod.shape.terms
        if any(terms):
            for table, mine in zip(self._tables(), terms, strict=True):
                for term in mine:
                    self._count_term(table, term, node, by)

    def tally(self, key: Hashable, means: Means, *, terminating_too: bool) -> IntArray:
        """int64[n]: number of matching pods; cached under ``key`` and updated from then on."""
        found = self._tallies.pop(key, None)
        if found is None:
            found = self._make(key, means, terminating_too)
            if len(self._tallies) >= TALLIES_KEPT:
                self._drop(next(iter(self._tallies)))
        self._tallies[key] = found
        return found.counts

    def meaning(
        self, table: TermTable, pod: SchedulingFacts, namespace_labels: Mapping[str, str]
    ) -> Iterable[TermGroup]:
        """Groups of running pods whose term selects a pod."""
        if not table:
            return
        labels = pod.labels
        label_key = (pod.namespace, frozenset(labels.items()), frozenset(namespace_labels.items()))
        for group in table.values():
            meant = group.meant.get(label_key)
            if meant is None:
                if len(group.meant) >= TALLIES_KEPT:
                    group.meant.clear()
                meant = group.term.means(pod.namespace, labels, namespace_labels)
                group.meant[label_key] = meant
            if meant:
                yield group

    def _tables(self) -> tuple[TermTable, ...]:
        """Tables in the order of ``AffinityTerms``."""
        return (self.affinity, self.anti, self.preferred, self.anti_preferred)

    def _count_term(self, table: TermTable, term: AffinityTerm, node: int, by: int) -> None:
        group = table.get(term)
        if group is None:
            group = table[term] = TermGroup(term, self._size)
        group.counts[node] += by
        group.total += by
        if not group.total:
            del table[term]

    def _label_group_of(self, pod: SchedulingFacts) -> LabelGroup:
        key = (pod.namespace, frozenset(pod.labels.items()), pod.terminating)
        group = self._groups.get(key)
        if group is None:
            group = self._groups[key] = LabelGroup(pod.namespace, pod.labels, pod.terminating)
            group.tallies = [each for each in self._tallies.values() if group.is_selected(each)]
        return group

    def _make(self, key: Hashable, means: Means, terminating_too: bool) -> PodTally:
        tally = PodTally(key, means, self._size, terminating_too=terminating_too)
        for group in self._groups.values():
            if group.is_selected(tally):
                group.tallies.append(tally)
                for node, pods in group.where.items():
                    tally.counts[node] += pods
        return tally

    def _drop(self, key: Hashable) -> None:
        dropped = self._tallies.pop(key)
        for group in self._groups.values():
            if dropped in group.tallies:
                group.tallies.remove(dropped)
