"""A shard: one scheduler instance with a default loop and one loop for each sub-cluster.

Units go to the loop of the sub-cluster that their pods name. Every loop has its own inbox and
snapshot and makes its own plans, so that many units or a failed head in one sub-cluster do not
delay another. Only the rule ``SubCluster`` restricts nodes; its result is the same in every loop.
Without sub-clusters there is only the default loop.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from stretto.base.clock import Clock
from stretto.control.scheduler.loop import BATCH, SchedulingLoop
from stretto.control.scheduler.sub_clusters import EVERYTHING, SubClusters
from stretto.state.work.claims import Plan
from stretto.state.work.units import BY_EVICTION, Dispatch

MOST_LOOPS: Final = 31
"""Maximum number of additional loops, as in Gödel; further sub-clusters share the default loop.

Each loop has a snapshot of all nodes, so their number must not depend on node labels.
"""

MakeLoop = Callable[[str], SchedulingLoop]
"""Creates the loop of a sub-cluster; the empty name means all nodes."""


class Shard:
    """One scheduler: distributes work to its loops and returns their plans."""

    def __init__(
        self, number: int, make_loop: MakeLoop, sub_clusters: SubClusters | None, clock: Clock
    ) -> None:
        """Create a shard with its default loop.

        ``sub_clusters`` is ``None`` without sub-clusters.
        """
        #: Number of the shard.
        self.number = number
        #: The loop over every node, for units that name no sub-cluster or several.
        self.default = make_loop(EVERYTHING)
        #: Sub-clusters that share the default loop because of the limit.
        self.sharing: set[str] = set()
        self._make_loop = make_loop
        self._sub_clusters = sub_clusters
        self._clock = clock
        self._own: dict[str, SchedulingLoop] = {}
        self._worked: dict[str, float] = {}
        self._partition: npt.NDArray[np.bool_] | None = None
        self._turn = 0

    @property
    def loops(self) -> Sequence[SchedulingLoop]:
        """Loops of the shard, the default loop first."""
        return (self.default, *self._own.values())

    @property
    def waiting(self) -> int:
        """Number of pods in the inboxes."""
        return len(self.default.rows) + sum(len(loop.rows) for loop in self._own.values())

    def follow(self, partition: npt.NDArray[np.bool_]) -> None:
        """Prefer the blocks of a partition, bool[block]."""
        self._partition = partition
        self.default.runtime.own_block = partition.astype(np.uint8)

    def capacity(self, class_id: int) -> int:
        """Upper bound of the pods of a class that fit now, plus ``BY_EVICTION`` if more may."""
        own = None
        if self._sub_clusters is not None and self._own:
            own = self._own.get(self._sub_clusters.of_class(class_id))
        if own is None:
            return self.default.capacity(class_id)
        capacity = own.capacity(class_id)
        by_eviction = capacity < BY_EVICTION and self.default.chance(class_id)
        return capacity + BY_EVICTION if by_eviction else capacity

    def accept(self, dispatches: Iterable[Dispatch]) -> None:
        """Send each unit to the loop of the sub-cluster that its pods name."""
        work = list(dispatches)
        if self._sub_clusters is None or not work:
            self.default.accept(work)
            return
        names = self._sub_clusters.of_work(work)
        for name in dict.fromkeys(names):
            mine = [each for each, named in zip(work, names, strict=True) if named == name]
            self._loop_of(name).accept(mine)

    def cycle(self, limit: int = BATCH) -> list[Plan]:
        """Run a cycle of every loop with work; together they place about ``limit`` pods."""
        if self._sub_clusters is None:
            plan = self.default.cycle(limit)
            return [] if plan is None else [plan]
        self._recycle()
        plans = []
        for loop, share in self._shares(limit):
            self._narrow(loop)
            plan = loop.cycle(share)
            if plan is not None:
                plans.append(plan)
        return plans

    # ------------------------------------------------------------ its loops

    def _loop_of(self, name: str) -> SchedulingLoop:
        """The loop of a sub-cluster; the default loop if it has none."""
        if name == EVERYTHING:
            return self.default
        loop = self._own.get(name)
        if loop is None:
            loop = self._begin(name)
        if loop is not self.default:
            self._worked[name] = self._clock.monotonic()
        return loop

    def _begin(self, name: str) -> SchedulingLoop:
        """Return the loop of a sub-cluster, created at first use.

        A name without nodes gets none.
        """
        assert self._sub_clusters is not None
        if name in self.sharing or not self._sub_clusters.has_nodes(name):
            return self.default
        if len(self._own) >= MOST_LOOPS:
            self.sharing.add(name)
            return self.default
        loop = self._own[name] = self._make_loop(name)
        return loop

    def _recycle(self) -> None:
        """Remove loops that were idle for a long time."""
        assert self._sub_clusters is not None
        before = self._clock.monotonic() - self._sub_clusters.recycle_after
        ended = [n for n, at in self._worked.items() if at < before and not self._own[n].rows]
        for name in ended:
            del self._own[name], self._worked[name]
        if ended:
            self.sharing.clear()

    def _shares(self, limit: int) -> list[tuple[SchedulingLoop, int]]:
        """Loops with work and the number of pods of each; loops with more work get unused shares.

        The first loop rotates, because the first of two conflicting claims wins.
        """
        busy = [loop for loop in self.loops if loop.rows]
        left, shares = limit, dict[str, int]()
        for done, loop in enumerate(sorted(busy, key=lambda each: len(each.rows))):
            share = max(1, left // (len(busy) - done))
            shares[loop.sub_cluster] = share
            left -= min(share, len(loop.rows))
        self._turn += 1
        first = self._turn % len(busy) if busy else 0
        return [(loop, shares[loop.sub_cluster]) for loop in (*busy[first:], *busy[:first])]

    def _narrow(self, loop: SchedulingLoop) -> None:
        """Make a sub-cluster's loop prefer its own nodes, first those of the partition."""
        if loop is self.default or self._sub_clusters is None:
            return
        blocks = self._sub_clusters.blocks(loop.sub_cluster)
        if self._partition is not None and (blocks & self._partition).any():
            blocks = blocks & self._partition
        loop.runtime.own_block = (blocks if blocks.any() else ~blocks).astype(np.uint8)
