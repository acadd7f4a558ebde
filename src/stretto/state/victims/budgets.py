"""The ledger of PodDisruptionBudgets: the pods they cover, and the remaining disruptions.

The store reports the disruptions that a budget allows: an API server in the budget's status, an
embedded store by counting live pods. This module subtracts our own evictions that the store does
not count yet, so that two preemptors never use the same allowance.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from stretto.api.types.core import PodDisruptionBudget
from stretto.api.wire.selectors import Selector, label_selector
from stretto.base.errors import StrettoError
from stretto.state.cluster.cluster import Cluster

Allowances = Callable[[], Mapping[str, int]]
"""Currently allowed disruptions by budget uid, as computed by embedded stores."""

NO_BUDGETS: Final[tuple[int, ...]] = ()
"""Budgets of most pods: none."""


class BudgetFacts(NamedTuple):
    """One budget, compiled."""

    #: Namespace of the budget.
    namespace: str
    #: Name of the budget.
    name: str
    #: Uid of the budget.
    uid: str
    #: Selector of the covered pods; ``None`` if it is unreadable: then the budget covers no pods.
    selector: Selector | None
    #: ``disruptionsAllowed`` of its last seen status.
    allowed: int
    #: Names of pods that the status already counts as disrupted.
    disrupted: frozenset[str]


class BudgetLedger:
    """Budgets by number, and their remaining disruptions."""

    def __init__(self, cluster: Cluster, allowances: Allowances | None = None) -> None:
        """Follow the budgets of a cluster."""
        #: Budgets by number; numbers change with ``epoch``.
        self.budgets: list[BudgetFacts] = []
        #: int64[budget]: remaining disruptions as of the last ``sync``.
        self.remaining: npt.NDArray[np.int64] = np.zeros(0, np.int64)
        #: Incremented when budgets, or the pods they cover, are renumbered.
        self.epoch = 0
        self._cluster = cluster
        self._allowances = allowances
        self._seen = -1
        self._covers: dict[tuple[str, tuple[tuple[str, str], ...]], tuple[int, ...]] = {}
        self._by_namespace: dict[str, list[tuple[int, Selector]]] = {}

    def __bool__(self) -> bool:
        """Return whether any budget exists."""
        return bool(self._cluster.objects.budgets)

    def follow(self) -> None:
        """Recompile the budgets if one has changed."""
        objects = self._cluster.objects
        changes = None if self._seen < 0 else objects.changes_since(self._seen)
        self._seen = objects.head
        budget = PodDisruptionBudget.__name__
        if changes is not None and not any(kind == budget for kind, _, _ in changes):
            return
        made = [_compile(each) for _, each in sorted(objects.budgets.items())]
        if [each[:4] for each in made] != [each[:4] for each in self.budgets]:
            self._covers.clear()
            self.epoch += 1
        self.budgets = made
        self._by_namespace = {}
        for number, each in enumerate(made):
            if each.selector is not None:
                selectors = self._by_namespace.setdefault(each.namespace, [])
                selectors.append((number, each.selector))

    def sync(self) -> None:
        """Update the remaining disruptions from the store and the evictions in progress."""
        self.follow()
        if not self.budgets:
            self.remaining = np.zeros(0, np.int64)
            return
        allowances = self._allowances() if self._allowances is not None else None
        self.remaining = np.array(
            [
                each.allowed if allowances is None else allowances.get(each.uid, 0)
                for each in self.budgets
            ],
            np.int64,
        )
        self._subtract_pending(counted_by_store=allowances is not None)

    def of_row(self, row: int) -> tuple[int, ...]:
        """Numbers of the budgets that cover a pod."""
        if not self.budgets:
            return NO_BUDGETS
        tag, tags = int(self._cluster.pods.tag[row]), self._cluster.domains.tags
        namespace = tags.namespaces[tag]
        selectors = self._by_namespace.get(namespace)
        if selectors is None:
            return NO_BUDGETS
        labels = tags.labels_of(tag)
        key = (namespace, tuple(sorted(labels.items())))
        found = self._covers.get(key)
        if found is None:
            found = self._covers[key] = tuple(
                number for number, selector in selectors if selector.matches(labels)
            )
        return found

    def violating(self, rows: Iterable[int]) -> set[int]:
        """Pods whose eviction, in this order, violates a budget, counted as in kube-scheduler."""
        if not self.budgets:
            return set()
        remaining = self.remaining.copy()
        found = set()
        for row in rows:
            numbers = self.of_row(row)
            for number in numbers:
                remaining[number] -= 1
            if any(remaining[number] < 0 for number in numbers):
                found.add(row)
        return found

    def spend(self, rows: Iterable[int], sign: int = 1) -> None:
        """Count these pods as evicted, or (with ``sign`` -1) revert that."""
        for row in rows if self.budgets else ():
            for number in self.of_row(row):
                self.remaining[number] -= sign

    def names(self, row: int) -> list[str]:
        """``namespace/name`` of the budgets that cover a pod."""
        return [f"{b.namespace}/{b.name}" for b in (self.budgets[n] for n in self.of_row(row))]

    def _subtract_pending(self, *, counted_by_store: bool) -> None:
        """Subtract evictions that the store does not count yet."""
        pods = self._cluster.pods
        for row, eviction in self._cluster.evictions.in_progress.items():
            if pods.serial[row] != eviction.serial or eviction.cause is None:
                continue
            if counted_by_store and eviction.acknowledged:
                continue
            for number in self.of_row(row):
                if pods.name[row] not in self.budgets[number].disrupted:
                    self.remaining[number] -= 1


def _compile(budget: PodDisruptionBudget) -> BudgetFacts:
    meta, status = budget.metadata, budget.status
    where = f"poddisruptionbudget {meta.namespace}/{meta.name}: spec.selector"
    try:
        selector = label_selector(budget.spec.selector, where)
    except StrettoError:
        selector = None
    return BudgetFacts(
        meta.namespace,
        meta.name,
        meta.uid,
        selector,
        max(0, status.disruptions_allowed),
        frozenset(status.disrupted_pods),
    )
