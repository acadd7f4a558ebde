"""The shards of the dispatcher: their liveness and their load.

The load counts pods that were sent and are not answered, so it grows before a shard reads them. The
least loaded shard is chosen (``load_policies`` defines the measure); ties go to the lowest number.
"""

import heapq
from collections import Counter
from collections.abc import Sequence
from typing import Final

from stretto.control.load_policies import LoadOf, ShardLoad, by_share
from stretto.state.work.units import Dispatch, Unit

MOST_BATCHES: Final = 16
"""Maximum number of unanswered batches of a shard, because plans in transit are answered late."""


class Shards:
    """Every shard ever added, by number."""

    def __init__(self, load_of: LoadOf = by_share) -> None:
        """Start without shards; ``load_of`` measures the load of a shard."""
        self._load_of = load_of
        #: Fraction of the cluster's capacity in each shard's partition; 1 without partitions.
        self.shares: dict[int, float] = {}
        #: Liveness of each shard.
        self.alive: list[bool] = []
        #: Unanswered pods of each shard.
        self.pods: list[int] = []
        #: Units of each shard that are not fully answered.
        self.units: list[int] = []

    def add(self, number: int) -> None:
        """Add a new or restarted shard."""
        missing = number + 1 - len(self.alive)
        self.alive.extend([False] * missing)
        self.pods.extend([0] * missing)
        self.units.extend([0] * missing)
        self.alive[number] = True

    def is_alive(self, number: int) -> bool:
        """Return whether the shard exists and is alive."""
        return 0 <= number < len(self.alive) and self.alive[number]

    def load(self, number: int) -> float:
        """Load of a shard."""
        share = self.shares.get(number, 1.0)
        if self._load_of is by_share:  # inlined: evaluated for each sent unit
            return self.pods[number] / share if share > 0 else self.pods[number]
        return self._load_of(ShardLoad(number, self.pods[number], self.units[number], share))

    def numbers(self) -> list[int]:
        """Numbers of the live shards."""
        return [number for number, alive in enumerate(self.alive) if alive]

    def release_unit(self, unit: Unit) -> None:
        """Count a unit and its unanswered pods as no longer at its shard."""
        self.units[unit.shard] -= 1
        if unit.away:
            self.pods[unit.shard] -= len(unit.away)
            unit.away = ()

    def release_singles(self, units: list[Unit]) -> None:
        """Count single pods as no longer at their shards."""
        for number, count in Counter([unit.shard for unit in units]).items():
            self.units[number] -= count
        for number, count in Counter([unit.shard for unit in units if unit.away]).items():
            self.pods[number] -= count
        for unit in units:
            unit.away = ()


class DispatchRound:
    """One dispatch round: remaining capacity and work by shard."""

    def __init__(self, shards: Shards, capacity: Sequence[int]) -> None:
        """Start with the capacity of each shard."""
        #: Work by shard.
        self.work: list[list[Dispatch]] = [[] for _ in capacity]
        #: Rows sent to any shard.
        self.rows: list[int] = []
        self._shards = shards
        self._capacity = [
            places if shards.is_alive(number) else 0 for number, places in enumerate(capacity)
        ]
        #: Heap of (load, number) of the shards with capacity.
        self.open: list[tuple[float, int]] = [
            (shards.load(number), number)
            for number, places in enumerate(self._capacity)
            if places > 0
        ]
        heapq.heapify(self.open)

    def takes(self, number: int) -> bool:
        """Return whether a shard has capacity."""
        return self._capacity[number] > 0

    def places(self) -> int:
        """Capacity of the least loaded shard, in pods."""
        return self._capacity[self.open[0][1]]

    def choose(self, sticky: int) -> tuple[int, int]:
        """Shard for a unit that was at ``sticky`` before, and its capacity in pods."""
        if sticky >= 0 and sticky < len(self._capacity) and self._capacity[sticky] > 0:
            return sticky, self._capacity[sticky]
        number = self.open[0][1]
        return number, self._capacity[number]

    def send(self, dispatch: Dispatch, number: int) -> None:
        """Send a unit to a shard."""
        rows = dispatch.rows
        pods = len(rows)
        shards, capacity = self._shards, self._capacity
        shards.pods[number] += pods
        shards.units[number] += 1
        capacity[number] = left = capacity[number] - pods
        self.work[number].append(dispatch)
        self.rows += rows
        if left <= 0 or len(self.open) > 1:
            self._reorder(number)

    def send_singles(self, work: list[Dispatch], rows: list[int], number: int) -> None:
        """Send single pods to the only shard with capacity."""
        shards, capacity = self._shards, self._capacity
        shards.pods[number] += len(rows)
        shards.units[number] += len(rows)
        capacity[number] -= len(rows)
        self.work[number] += work
        self.rows += rows
        if capacity[number] <= 0:
            self._reorder(number)

    def _reorder(self, number: int) -> None:
        """Restore the heap after a shard's load changed; remove a full shard."""
        heap = self.open
        if heap[0][1] != number:
            heap[:] = [(self._shards.load(n), n) for _, n in heap if self._capacity[n] > 0]
            heapq.heapify(heap)
        elif self._capacity[number] > 0:
            heapq.heapreplace(heap, (self._shards.load(number), number))
        else:
            heapq.heappop(heap)


def capacity_of(batch: int, reported: int, unanswered: int) -> int:
    """Number of pods that a shard accepts now.

    A report above the number of unanswered pods is not plausible and is bounded by it. A shard that
    never answers gets no more than ``MOST_BATCHES`` batches, even if it reports an empty inbox.

    Args:
        batch: number of pods that it places in a cycle.
        reported: number of pods in its inbox, as the shard reports it.
        unanswered: number of pods that were sent to it and are not answered.
    """
    in_hand = min(max(reported, 0), unanswered)
    return max(0, min(2 * batch - in_hand, MOST_BATCHES * batch - unanswered))
