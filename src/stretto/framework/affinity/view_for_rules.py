"""The pod counts by slot and by domain that inter-pod rules read.

The view stores no sums: it computes them from the counts by slot on every call. This is slow and
simple, which suits the reference implementation of the kernels, and fast enough for explanations.
"""

import numpy as np
import numpy.typing as npt

from stretto.framework.affinity.compile import DomainTables
from stretto.framework.affinity.counts import DomainView
from stretto.state.classes.table import PodClass
from stretto.state.classes.terms import NO_POPULATION, SpreadConstraint
from stretto.state.cluster.cluster import Cluster

Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


class RuleView:
    """Counts and domains of all slots."""

    def __init__(self, view: DomainView) -> None:
        """Read the current state of a view."""
        self._view = view
        self._key_domains = view.tables.key_domains

    def exclude_pod(self, class_id: int, slot: int) -> None:
        """Ignore one pod of a class on its slot from now on."""
        self._view.ready(np.array([class_id], np.int32))
        self._view.take(class_id, slot, -1)

    @property
    def size(self) -> int:
        """Number of slots."""
        return self._key_domains.size

    def domain(self, key: str) -> Ints:
        """int64[slot]: number of the label value; 0 where the node lacks the label."""
        number = self._key_domains.key(key)
        return np.asarray(self._key_domains.domain[number], np.int64)

    def is_host(self, key: str) -> bool:
        """Return whether each node has its own value of the label."""
        number = self._key_domains.key(key)  # first, because a new key replaces the array
        return bool(self._key_domains.is_host[number])

    def pods(self, population: int) -> Ints:
        """int64[slot]: pods of a population."""
        pods = self._view.state.pods
        if population == NO_POPULATION or population >= len(pods):
            return np.zeros(self.size, np.int64)
        return np.asarray(pods[population], np.int64)

    def live(self) -> Mask:
        """bool[slot]: where a node exists."""
        return np.asarray(self._key_domains.mask[0] > 0)

    def counting(
        self, pod: PodClass, spread: SpreadConstraint, among: tuple[SpreadConstraint, ...]
    ) -> Mask:
        """bool[slot]: nodes that count for one of several constraints."""
        keys = tuple(sorted({self._key_domains.key(each.key) for each in among}))
        number = self._key_domains.mask_of(
            pod, keys, by_affinity=spread.by_affinity, by_taints=spread.by_taints
        )
        return np.asarray(self._key_domains.mask[number] > 0)

    def sums(self, population: int, key: str, within: Mask | None = None) -> Ints:
        """int64[domain]: pods of a population by value; entry 0 is always 0."""
        domain, pods = self.domain(key), self.pods(population)
        if within is not None:
            pods = pods * within
        sums = np.bincount(domain, pods).astype(np.int64)
        sums[:1] = 0
        return sums

    def present(self, key: str, within: Mask) -> Mask:
        """bool[domain]: values that a node of a mask has."""
        found: Mask = np.bincount(self.domain(key), within) > 0
        found[:1] = False
        return found


def current_view(tables: DomainTables, cluster: Cluster) -> RuleView | None:
    """Copy the current pod counts; ``None`` if no rule counts pods."""
    if not cluster.domains.populations:
        return None
    view = DomainView(tables, cluster)
    view.sync()
    return RuleView(view)
