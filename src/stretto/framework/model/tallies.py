"""Pods counted per node: the pods that a selector means, and the pods that state a term.

Spreading and affinity ask "how many pods like this are where". A count is made at the first
question and then follows every pod that comes or goes, so that a decision costs a few sums over
nodes and never a walk over pods. Pods with equal labels are one kin; a selector is asked per kin.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Final

import numpy as np

from stretto.framework.model.pod_facts import SchedulingFacts
from stretto.framework.model.status import IntArray
from stretto.framework.model.terms import AffinityTerm

TALLIES_KEPT: Final = 4096
"""Counts kept at once; beyond it the one asked for longest ago goes."""

Means = Callable[[str, Mapping[str, str]], bool]
"""Whether a namespace and labels are meant."""
KinKey = tuple[str, frozenset[tuple[str, str]], bool]


class PodTally:
    """How many pods of one kind each node has."""

    __slots__ = ("counts", "key", "means", "terminating_too")

    def __init__(self, key: Hashable, means: Means, size: int, *, terminating_too: bool) -> None:
        """Count pods that ``means`` means."""
        #: Name of the count.
        self.key = key
        #: The pods.
        self.means = means
        #: Whether pods count that are being deleted.
        self.terminating_too = terminating_too
        #: int64[n]: pods.
        self.counts: IntArray = np.zeros(size, np.int64)


class LabelGroup:
    """Pods with equal namespace and labels that are, or are not, being deleted."""

    __slots__ = ("labels", "namespace", "tallies", "terminating", "where")

    def __init__(self, namespace: str, labels: Mapping[str, str], terminating: bool) -> None:
        """Start with no pod."""
        #: Their namespace.
        self.namespace = namespace
        #: Their labels.
        self.labels = labels
        #: Whether they are being deleted.
        self.terminating = terminating
        #: Pods by node.
        self.where: dict[int, int] = {}
        #: Counts that they are in.
        self.tallies: list[PodTally] = []

    def is_selected(self, tally: PodTally) -> bool:
        """Whether a count counts them."""
        if self.terminating and not tally.terminating_too:
            return False
        return tally.means(self.namespace, self.labels)


class TermGroup:
    """All running pods that state one term."""

    __slots__ = ("counts", "meant", "term", "total")

    def __init__(self, term: AffinityTerm, size: int) -> None:
        """Start with no pod."""
        #: The term.
        self.term = term
        #: int64[n]: pods.
        self.counts: IntArray = np.zeros(size, np.int64)
        #: Pods in all.
        self.total = 0
        #: Whether it means the pods of a kin, by what was asked before.
        self.meant: dict[Hashable, bool] = {}


class TermTable(dict[AffinityTerm, TermGroup]):
    """Terms of one kind (required against, preferred for, ...) with the pods that state them."""


class RunningPods:
    """All running pods, counted."""

    def __init__(self) -> None:
        """Start with no node and no pod."""
        #: Required affinity of running pods.
        self.affinity = TermTable()
        #: Required anti-affinity of running pods.
        self.anti = TermTable()
        #: Preferred affinity of running pods.
        self.preferred = TermTable()
        #: Preferred anti-affinity of running pods.
        self.anti_preferred = TermTable()
        self._size = 0
        self._kin: dict[KinKey, LabelGroup] = {}
        self._tallies: dict[Hashable, PodTally] = {}

    def grow(self, size: int) -> None:
        """Make room for nodes."""
        more = size - self._size
        if more <= 0:
            return
        self._size = size
        zeros = np.zeros(more, np.int64)
        for tally in self._tallies.values():
            tally.counts = np.concatenate([tally.counts, zeros])
        for kind in self._kinds():
            for group in kind.values():
                group.counts = np.concatenate([group.counts, zeros])

    def count(self, pod: SchedulingFacts, node: int, by: int) -> None:
        """Add (1) or take away (-1) a pod."""
        kin = self._label_group_of(pod)
        left = kin.where.get(node, 0) + by
        if left:
            kin.where[node] = left
        else:
            del kin.where[node]
        for tally in kin.tallies:
            tally.counts[node] += by
        terms = pod.shape.terms
        if any(terms):
            for kind, mine in zip(self._kinds(), terms, strict=True):
                for term in mine:
                    self._count_term(kind, term, node, by)

    def tally(self, key: Hashable, means: Means, *, terminating_too: bool) -> IntArray:
        """int64[n]: pods that are meant; kept under ``key`` and up to date from now on."""
        found = self._tallies.pop(key, None)
        if found is None:
            found = self._make(key, means, terminating_too)
            if len(self._tallies) >= TALLIES_KEPT:
                self._drop(next(iter(self._tallies)))
        self._tallies[key] = found
        return found.counts

    def meaning(
        self, kind: TermTable, pod: SchedulingFacts, namespace_labels: Mapping[str, str]
    ) -> Iterable[TermGroup]:
        """Groups of running pods whose term means a pod."""
        if not kind:
            return
        labels = pod.labels
        asked = (pod.namespace, frozenset(labels.items()), frozenset(namespace_labels.items()))
        for group in kind.values():
            meant = group.meant.get(asked)
            if meant is None:
                if len(group.meant) >= TALLIES_KEPT:
                    group.meant.clear()
                meant = group.term.means(pod.namespace, labels, namespace_labels)
                group.meant[asked] = meant
            if meant:
                yield group

    def _kinds(self) -> tuple[TermTable, ...]:
        """In the order of ``Terms``."""
        return (self.affinity, self.anti, self.preferred, self.anti_preferred)

    def _count_term(self, kind: TermTable, term: AffinityTerm, node: int, by: int) -> None:
        group = kind.get(term)
        if group is None:
            group = kind[term] = TermGroup(term, self._size)
        group.counts[node] += by
        group.total += by
        if not group.total:
            del kind[term]

    def _label_group_of(self, pod: SchedulingFacts) -> LabelGroup:
        key = (pod.namespace, frozenset(pod.labels.items()), pod.terminating)
        kin = self._kin.get(key)
        if kin is None:
            kin = self._kin[key] = LabelGroup(pod.namespace, pod.labels, pod.terminating)
            kin.tallies = [each for each in self._tallies.values() if kin.is_selected(each)]
        return kin

    def _make(self, key: Hashable, means: Means, terminating_too: bool) -> PodTally:
        tally = PodTally(key, means, self._size, terminating_too=terminating_too)
        for kin in self._kin.values():
            if kin.is_selected(tally):
                kin.tallies.append(tally)
                for node, pods in kin.where.items():
                    tally.counts[node] += pods
        return tally

    def _drop(self, key: Hashable) -> None:
        gone = self._tallies.pop(key)
        for kin in self._kin.values():
            if gone in kin.tallies:
                kin.tallies.remove(gone)
