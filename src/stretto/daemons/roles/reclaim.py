"""Reclaim of guaranteed capacity when dispatcher, shards and binder are separate daemons.

The process that chooses victims needs both queues and nodes. The dispatcher has the queues and
watches nodes and their pods as well, so it chooses. A pod that is within its queue's guarantee and
fits no node is not dispatched. It stays pending at the dispatcher, whose reclaim then evicts as in
one process. Two sorts of pods come back from shards: pods within a guarantee that fit no node
there, and pods of queues that have just lost capacity, which would use the capacity that becomes
free.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final

from stretto.base.amounts import add_amounts
from stretto.daemons.roles.store_view import StoreView
from stretto.plane.plane import Plane
from stretto.state.queues.tree import QueueBranch
from stretto.state.queues.usage import QueueUsage
from stretto.state.work.units import Dispatch, Setback, Unit

EVERY: Final = 1.0
"""Seconds between checks of undecided pods at shards."""
LONG: Final = 2.0
"""Seconds after which the capacity for a pod at a shard is checked here."""


class QueueReclaim:
    """Keeps pods at the dispatcher, or takes them back, so that guarantees can be reclaimed."""

    def __init__(self, plane: Plane, view: StoreView, at: Mapping[str, Mapping[str, None]]) -> None:
        """Reclaim for the queues of a plane.

        Args:
            plane: the plane of the dispatcher.
            view: its store view.
            at: the undecided pods of each shard, by shard name; read live.
        """
        #: Number of pods taken back: within a guarantee (``owed``), or of queues that lose capacity
        #: (``give``).
        self.counts: Counter[str] = Counter()
        self._plane = plane
        self._at = at
        uids = plane.cluster.pods.uid
        self._search = plane.factory.reclaim(lambda row: uids[row] in view.known)
        self._view = view
        plane.dispatcher.reclaimer.defer_while(self._is_handed_over)
        self._since: dict[str, float] = {}
        self._look_at = float("-inf")

    # ------------------------------------------------------------ before dispatch

    def setbacks(self, work: Iterable[Dispatch]) -> list[Setback]:
        """Setbacks for units about to be dispatched that are within a guarantee and fit no node."""
        usage = self._usage
        if usage is None:
            return []
        work, found = list(work), list[Setback]()
        owed = {
            name: self._guarantee_deficit(usage, name)
            for name in {each.unit.queue for each in work}
        }
        for dispatch in work:
            left = owed[dispatch.unit.queue]
            if left is not None:  # the queue already counts units about to be dispatched
                _add(left, self._requests(dispatch.rows), 1)
        gone: Counter[int] = Counter()
        for dispatch in work:
            left, classes = owed[dispatch.unit.queue], self._classes(dispatch.rows)
            is_below_guarantee = left is not None and _take(left, self._requests(dispatch.rows))
            need = self._classes(dispatch.rows[: dispatch.at_least])
            full = [c for c, n in need.items() if self._plane.capacity(c) - gone[c] < n]
            if is_below_guarantee and full:
                cures = self._plane.engine.cures_of(full[0])
                found.append(Setback(dispatch.unit, dispatch.rows, full[0], cures))
            else:
                gone.update(classes)
        return found

    # ------------------------------------------------------------ after dispatch

    def pods_to_reclaim(self, now: float) -> list[str]:
        """Uids of undecided pods that must come back from shards."""
        usage = self._usage
        if usage is None or now < self._look_at:
            return []
        self._look_at = now + EVERY
        pods, held = self._plane.cluster.pods, usage.held()
        since, found = dict[str, float](), list[str]()
        stuck: dict[str, list[int]] = {}
        for uid in (uid for uids in self._at.values() for uid in uids):
            row = pods.row(uid)
            if row is None or row not in held:
                continue
            since[uid] = self._since.get(uid, now)
            leaf = usage.tree.leaf(held[row].queue)
            if leaf.reclaims and leaf.is_closed:
                found.append(uid)
                self.counts["give"] += 1
            elif leaf.guarantee:
                stuck.setdefault(held[row].queue, []).append(row)
        self._since = since
        for queue, rows in stuck.items():
            mine = self._unplaced_rows(usage, queue, rows, now)
            self.counts["owed"] += len(mine)
            found += mine
        return found

    def _unplaced_rows(
        self, usage: QueueUsage, queue: str, rows: list[int], now: float
    ) -> list[str]:
        """Undecided pods of a queue that fit no node and are within its guarantee."""
        left = self._guarantee_deficit(usage, queue)
        if left is None:
            return []
        pods, found = self._plane.cluster.pods, list[str]()
        for row in rows:
            _add(left, self._requests([row]), 1)
        waiting = self._classes(rows)
        for row in rows:
            class_id, uid = int(pods.class_id[row]), pods.uid[row]
            is_late = now - self._since[uid] >= LONG
            if is_late and self._plane.capacity(class_id) < waiting[class_id]:
                if not _take(left, self._requests([row])):
                    break
                found.append(uid)
        return found

    # ------------------------------------------------------------ evictions

    def order(self, now: float) -> None:
        """Order evictions for guarantees; the evictor sends them."""
        evictor = self._plane.evictor
        evictor.settle(now)
        for order in self._plane.dispatcher.reclaimer.orders(self._search, now):
            evictor.order(order, now)
            self._look_at = now  # pods at a shard that wait for the same capacity come back first

    def next_due(self) -> float:
        """Clock time of the next check; infinity while no shard has relevant pods."""
        waits = self._usage is not None and any(self._at.values())
        return self._look_at if waits else float("inf")

    def _is_handed_over(self, unit: Unit) -> bool:
        """Return whether pods of a unit were dispatched and have no node yet."""
        uids = self._plane.cluster.pods.uid
        return any(uids[row] in self._view.known for row in unit.bound)

    # ------------------------------------------------------------ sums

    @property
    def _usage(self) -> QueueUsage | None:
        """Usage of queues; ``None`` if no queue has a guarantee."""
        usage = self._plane.dispatcher.reclaimer.usage
        return usage if usage is not None and usage.tree.any_guarantees else None

    def _guarantee_deficit(self, usage: QueueUsage, queue: str) -> dict[int, int] | None:
        """Unused part of a queue's guarantee, by column; ``None`` without a guarantee."""
        leaf: QueueBranch = usage.tree.leaf(queue)
        if not leaf.guarantee or leaf.is_closed:
            return None
        return {column: most - leaf.used.get(column, 0) for column, most in leaf.guarantee.items()}

    def _requests(self, rows: Iterable[int]) -> dict[int, int]:
        """Total requests of pods, by column."""
        pool, total = self._plane.dispatcher.reclaimer.usage, dict[int, int]()
        for class_id, count in self._classes(rows).items():
            if pool is not None:
                add_amounts(total, pool.pool.requests_of(class_id), count)
        return total

    def _classes(self, rows: Iterable[int]) -> Counter[int]:
        return Counter(int(self._plane.cluster.pods.class_id[row]) for row in rows)


def _add(left: dict[int, int], amounts: Mapping[int, int], sign: int) -> None:
    """Add (``sign`` 1) or subtract (-1) amounts from an unused guarantee."""
    for column in left:
        left[column] += sign * amounts.get(column, 0)


def _take(left: dict[int, int], amounts: Mapping[int, int]) -> bool:
    """Subtract amounts from an unused guarantee; return whether it covered them."""
    named = [column for column in left if amounts.get(column, 0)]
    if not named or any(amounts[column] > left[column] for column in named):
        return False
    _add(left, amounts, -1)
    return True
