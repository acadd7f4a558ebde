"""What queues have lent comes back: the reclaim where dispatcher, shards and binder are daemons.

The dispatcher knows queues, the shards know nodes, and whoever is to leave must be decided by one
who knows both. The dispatcher follows nodes and the pods on them as everybody does, so it is the
one. A pod that is owed room by its queue's guarantee, and for which no node has any, is not handed
to a shard but waits with the dispatcher, whose reclaim then asks others to leave, as in one
process. Two sorts of pods come back from the shards for it: those that are owed room and find none
there, and those of queues that have just had to give, which would take what becomes free.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final

from stretto.control.queues.tree import QueueBranch
from stretto.control.queues.usage import QueueUsage
from stretto.daemons.roles.store_view import StoreView
from stretto.plane import Plane
from stretto.state.victims.reclaim_view import ReclaimView
from stretto.state.work.units import Dispatch, Setback, Unit

EVERY: Final = 1.0
"""Seconds between two looks at pods that shards have and have not decided about."""
LONG: Final = 2.0
"""Seconds that a shard has for a pod before it is asked whether there is room at all."""


class BoundReclaimView(ReclaimView):
    """Nodes as the dispatcher knows them: nobody is asked to leave who is not bound yet."""

    def __init__(self, plane: Plane, view: StoreView) -> None:
        """Read the cluster of a plane; the view knows which of its pods have no node yet."""
        rules, eligible = plane.config.profile.preemption, plane.engine.is_eligible
        super().__init__(plane.cluster, rules, eligible, plane.floor.room, plane.budgets)
        self.would_fit = plane.floor.would_fit
        self._uids = plane.cluster.pods
        self._view = view

    def may_evict(self, row: int, now: float) -> bool:
        """Whether a pod may be asked to leave, as far as that depends on it alone."""
        return self._uids.uid[row] not in self._view.known and super().may_evict(row, now)


class QueueReclaim:
    """Keeps pods with the dispatcher, and takes them back, for what their queues are owed."""

    def __init__(self, plane: Plane, view: StoreView, at: Mapping[str, Mapping[str, None]]) -> None:
        """Look after the queues of a plane that sees the store through a view.

        Args:
            plane: the dispatcher's.
            view: what it sees.
            at: the pods that each shard has and has not decided about, by its name; followed.
        """
        #: Pods taken back so far: ``owed`` room, or of queues that have to ``give``.
        self.counts: Counter[str] = Counter()
        self._plane = plane
        self._at = at
        self._floor = BoundReclaimView(plane, view)
        self._view = view
        plane.dispatcher.reclaimer.is_handed_over = self._is_handed_over
        self._since: dict[str, float] = {}
        self._look_at = float("-inf")

    # ------------------------------------------------------------ before they are handed over

    def kept(self, work: Iterable[Dispatch]) -> list[Setback]:
        """Of units about to be handed over, those that are owed room which no node has."""
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
            if left is not None:  # what is about to go was promised to its queue already
                _add(left, self._asks(dispatch.rows), 1)
        gone: Counter[int] = Counter()
        for dispatch in work:
            left, classes = owed[dispatch.unit.queue], self._classes(dispatch.rows)
            is_below_guarantee = left is not None and _take(left, self._asks(dispatch.rows))
            need = self._classes(dispatch.rows[: dispatch.at_least])
            full = [c for c, n in need.items() if self._floor.room(c) - gone[c] < n]
            if is_below_guarantee and full:
                cures = self._plane.engine.cures_of(full[0])
                found.append(Setback(dispatch.unit, dispatch.rows, full[0], cures))
            else:
                gone.update(classes)
        return found

    # ------------------------------------------------------------ after they were

    def pods_to_reclaim(self, now: float) -> list[str]:
        """Pods that shards have and have not decided about, and that are to come back; by uid."""
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
            if leaf.holds and leaf.is_closed:
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
        """Pods of a queue that found no room, as far as it is owed any."""
        left = self._guarantee_deficit(usage, queue)
        if left is None:
            return []
        pods, found = self._plane.cluster.pods, list[str]()
        for row in rows:
            _add(left, self._asks([row]), 1)
        waiting = self._classes(rows)
        for row in rows:
            class_id, uid = int(pods.class_id[row]), pods.uid[row]
            is_late = now - self._since[uid] >= LONG
            if is_late and self._floor.room(class_id) < waiting[class_id]:
                if not _take(left, self._asks([row])):
                    break
                found.append(uid)
        return found

    # ------------------------------------------------------------ who leaves

    def order(self, now: float) -> None:
        """Say who is to leave for what is owed; they are asked when the evictor sends."""
        evictor = self._plane.evictor
        evictor.settle(now)
        for order in self._plane.dispatcher.reclaimer.orders(self._floor, now):
            evictor.order(order, now)
            self._look_at = now  # who waits at a shard for the same room comes back first

    def next_due(self) -> float:
        """Clock time of the next look; infinity while shards have nothing that it is about."""
        waits = self._usage is not None and any(self._at.values())
        return self._look_at if waits else float("inf")

    def _is_handed_over(self, unit: Unit) -> bool:
        """Whether pods of a unit were handed over and have no node yet."""
        uids = self._plane.cluster.pods.uid
        return any(uids[row] in self._view.known for row in unit.bound)

    # ------------------------------------------------------------ sums

    @property
    def _usage(self) -> QueueUsage | None:
        """What queues hold; ``None`` where nobody is guaranteed anything."""
        usage = self._plane.dispatcher.reclaimer.usage
        return usage if usage is not None and usage.tree.any_guarantees else None

    def _guarantee_deficit(self, usage: QueueUsage, queue: str) -> dict[int, int] | None:
        """How much less than its guarantee a queue holds, by column; ``None`` without one."""
        leaf: QueueBranch = usage.tree.leaf(queue)
        if not leaf.guarantee or leaf.is_closed:
            return None
        return {column: most - leaf.used.get(column, 0) for column, most in leaf.guarantee.items()}

    def _asks(self, rows: Iterable[int]) -> dict[int, int]:
        """What pods ask together, by column."""
        pool, total = self._plane.dispatcher.reclaimer.usage, dict[int, int]()
        for class_id, count in self._classes(rows).items():
            for column, amount in pool.pool.requests_of(class_id) if pool is not None else ():
                total[column] = total.get(column, 0) + amount * count
        return total

    def _classes(self, rows: Iterable[int]) -> Counter[int]:
        return Counter(int(self._plane.cluster.pods.class_id[row]) for row in rows)


def _add(left: dict[int, int], amounts: Mapping[int, int], sign: int) -> None:
    """What is left of a guarantee, with so much more or less held."""
    for column in left:
        left[column] += sign * amounts.get(column, 0)


def _take(left: dict[int, int], amounts: Mapping[int, int]) -> bool:
    """Take pods out of what is left of a guarantee; whether they are within it."""
    named = [column for column in left if amounts.get(column, 0)]
    if not named or any(amounts[column] > left[column] for column in named):
        return False
    _add(left, amounts, -1)
    return True
