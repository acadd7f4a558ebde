"""The ledger of disruption budgets: which pods they cover, and how many more may leave.

The store says how many disruptions a budget allows: an API server in the budget's status, an
embedded store by counting live pods. What we have asked to leave and the store does not count yet
is taken off here, so that two preemptors never spend the same allowance.
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
"""Disruptions that each budget allows now, by uid: what embedded stores count themselves."""

NO_BUDGETS: Final[tuple[int, ...]] = ()
"""The budgets of most pods."""


class BudgetFacts(NamedTuple):
    """One budget, compiled."""

    #: Its namespace.
    namespace: str
    #: Its name.
    name: str
    #: Its uid.
    uid: str
    #: The pods that it covers; ``None`` where the selector cannot be read: then it covers nobody.
    selector: Selector | None
    #: What its status allowed when it was last seen.
    allowed: int
    #: Names of pods that the status counts as leaving already.
    disrupted: frozenset[str]


class BudgetLedger:
    """Budgets by number, and what is left of each."""

    def __init__(self, cluster: Cluster, allowances: Allowances | None = None) -> None:
        """Follow the budgets of a cluster."""
        #: Budgets by number; numbers change with ``epoch``.
        self.budgets: list[BudgetFacts] = []
        #: int64[budget]: how many more pods may leave, as of the last ``sync``.
        self.left: npt.NDArray[np.int64] = np.zeros(0, np.int64)
        #: Rises when budgets, or the pods they cover, are numbered anew.
        self.epoch = 0
        self._cluster = cluster
        self._allowances = allowances
        self._seen = -1
        self._covers: dict[tuple[str, tuple[tuple[str, str], ...]], tuple[int, ...]] = {}
        self._by_namespace: dict[str, list[tuple[int, Selector]]] = {}

    def __bool__(self) -> bool:
        """Whether there is any budget."""
        return bool(self._cluster.objects.budgets)

    def follow(self) -> None:
        """Compile the budgets again where one has changed."""
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
                near = self._by_namespace.setdefault(each.namespace, [])
                near.append((number, each.selector))

    def sync(self) -> None:
        """Bring what is left up to date with the store and with who is leaving."""
        self.follow()
        if not self.budgets:
            self.left = np.zeros(0, np.int64)
            return
        told = self._allowances() if self._allowances is not None else None
        self.left = np.array(
            [each.allowed if told is None else told.get(each.uid, 0) for each in self.budgets],
            np.int64,
        )
        self._charge_promised(counted_by_store=told is not None)

    def of_row(self, row: int) -> tuple[int, ...]:
        """Numbers of the budgets that cover a pod."""
        if not self.budgets:
            return NO_BUDGETS
        tag, tags = int(self._cluster.pods.tag[row]), self._cluster.domains.tags
        namespace = tags.namespaces[tag]
        near = self._by_namespace.get(namespace)
        if near is None:
            return NO_BUDGETS
        labels = tags.labels_of(tag)
        key = (namespace, tuple(sorted(labels.items())))
        found = self._covers.get(key)
        if found is None:
            found = self._covers[key] = tuple(
                number for number, selector in near if selector.matches(labels)
            )
        return found

    def violating(self, rows: Iterable[int]) -> set[int]:
        """Which of these pods, leaving in this order, break a budget (as kube-scheduler counts)."""
        if not self.budgets:
            return set()
        left = self.left.copy()
        found = set()
        for row in rows:
            numbers = self.of_row(row)
            for number in numbers:
                left[number] -= 1
            if any(left[number] < 0 for number in numbers):
                found.add(row)
        return found

    def spend(self, rows: Iterable[int], sign: int = 1) -> None:
        """These pods are asked to leave, or (with ``sign`` -1) not after all."""
        for row in rows if self.budgets else ():
            for number in self.of_row(row):
                self.left[number] -= sign

    def names(self, row: int) -> list[str]:
        """Names of the budgets that cover a pod, with their namespaces."""
        return [f"{b.namespace}/{b.name}" for b in (self.budgets[n] for n in self.of_row(row))]

    def _charge_promised(self, *, counted_by_store: bool) -> None:
        """Take off who was asked to leave and is not counted by the store yet."""
        pods = self._cluster.pods
        for row, leaving in self._cluster.evictions.in_progress.items():
            if pods.serial[row] != leaving.serial or leaving.cause is None:
                continue
            if counted_by_store and leaving.acknowledged:
                continue
            for number in self.of_row(row):
                if pods.name[row] not in self.budgets[number].disrupted:
                    self.left[number] -= 1


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
