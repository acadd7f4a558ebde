"""Guarantees against evictions: the pods that a queue's guarantee protects, and from which pods.

All evictors use the same order. The guarantee of a queue, at any level of the tree, protects its
pods from every preemptor outside the queue: no such eviction takes the queue below its guarantee. A
unit whose queue, including the unit, stays within its guarantee may evict pods of queues above
their guarantee. The two cases exclude each other, so two queues never evict the same capacity from
each other in turn.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import NamedTuple, Protocol

from stretto.base.amounts import add_amounts
from stretto.state.queries.pool import Amounts
from stretto.state.queues.tree import QueueBranch
from stretto.state.queues.usage import QueueUsage
from stretto.state.rows.resources import PODS

MayLeave = Callable[[int], bool]
"""Predicate on a row: the pod may be evicted, with the current balance."""


class Entitlement(NamedTuple):
    """The amounts that a pending demand may reclaim, and the queues from which it may."""

    #: The queue of the demand, and its ancestors as far as guarantees cover the demand. Victims are
    #: in the subtree of the last one, outside the first one.
    path: tuple[QueueBranch, ...]
    #: Demanded columns that the guarantee names: only these are reclaimed.
    columns: frozenset[int]


class GuaranteeBalance:
    """Usage of queues at one instant, after all pods being evicted are gone."""

    def __init__(self, usage: QueueUsage, leaving: Iterable[int]) -> None:
        """Start from the current usage; ``leaving`` are the rows that are being evicted."""
        #: The charged rows and the tree.
        self.usage = usage
        self._held = usage.held()
        self._moved: dict[QueueBranch, dict[int, int]] = {}
        self._left: set[int] = set()
        self._promised: dict[QueueBranch, dict[int, int]] = {}
        for queue, amounts in usage.promised():
            self._add(self._promised, queue, amounts, 1)
        self.leave(leaving)

    def leave(self, rows: Iterable[int]) -> list[int]:
        """Subtract rows that will be evicted, unless they are already subtracted.

        Returns these rows.

        Rows that are not charged have no effect.
        """
        left = []
        for row in rows:
            held = self._held.get(row)
            if held is not None and row not in self._left:
                self._left.add(row)
                self.move(held.queue, held.amounts, -1)
                left.append(row)
        return left

    def come_back(self, rows: Iterable[int]) -> None:
        """Revert ``leave`` for these rows."""
        for row in rows:
            if row in self._left:
                self._left.discard(row)
                held = self._held[row]
                self.move(held.queue, held.amounts, 1)

    def move(self, queue: str, amounts: Amounts, sign: int) -> None:
        """Add (+1) or subtract (-1) amounts of a queue."""
        self._add(self._moved, queue, amounts, sign)

    def _add(
        self, sums: dict[QueueBranch, dict[int, int]], queue: str, amounts: Amounts, sign: int
    ) -> None:
        """Add (+1) or subtract (-1) amounts to the sums of a queue and of its ancestors."""
        for branch in self.usage.tree.leaf(queue).path:
            found = sums.setdefault(branch, {})
            add_amounts(found, amounts, sign)

    def used(self, branch: QueueBranch, column: int) -> int:
        """Usage of a queue without the subtracted rows."""
        moved = self._moved.get(branch)
        return branch.used.get(column, 0) + (moved.get(column, 0) if moved is not None else 0)

    def spare(self, branch: QueueBranch, column: int) -> int:
        """Usage of a queue by placed pods above its guarantee; negative below it.

        Dispatched pods do not count: they may find no node, and then the evicted pods would be
        missing.
        """
        promised = self._promised.get(branch)
        held = self.used(branch, column) - (promised.get(column, 0) if promised else 0)
        return held - branch.guarantee.get(column, 0)

    def protector(self, row: int, preemptor: QueueBranch) -> QueueBranch | None:
        """Queue that would fall below its guarantee without a pod; ``None`` for no queue.

        Args:
            row: the pod.
            preemptor: the queue of the preemptor; the guarantees of this queue and its ancestors
                do not protect their pods from it.
        """
        held = self._held.get(row)
        if held is None:
            return None
        for branch in self.usage.tree.leaf(held.queue).path:
            if branch in preemptor.path:
                return None
            guarantee = branch.guarantee
            for column, amount in held.amounts:
                if amount and column in guarantee and self.spare(branch, column) < amount:
                    return branch
        return None

    def leaving_in_turn(self, rows: Iterable[int], may_leave: MayLeave) -> set[int]:
        """Rows that may be evicted one after the other; the balance is unchanged."""
        gone: list[int] = []
        found = set()
        for row in rows:
            if may_leave(row):
                gone += self.leave([row])
                found.add(row)
        self.come_back(gone)
        return found

    def all_may_leave(self, rows: Collection[int], may_leave: MayLeave) -> bool:
        """Return whether all of these rows may be evicted one after the other."""
        return len(self.leaving_in_turn(rows, may_leave)) == len(rows)

    # ------------------------------------------------------------ reclaim

    def entitlement(self, queue: str, amounts: Amounts) -> Entitlement | None:
        """Entitlement of a demand of a queue; ``None`` if the demand is above its guarantee."""
        leaf = self.usage.tree.leaf(queue)
        path = [leaf]
        for branch in leaf.path:
            guarantee = branch.guarantee
            named = [(column, amount) for column, amount in amounts if column in guarantee]
            within = all(self.used(branch, c) + amount <= guarantee[c] for c, amount in named)
            if branch.parent is None or not named or not within:
                break
            path.append(branch.parent)
        if len(path) == 1:
            return None
        return Entitlement(tuple(path), frozenset(c for c, _ in amounts if c in leaf.guarantee))

    def may_reclaim(self, row: int, right: Entitlement, *, whole: bool) -> bool:
        """Return whether a demand may evict a pod.

        Every queue above the pod, up to the first one that it shares with the demand, is above its
        guarantee in a reclaimed resource, and stays at its guarantee without the pod.

        Args:
            row: the pod.
            right: the entitlement of the demand.
            whole: true if a queue may fall below its guarantee by the eviction of one pod or gang
                that is larger than the queue's borrowed amount.
        """
        held = self._held.get(row)
        if held is None:
            return False
        if not any(amount and column in right.columns for column, amount in held.amounts):
            return False
        for branch in self.usage.tree.leaf(held.queue).path:
            if branch in right.path:
                return branch is not right.path[0]
            if not any(self.spare(branch, column) > 0 for column in right.columns):
                return False
            guarantee = branch.guarantee
            for column, amount in held.amounts:
                lacks = column in guarantee and self.spare(branch, column) < amount
                if amount and lacks and not whole:
                    return False
        return False

    def reclaimable_by(self, row: int, others: Iterable[int]) -> list[int]:
        """Pods that a pod may evict by its guarantee after it is pending again."""
        held = self._held.get(row)
        if held is None:
            return []
        left = self.leave([row])
        right = self.entitlement(held.queue, held.amounts)
        self.come_back(left)
        if right is None:
            return []
        return [other for other in others if self.may_reclaim(other, right, whole=True)]

    def shortfall(self, queue: str, amounts: Amounts) -> dict[QueueBranch, dict[int, int]]:
        """Amounts by which a demand exceeds the limits of its queues, by queue and column."""
        found: dict[QueueBranch, dict[int, int]] = {}
        for branch in self.usage.tree.leaf(queue).path:
            lacks = {}
            for column, amount in amounts:
                limit = branch.limit.get(column)
                if limit is not None and self.used(branch, column) + amount > limit:
                    lacks[column] = self.used(branch, column) + amount - limit
            if lacks:
                found[branch] = lacks
        return found


class EvictionRight(Protocol):
    """The right of one search to evict pods, regardless of their priority."""

    @property
    def columns(self) -> Collection[int] | None:
        """Columns that evictions may free; ``None`` for all."""
        ...

    def those_of(self, rows: Sequence[int], class_ids: Sequence[int]) -> list[bool]:
        """For each of these pods, true if it may be evicted alone."""
        ...

    def may_evict(self, row: int) -> bool:
        """Return whether a pod may be evicted after the evictions so far."""
        ...

    def may_evict_all(self, rows: Collection[int]) -> bool:
        """Return whether all of these may be evicted together."""
        ...

    def leave(self, rows: Iterable[int]) -> list[int]:
        """Count pods as evicted; returns those that were not counted before."""
        ...

    def come_back(self, rows: Iterable[int]) -> None:
        """Revert ``leave`` for these rows."""


class ReleaseRight(NamedTuple):
    """The right to evict the pods of one unit only."""

    #: Rows of the pods.
    rows: frozenset[int]

    @property
    def columns(self) -> None:
        """All resources, as ``None``."""
        return

    def those_of(self, rows: Sequence[int], class_ids: Sequence[int]) -> list[bool]:
        """For each of these pods, true if it belongs to the unit."""
        del class_ids
        return [row in self.rows for row in rows]

    def may_evict(self, row: int) -> bool:
        """Return whether a pod belongs to the unit."""
        return row in self.rows

    def may_evict_all(self, rows: Collection[int]) -> bool:
        """Return whether all of these belong to the unit."""
        return self.rows.issuperset(rows)

    def leave(self, rows: Iterable[int]) -> list[int]:
        """Return no rows: the right does not depend on other evictions."""
        del rows
        return []

    def come_back(self, rows: Iterable[int]) -> None:
        """Do nothing: the right does not depend on other evictions."""


class ReclaimRight(NamedTuple):
    """The right of one search to reclaim.

    An entitlement, and the balance that its promises change.
    """

    #: The queue of the demand, its ancestors, and the reclaimed resources.
    entitlement: Entitlement
    #: Usage without the pods being evicted.
    balance: GuaranteeBalance
    #: True if a queue may fall below its guarantee by the eviction of one pod or gang that is
    #: larger than the queue's borrowed amount.
    whole: bool = False

    @property
    def columns(self) -> Collection[int]:
        """The resources that the guarantee names, and pod slots."""
        return self.entitlement.columns | {PODS}

    def those_of(self, rows: Sequence[int], class_ids: Sequence[int]) -> list[bool]:
        """For each of these pods, true if the demand may evict it.

        Pods of one class and queue are equal.

        Args:
            rows: the pods.
            class_ids: their classes.
        """
        held, known = self.balance.usage.held(), dict[tuple[str, int], bool]()
        found = []
        for row, class_id in zip(rows, class_ids, strict=True):
            charged = held.get(row)
            key = (charged.queue, class_id) if charged is not None else ("", -1)
            if key not in known:
                known[key] = self.may_evict(row)
            found.append(known[key])
        return found

    def leave(self, rows: Iterable[int]) -> list[int]:
        """Count pods as evicted; returns those that were not counted before."""
        return self.balance.leave(rows)

    def come_back(self, rows: Iterable[int]) -> None:
        """Revert ``leave`` for these rows."""
        self.balance.come_back(rows)

    def may_evict(self, row: int) -> bool:
        """Return whether the demand may evict a pod."""
        return self.balance.may_reclaim(row, self.entitlement, whole=self.whole)

    def may_evict_all(self, rows: Collection[int]) -> bool:
        """Return whether the demand may evict all of these together.

        If ``whole``, the pods of one unit are evicted at once: its queue must be above its
        guarantee before the eviction, not after each pod.
        """
        if not self.whole:
            return self.balance.all_may_leave(rows, self.may_evict)
        held, parts = self.balance.usage.held(), dict[str, list[int]]()
        for row in rows:
            parts.setdefault(held[row].unit if row in held else "", []).append(row)
        gone: list[int] = []
        may_go = True
        for part in parts.values():
            may_go = may_go and all(self.may_evict(row) for row in part)
            gone += self.balance.leave(part)
        self.balance.come_back(gone)
        return may_go
