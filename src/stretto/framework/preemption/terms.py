"""Terms of an eviction: the pods that a preemptor may evict by priority or by a guarantee.

By priority, a preemptor evicts pods of lower priority, except those that a queue's guarantee
protects from it. By a guarantee, a pod evicts pods of borrowing queues, in the resources that the
guarantee names. The victim index does not include queues: nodes on which a guarantee protects a pod
are simulated one by one, without the protected pods (``NodeProtection``).
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Final, NamedTuple, Protocol

import msgspec
import numpy as np
import numpy.typing as npt

from stretto.framework.compiled.one_node import Preemptor
from stretto.state.cluster.cluster import Cluster
from stretto.state.queries.fit_after import devices_after_eviction
from stretto.state.queries.pool import DEVICES
from stretto.state.queues.guarantees import EvictionRight, GuaranteeBalance
from stretto.state.queues.tree import QueueBranch
from stretto.state.queues.usage import QueueUsage
from stretto.state.rows.lifecycle import PodState
from stretto.state.rows.pods import NO_SLOT
from stretto.state.victims.rules import UNPROTECTED, PreemptionRules, guard_against, may_preempt
from stretto.state.work.evictions import EvictionState

Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
UsageOf = Callable[[], QueueUsage | None]
"""The usage of queues now; ``None`` if no queue is configured."""

NO_USAGE: Final[UsageOf] = lambda: None
"""Usage without queues: guarantees protect no pod."""


class NodeProtection(NamedTuple):
    """Nodes and pods that guarantees protect from a search for victims."""

    #: bool[slot]: nodes to simulate one by one; the victim index decides on the others.
    slots: Mask
    #: Returns the rows on a slot that must not be evicted.
    kept_on: Callable[[int], Collection[int]]
    #: int64[k]: the other rows on these nodes, an upper bound of the victims.
    rows: Ints
    #: Columns that evictions may free; ``None`` for all.
    columns: Collection[int] | None = None
    #: True if no pod may be evicted on other nodes: then the victim index is not searched.
    is_everywhere: bool = False


class ColumnUsage(NamedTuple):
    """Usage of a queue in one column by pods that may be evicted."""

    #: Column of the resource.
    column: int
    #: int64[k]: amount of each pod.
    of_row: Ints
    #: int64[slot]: sum of the pods on each node.
    of_slot: Ints


class EvictionTerms(Protocol):
    """The rights by which a pod evicts others."""

    #: Rules of the profile that apply.
    rules: PreemptionRules

    def begin(self) -> None:
        """Start a cycle without promises."""

    def is_guarding(self) -> bool:
        """True if guarantees may protect pods in this cycle: equal pods then search one by one."""
        ...

    def preemptor(self, row: int) -> Preemptor:
        """Return a pod, with the priority below which pods are its victims."""
        ...

    def may_search(self, row: int) -> bool:
        """Return whether a search for victims of a pod is useful."""
        ...

    def protection(self, row: int) -> NodeProtection | None:
        """Nodes and pods that guarantees protect from a pod; ``None`` if they protect none."""
        ...

    def allows(self, row: int, victims: Sequence[int], now: float) -> bool:
        """Return whether a pod may evict all of these together, budgets aside."""
        ...

    def leave(self, rows: Iterable[int]) -> None:
        """Count pods as evicted."""

    def come_back(self, rows: Iterable[int]) -> None:
        """Revert ``leave`` for these rows."""


class PriorityTerms:
    """A preemptor evicts pods of lower priority that no guarantee protects from it."""

    def __init__(self, cluster: Cluster, rules: PreemptionRules, usage: UsageOf = NO_USAGE) -> None:
        """Evict by a profile's rules; without ``usage``, guarantees protect no pod."""
        self.rules = rules
        self._cluster = cluster
        self._usage = usage
        self._balance: GuaranteeBalance | None = None
        self._is_read = False
        #: Data that a cycle has read: by priority, and by queue and priority.
        self._rows: dict[int, Ints] = {}
        self._usages: dict[tuple[QueueBranch, int], tuple[Ints, list[ColumnUsage]]] = {}

    def begin(self) -> None:
        """Start a cycle without promises."""
        self._is_read = False
        self._rows.clear()
        self._usages.clear()

    def is_guarding(self) -> bool:
        """Return whether guarantees may protect pods in this cycle."""
        return self.balance is not None

    @property
    def balance(self) -> GuaranteeBalance | None:
        """Usage without the pods being evicted; ``None`` if guarantees protect no pod."""
        if not self._is_read:
            usage = self._usage() if self.rules.guarantees_first else None
            known = usage is not None and usage.tree.any_guarantees
            leaving = self._cluster.evictions.in_progress
            self._balance = GuaranteeBalance(usage, leaving) if usage and known else None
            self._is_read = True
        return self._balance

    def queue_of(self, row: int) -> str:
        """The queue of a pod; empty if guarantees protect no pod."""
        return "" if self.balance is None else self.balance.usage.queue_of(row)

    def preemptor(self, row: int) -> Preemptor:
        """Return a pod, with the priority below which pods are its victims."""
        pods = self._cluster.pods
        return Preemptor(int(pods.class_id[row]), int(pods.priority[row]))

    def may_search(self, row: int) -> bool:
        """Return whether any pod may have a lower priority, and the pod may preempt."""
        pods = self._cluster.pods
        return int(pods.priority[row]) > pods.lowest and may_preempt(self._cluster, row)

    def protection(self, row: int) -> NodeProtection | None:
        """Nodes on which a guarantee protects pods from a preemptor; ``None`` for none."""
        balance = self.balance
        if balance is None:
            return None
        tree = balance.usage.tree
        queue, priority = tree.leaf(balance.usage.queue_of(row)), self.preemptor(row).priority
        slots = np.zeros(self._cluster.ledger.slots.size, np.bool_)
        protected = np.zeros(self._cluster.pods.length, np.bool_)
        for branch in tree:
            if branch.guarantee and branch not in queue.path:
                self._add_protected(branch, priority, slots, protected)
        if not slots.any():
            return None
        rows = self._rows_below(priority)
        rows = rows[slots[self._cluster.pods.slot[rows]]]
        rows = rows[~protected[rows]]
        may_go = lambda each: balance.protector(each, queue) is None
        leave = lambda each: balance.leaving_in_turn(each, may_go)
        return NodeProtection(slots, _kept_by_turns(self._cluster, priority, leave), rows)

    def _add_protected(
        self, branch: QueueBranch, priority: int, slots: Mask, protected: Mask
    ) -> None:
        """Add the nodes and pods that the guarantee of one queue protects.

        A node is added if the queue would fall below its guarantee without all its pods of lower
        priority there. A pod is added if the queue would fall below its guarantee without this pod
        alone.
        """
        balance = self.balance
        assert balance is not None
        rows, usages = self._usages_below(branch, priority)
        for column, of_row, of_slot in usages:
            spare = balance.spare(branch, column)
            slots |= (of_slot > spare) & (of_slot > 0)
            protected[rows[(of_row > spare) & (of_row > 0)]] = True

    def _rows_below(self, priority: int) -> Ints:
        """Rows below a priority on nodes, read once for each cycle."""
        if priority not in self._rows:
            self._rows[priority] = _rows_on_nodes(self._cluster, priority)
        return self._rows[priority]

    def _usages_below(self, branch: QueueBranch, priority: int) -> tuple[Ints, list[ColumnUsage]]:
        """Rows of a queue below a priority, and their usage, read once for each cycle."""
        key = (branch, priority)
        if key not in self._usages:
            self._usages[key] = self._read_usages(branch, priority)
        return self._usages[key]

    def _read_usages(self, branch: QueueBranch, priority: int) -> tuple[Ints, list[ColumnUsage]]:
        balance, pods = self.balance, self._cluster.pods
        assert balance is not None
        rows = np.fromiter(balance.usage.rows_under(branch), np.int64)
        stays = (pods.slot[rows] != NO_SLOT) & (pods.eviction_state[rows] == EvictionState.NONE)
        rows = rows[stays & (pods.priority[rows] < priority)]
        ids, which = np.unique(pods.class_id[rows], return_inverse=True)
        requests = [dict(balance.usage.pool.requests_of(each)) for each in ids.tolist()]
        found = []
        for column in branch.guarantee:
            of_class = np.array([each.get(column, 0) for each in requests], np.int64)
            of_row = of_class[which]
            of_slot = np.zeros(self._cluster.ledger.slots.size, np.int64)
            np.add.at(of_slot, pods.slot[rows], of_row)
            found.append(ColumnUsage(column, of_row, of_slot))
        return rows, found

    def allows(self, row: int, victims: Sequence[int], now: float) -> bool:
        """True if no rule protects any of these and no queue falls below its guarantee."""
        unguarded = _are_unguarded(self._cluster, self.rules, self.preemptor(row), victims, now)
        return unguarded and self.keeps_guarantees(row, victims)

    def keeps_guarantees(self, row: int, victims: Sequence[int]) -> bool:
        """Return whether no queue falls below its guarantee without all of these pods."""
        balance = self.balance
        if balance is None:
            return True
        queue = balance.usage.tree.leaf(balance.usage.queue_of(row))
        return balance.all_may_leave(victims, lambda each: balance.protector(each, queue) is None)

    def leave(self, rows: Iterable[int]) -> None:
        """Count pods as evicted."""
        if self.balance is not None:
            self.balance.leave(rows)

    def come_back(self, rows: Iterable[int]) -> None:
        """Revert ``leave`` for these rows."""
        if self.balance is not None:
            self.balance.come_back(rows)


class ReclaimTerms:
    """A pod within its queue's guarantee evicts pods of borrowing queues."""

    def __init__(
        self,
        cluster: Cluster,
        rules: PreemptionRules,
        is_spared: Callable[[int], bool] = lambda _: False,
    ) -> None:
        """Evict by a profile's rules; budgets are hard.

        Args:
            cluster: the cluster.
            rules: the rules of the profile.
            is_spared: predicate on a row: the pod must not be evicted for a reason other than its
                rules.
        """
        self.rules = msgspec.structs.replace(rules, hard_budgets=True)
        self._cluster = cluster
        #: Predicate on a row: the pod must not be evicted for a reason other than its rules.
        self.is_spared = is_spared
        self._right: EvictionRight | None = None

    def use(self, right: EvictionRight) -> None:
        """Search for one demand; promises of the search count in its balance."""
        self._right = right

    @property
    def right(self) -> EvictionRight:
        """Right of the current demand to reclaim."""
        assert self._right is not None, "a search for a guarantee begins with ``use``"
        return self._right

    def begin(self) -> None:
        """Start a cycle; ``use`` sets the balance."""

    def is_guarding(self) -> bool:
        """Return true: only pods of borrowing queues may be evicted."""
        return True

    def preemptor(self, row: int) -> Preemptor:
        """Return a pod with the priority below which pods are its victims.

        Any, or up to its own.
        """
        pods = self._cluster.pods
        limit = UNPROTECTED if self.rules.guarantees_first else int(pods.priority[row]) + 1
        return Preemptor(int(pods.class_id[row]), limit)

    def may_search(self, row: int) -> bool:
        """Return true: a guarantee does not depend on priorities."""
        return True

    def protection(self, row: int) -> NodeProtection | None:
        """All nodes on which the other resources suffice, with the pods of borrowing queues."""
        preemptor = self.preemptor(row)
        rows = _rows_on_nodes(self._cluster, preemptor.priority)
        rows = rows[self._may_go(rows)]
        columns = self.right.columns
        slots = _suffice_without(self._cluster, preemptor.class_id, columns)
        kept_on = _kept_by_turns(self._cluster, preemptor.priority, self._leaving_in_turn)
        return NodeProtection(slots, kept_on, rows, columns, is_everywhere=True)

    def _may_go(self, rows: Ints) -> Mask:
        """bool[k]: pods that may each be evicted."""
        listed = rows.tolist()
        may = self.right.those_of(listed, self._cluster.pods.class_id[rows].tolist())
        spared = self.is_spared
        return np.array([m and not spared(r) for m, r in zip(may, listed, strict=True)], np.bool_)

    def _leaving_in_turn(self, rows: Sequence[int]) -> set[int]:
        """Rows that may be evicted together, the first ones first."""
        gone: list[int] = []
        found = set()
        for row in rows:
            if self._may_evict(row):
                gone += self.right.leave([row])
                found.add(row)
        self.right.come_back(gone)
        return found

    def _may_evict(self, row: int) -> bool:
        pods = self._cluster.pods
        runs = int(pods.state[row]) == PodState.BOUND and not self.is_spared(row)
        return runs and self.right.may_evict(row)

    def allows(self, row: int, victims: Sequence[int], now: float) -> bool:
        """Return whether all of these pods may be evicted together."""
        return (
            not any(self.is_spared(each) for each in victims)
            and _are_unguarded(self._cluster, self.rules, self.preemptor(row), victims, now)
            and self.right.may_evict_all(victims)
        )

    def leave(self, rows: Iterable[int]) -> None:
        """Count pods as evicted."""
        self.right.leave(rows)

    def come_back(self, rows: Iterable[int]) -> None:
        """Revert ``leave`` for these rows."""
        self.right.come_back(rows)


class AnyPodTerms:
    """Any running pod may be removed: priorities, guarantees and budgets protect none."""

    def __init__(self, cluster: Cluster, kept: Collection[int] = ()) -> None:
        """Search in one cluster; the pods of some rows stay."""
        #: The rules of a search without protections.
        self.rules = PreemptionRules()
        self._cluster = cluster
        self._kept = np.array(sorted(kept), np.int64)

    def begin(self) -> None:
        """Do nothing: the terms do not depend on a cycle."""

    def is_guarding(self) -> bool:
        """Return whether some pods stay."""
        return bool(len(self._kept))

    def preemptor(self, row: int) -> Preemptor:
        """Return a pod with a priority above all others."""
        return Preemptor(int(self._cluster.pods.class_id[row]), UNPROTECTED)

    def may_search(self, row: int) -> bool:
        """Return true."""
        return True

    def protection(self, row: int) -> NodeProtection | None:
        """Nodes of the pods that stay."""
        if not len(self._kept):
            return None
        of_row, kept = self._cluster.pods.slot, self._kept
        slots = np.unique(of_row[kept])
        slots = slots[slots >= 0]
        mask = np.zeros(self._cluster.ledger.slots.size, np.bool_)
        mask[slots] = True
        others = np.setdiff1d(np.flatnonzero(np.isin(of_row, slots)), kept)
        return NodeProtection(mask, lambda slot: kept[of_row[kept] == slot].tolist(), others)

    def allows(self, row: int, victims: Sequence[int], now: float) -> bool:
        """Return true."""
        return True

    def leave(self, rows: Iterable[int]) -> None:
        """Do nothing."""

    def come_back(self, rows: Iterable[int]) -> None:
        """Do nothing."""


def _are_unguarded(
    cluster: Cluster,
    rules: PreemptionRules,
    preemptor: Preemptor,
    victims: Sequence[int],
    now: float,
) -> bool:
    """Return whether neither priority nor any protection of a profile protects these pods."""
    priority = preemptor.priority
    return all(guard_against(cluster, rules, row, priority, now) is None for row in victims)


def _rows_on_nodes(cluster: Cluster, priority: int) -> Ints:
    """Rows below a priority that run or wait for victims on a node and are not being evicted."""
    pods = cluster.pods
    count = pods.length
    here = (pods.slot[:count] != NO_SLOT) & (pods.eviction_state[:count] == EvictionState.NONE)
    here &= (pods.state[:count] == PodState.BOUND) | (pods.state[:count] == PodState.NOMINATED)
    rows: Ints = np.flatnonzero(here & (pods.priority[:count] < priority))
    return rows


def _kept_by_turns(
    cluster: Cluster, priority: int, leave: Callable[[Sequence[int]], set[int]]
) -> Callable[[int], Collection[int]]:
    """Rows on a slot that stay if as many as possible are evicted, the least important first."""
    pods = cluster.pods

    def kept_on(slot: int) -> Collection[int]:
        here = np.asarray(pods.on_slot(slot), np.int64)
        staying = (pods.slot[here] != NO_SLOT) & (pods.eviction_state[here] == EvictionState.NONE)
        here = here[staying & (pods.priority[here] < priority)]
        rows = here[np.lexsort((-here, -pods.started[here], pods.priority[here]))].tolist()
        return set(rows).difference(leave(rows))

    return kept_on


def _suffice_without(cluster: Cluster, class_id: int, columns: Collection[int] | None) -> Mask:
    """bool[slot]: nodes on which all resources except ``columns`` suffice without evictions.

    With ``None``, evictions may free every resource, so the result is all nodes.

    Pods whose eviction is in progress count as gone.
    """
    ledger = cluster.ledger
    ledger.widen()
    size = ledger.slots.size
    if columns is None:
        return np.ones(size, np.bool_)
    requested = cluster.classes.requests_of(np.array([class_id], np.int32))[0]
    others = [c for c in np.flatnonzero(requested).tolist() if c not in columns]
    free = ledger.alloc[:size, others] - ledger.used[:size, others]
    going = np.array([r for r in cluster.evictions.in_progress if not _is_stuck(cluster, r)], int)
    going = going[cluster.pods.slot[going] != NO_SLOT]
    freed = cluster.classes.requests_of(cluster.pods.class_id[going])[:, others]
    np.add.at(free, cluster.pods.slot[going], freed)
    found: Mask = (ledger.slots.live[:size] > 0) & (free >= requested[others]).all(axis=1)
    devices = [
        each
        for each in cluster.classes[class_id].devices
        if DEVICES + ledger.devices.kind_number(each.kind) not in columns
    ]
    if devices:
        for slot in np.flatnonzero(found).tolist():
            left = devices_after_eviction(cluster, slot, cluster.evictions.on_slot(slot))
            kinds = ledger.devices.kind[slot]
            found[slot] = all(
                int(((kinds == ledger.devices.kind_number(e.kind)) & (left >= e.milli)).sum())
                >= e.count
                for e in devices
            )
    return found


def _is_stuck(cluster: Cluster, row: int) -> bool:
    return int(cluster.pods.eviction_state[row]) != EvictionState.EVICTING
