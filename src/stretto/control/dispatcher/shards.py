"""Shards as the dispatcher sees them: which live, and how much each has been given.

The load counts pods that were sent and not answered yet, so it grows before anybody has looked at
them. The least loaded shard is next (``loads`` says by which measure), the lowest number among
equals.
"""

import heapq
from collections import Counter
from collections.abc import Sequence
from typing import Final

from stretto.control.load_policies import LoadOf, ShardLoad, by_share
from stretto.state.work.units import Dispatch, Unit

MOST_BATCHES: Final = 16
"""Batches that a shard may owe answers for: plans on their way are answered late."""


class Shards:
    """Every shard ever added, by number."""

    def __init__(self, load_of: LoadOf = by_share) -> None:
        """Start with none; ``load_of`` says how loaded a shard is."""
        self._load_of = load_of
        #: Part of what all nodes give that each tries first; 1 where nobody has nodes of its own.
        self.shares: dict[int, float] = {}
        #: Whether each lives.
        self.alive: list[bool] = []
        #: Pods each has been given and has not answered.
        self.pods: list[int] = []
        #: Units each has been given and has not answered in full.
        self.units: list[int] = []

    def add(self, number: int) -> None:
        """A shard came, or came back."""
        missing = number + 1 - len(self.alive)
        self.alive.extend([False] * missing)
        self.pods.extend([0] * missing)
        self.units.extend([0] * missing)
        self.alive[number] = True

    def is_alive(self, number: int) -> bool:
        """Whether such a shard lives."""
        return 0 <= number < len(self.alive) and self.alive[number]

    def load(self, number: int) -> float:
        """How loaded a shard is."""
        share = self.shares.get(number, 1.0)
        if self._load_of is by_share:  # asked for each unit that is sent
            return self.pods[number] / share if share > 0 else self.pods[number]
        return self._load_of(ShardLoad(number, self.pods[number], self.units[number], share))

    def numbers(self) -> list[int]:
        """Shards that live."""
        return [number for number, alive in enumerate(self.alive) if alive]

    def release_unit(self, unit: Unit) -> None:
        """A unit is at its shard no longer, and with it what was not answered."""
        self.units[unit.shard] -= 1
        if unit.away:
            self.pods[unit.shard] -= len(unit.away)
            unit.away = ()

    def release_singles(self, units: list[Unit]) -> None:
        """Single pods are at their shards no longer."""
        for number, count in Counter([unit.shard for unit in units]).items():
            self.units[number] -= count
        for number, count in Counter([unit.shard for unit in units if unit.away]).items():
            self.pods[number] -= count
        for unit in units:
            unit.away = ()


class DispatchRound:
    """One round of handing out: how much room is left where, and what goes to whom."""

    def __init__(self, shards: Shards, room: Sequence[int]) -> None:
        """Start with the room that the shards say they have."""
        #: Work by shard.
        self.work: list[list[Dispatch]] = [[] for _ in room]
        #: Rows that are sent, of all shards.
        self.rows: list[int] = []
        self._shards = shards
        self._room = [
            places if shards.is_alive(number) else 0 for number, places in enumerate(room)
        ]
        #: (load, number) of the shards that take more, a heap; its length says how many.
        self.open: list[tuple[float, int]] = [
            (shards.load(number), number) for number, places in enumerate(self._room) if places > 0
        ]
        heapq.heapify(self.open)

    @property
    def has_capacity(self) -> bool:
        """Whether any shard takes more."""
        return bool(self.open)

    def takes(self, number: int) -> bool:
        """Whether a shard takes more."""
        return self._room[number] > 0

    def places(self) -> int:
        """How many pods the least loaded shard takes."""
        return self._room[self.open[0][1]]

    def choose(self, sticky: int) -> tuple[int, int]:
        """The shard for a unit that was with ``sticky`` before, and how many pods it takes."""
        if sticky >= 0 and sticky < len(self._room) and self._room[sticky] > 0:
            return sticky, self._room[sticky]
        number = self.open[0][1]
        return number, self._room[number]

    def send(self, dispatch: Dispatch, number: int) -> None:
        """Give a unit to a shard."""
        rows = dispatch.rows
        pods = len(rows)
        shards, room = self._shards, self._room
        shards.pods[number] += pods
        shards.units[number] += 1
        room[number] = left = room[number] - pods
        self.work[number].append(dispatch)
        self.rows += rows
        if left <= 0 or len(self.open) > 1:
            self._reorder(number)

    def send_singles(self, work: list[Dispatch], rows: list[int], number: int) -> None:
        """Give single pods to a shard, the only one that takes more."""
        shards, room = self._shards, self._room
        shards.pods[number] += len(rows)
        shards.units[number] += len(rows)
        room[number] -= len(rows)
        self.work[number] += work
        self.rows += rows
        if room[number] <= 0:
            self._reorder(number)

    def _reorder(self, number: int) -> None:
        """Move a shard to where its load belongs, or out when it is full."""
        heap = self.open
        if heap[0][1] != number:
            heap[:] = [(self._shards.load(n), n) for _, n in heap if self._room[n] > 0]
            heapq.heapify(heap)
        elif self._room[number] > 0:
            heapq.heapreplace(heap, (self._shards.load(number), number))
        else:
            heapq.heappop(heap)


def capacity_of(batch: int, said: int, handed: int) -> int:
    """Pods that a shard takes now, whatever it says of itself.

    It cannot have more in hand than it was handed, and one that answers nothing is not given more
    for ever, although it says that it has nothing.

    Args:
        batch: pods that it places in a cycle.
        said: pods that it says it has in hand.
        handed: pods that it was handed and has not answered.
    """
    has = min(max(said, 0), handed)
    return max(0, min(2 * batch - has, MOST_BATCHES * batch - handed))
