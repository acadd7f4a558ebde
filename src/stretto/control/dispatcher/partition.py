"""Partitions: which nodes a shard tries first.

Shards that look at different nodes first seldom claim the same one. A partition is a set of 64-slot
blocks. Each shard gets its share of every zone, counted in live nodes and equal to within one
block, so that a rule about zones can be kept inside any partition. When nodes or shards change, a
block keeps its owner unless balance demands otherwise.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from stretto.state.slots import BLOCK, Slots

NO_OWNER: Final = -1
"""Owner of a block when there is no shard."""


class Partitions:
    """The owner of each block, kept in step with nodes and shards."""

    def __init__(self) -> None:
        """Start with no block."""
        #: int32[block]: number of the shard that owns it, or ``NO_OWNER``.
        self.owner: npt.NDArray[np.int32] = np.zeros(0, np.int32)
        #: Blocks that changed hands in the last update, new ones apart.
        self.moved: int = 0
        self._seen: tuple[int, tuple[int, ...]] | None = None

    def update(self, slots: Slots, shards: Sequence[int]) -> npt.NDArray[np.int32]:
        """Follow the nodes and the shards; returns the owners by block."""
        numbers = tuple(sorted(shards))
        if self._seen == (slots.version, numbers):
            self.moved = 0
            return self.owner
        self._seen = (slots.version, numbers)
        before = np.full(slots.blocks, NO_OWNER, np.int32)
        before[: len(self.owner)] = self.owner
        self.owner = before.copy()
        if numbers:
            _Deal(slots, numbers, self.owner).deal()
        else:
            self.owner.fill(NO_OWNER)
        self.moved = int(np.count_nonzero((before != NO_OWNER) & (before != self.owner)))
        return self.owner


def partition_blocks(slots: Slots, shards: Sequence[int]) -> npt.NDArray[np.int32]:
    """The owner of each block when nobody owned any before."""
    return Partitions().update(slots, shards)


class _Deal:
    """One dealing of blocks to shards; changes the owners in place."""

    def __init__(self, slots: Slots, shards: tuple[int, ...], owner: npt.NDArray[np.int32]) -> None:
        self._owner = owner
        self._shards = shards
        self._live = slots.block_live.tolist()
        self._zones: list[list[int]] = [[] for _ in range(slots.zones)]
        for block, zone in enumerate(slots.block_zone.tolist()):
            self._zones[zone].append(block)
        #: Live nodes of each shard in all zones.
        self._total = dict.fromkeys(shards, 0)
        #: Live nodes of each shard by zone.
        self._loads = [dict.fromkeys(shards, 0) for _ in self._zones]

    def deal(self) -> None:
        """Give out blocks without an owner, then even out each zone, then the whole."""
        for zone, blocks in enumerate(self._zones):
            for block in blocks:
                owner = int(self._owner[block])
                if owner in self._total:
                    self._count(zone, owner, self._live[block])
        for zone, blocks in enumerate(self._zones):
            homeless = [block for block in blocks if int(self._owner[block]) not in self._total]
            for block in sorted(homeless, key=lambda block: (-self._live[block], block)):
                self._give(zone, block, self._least(zone))
        for zone in range(len(self._zones)):
            self._even_out(zone)
        self._even_out_all()

    def _even_out(self, zone: int) -> None:
        """Move blocks from the fullest to the emptiest until they differ by a block at most.

        A block of more than nothing and less than the difference always lessens it, so this ends.
        """
        loads = self._loads[zone]
        while True:
            low, high = self._least(zone), max(self._shards, key=lambda n: (loads[n], n))
            gap = loads[high] - loads[low]
            if gap <= BLOCK:
                return
            self._give(zone, self._nearest(zone, high, gap // 2), low)

    def _even_out_all(self) -> None:
        """Even out what the zones add up to, as far as each zone stays even."""
        for _ in range(len(self._live)):
            low = min(self._shards, key=lambda n: (self._total[n], n))
            high = max(self._shards, key=lambda n: (self._total[n], n))
            gap = self._total[high] - self._total[low]
            if gap <= BLOCK:
                return
            move = self._harmless(low, high, gap)
            if move is None:
                return
            self._give(*move, low)

    def _harmless(self, low: int, high: int, gap: int) -> tuple[int, int] | None:
        """(zone, block) whose move lessens the whole's gap and leaves its zone even."""
        for zone, blocks in enumerate(self._zones):
            loads = self._loads[zone]
            for block in blocks:
                live = self._live[block]
                if int(self._owner[block]) != high or not 0 < live < gap:
                    continue
                after = {**loads, high: loads[high] - live, low: loads[low] + live}
                if max(after.values()) - min(after.values()) <= BLOCK:
                    return zone, block
        return None

    def _nearest(self, zone: int, owner: int, wanted: int) -> int:
        """The block of an owner whose live nodes come nearest to what is wanted."""
        mine = [b for b in self._zones[zone] if int(self._owner[b]) == owner and self._live[b]]
        return min(mine, key=lambda block: (abs(self._live[block] - wanted), block))

    def _least(self, zone: int) -> int:
        """The shard with the fewest nodes in a zone; among equals, with the fewest in all."""
        loads, total = self._loads[zone], self._total
        return min(self._shards, key=lambda number: (loads[number], total[number], number))

    def _give(self, zone: int, block: int, shard: int) -> None:
        before = int(self._owner[block])
        if before in self._total:
            self._count(zone, before, -self._live[block])
        self._owner[block] = shard
        self._count(zone, shard, self._live[block])

    def _count(self, zone: int, shard: int, nodes: int) -> None:
        self._loads[zone][shard] += nodes
        self._total[shard] += nodes
