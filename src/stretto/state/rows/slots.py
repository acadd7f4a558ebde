"""Slots: the position of a node's row in the columns.

Slots are grouped by zone in blocks of 64, so that a zone-level rule works on whole blocks and the
maximum of a block represents 64 nodes. A live slot never moves. Adding or removing a node touches
no other slot. Every use of a slot has its own generation, so a claim on a node that was deleted and
re-created is detected. A zone has several open blocks and fills the emptiest first: blocks are also
the unit of partitions, and a small zone must be divisible too. Nodes of one shard have a separate
lane: blocks without other nodes.
"""

from heapq import heappop, heappush
from typing import Final

import numpy as np
import numpy.typing as npt

BLOCK: Final = 64
"""Slots per block: the unit of maxima, zones and partitions."""
LANES: Final = 2
"""Number of node categories that never share a block: any node, and nodes of one shard."""


class SlotMap:
    """Slot allocation: live nodes, their zones, blocks and generations."""

    def __init__(self, fan_out: int = 1) -> None:
        """Start empty; ``fan_out`` blocks of each zone are filled in parallel."""
        #: Blocks of a zone that are filled in parallel.
        self.fan_out: int = max(1, fan_out)
        #: uint8[slot]: 1 if the slot has a node.
        self.live: npt.NDArray[np.uint8] = np.zeros(0, np.uint8)
        #: int64[slot]: generation of the node; 0 if there never was one.
        self.generation: npt.NDArray[np.int64] = np.zeros(0, np.int64)
        #: int32[block]: zone number of the block.
        self.block_zone: npt.NDArray[np.int32] = np.zeros(0, np.int32)
        #: int32[block]: live slots in the block.
        self.block_live: npt.NDArray[np.int32] = np.zeros(0, np.int32)
        #: Zone names by number.
        self.zone_names: list[str] = []
        #: Live nodes by zone number.
        self.zone_live: list[int] = []
        #: Incremented when a block or a node is added, or a node is removed.
        self.version: int = 0
        #: Lane of each block.
        self.block_lane: list[int] = []
        self._zone_numbers: dict[str, int] = {}
        #: Number of blocks by track; a track is a lane of a zone.
        self._blocks_on: list[int] = []
        #: Heaps of (live slots, block) by track; outdated entries are skipped.
        self._open: list[list[tuple[int, int]]] = []
        #: Entries of the heaps, so that no entry is pushed twice.
        self._queued: set[tuple[int, int]] = set()
        #: Free slots by block.
        self._free: list[list[int]] = []
        self._next_generation: int = 1

    @property
    def size(self) -> int:
        """Number of slots, live or not; a multiple of 64."""
        return len(self.live)

    @property
    def blocks(self) -> int:
        """Number of blocks."""
        return len(self.block_zone)

    @property
    def zones(self) -> int:
        """Number of zones ever seen."""
        return len(self.zone_names)

    def zone_number(self, name: str) -> int:
        """Return the number of a zone, assigned at first use."""
        found = self._zone_numbers.get(name)
        if found is not None:
            return found
        self._zone_numbers[name] = number = len(self.zone_names)
        self.zone_names.append(name)
        self.zone_live.append(0)
        self._blocks_on.extend([0] * LANES)
        self._open.extend([] for _ in range(LANES))
        return number

    def add(self, zone: str, lane: int = 0) -> int:
        """Allocate a slot in a zone, with a new generation."""
        number = self.zone_number(zone)
        block = self._emptiest(number, lane)
        slot = self._free[block].pop()
        self.live[slot] = 1
        self.generation[slot] = self._next_generation
        self._next_generation += 1
        self.block_live[block] += 1
        self.zone_live[number] += 1
        self.version += 1
        self._offer(block)
        return slot

    def remove(self, slot: int) -> None:
        """Release a slot; its generation is never used again."""
        block = slot // BLOCK
        self.live[slot] = 0
        self.block_live[block] -= 1
        self.zone_live[int(self.block_zone[block])] -= 1
        self._free[block].append(slot)
        self.version += 1
        self._offer(block)

    def lane_of(self, slot: int) -> int:
        """Return the lane of a slot."""
        return self.block_lane[slot // BLOCK]

    def _emptiest(self, zone: int, lane: int) -> int:
        """Return the open block of a lane with the fewest nodes, once ``fan_out`` blocks exist."""
        track = LANES * zone + lane
        heap = self._open[track]
        while heap and self._blocks_on[track] >= self.fan_out:
            live, block = entry = heappop(heap)
            self._queued.discard(entry)
            if self.block_live[block] == live:
                return block
        return self._new_block(zone, lane)

    def _offer(self, block: int) -> None:
        """Push a block that has free slots."""
        entry = (int(self.block_live[block]), block)
        if self._free[block] and entry not in self._queued:
            self._queued.add(entry)
            heappush(self._open[self._track(block)], entry)

    def _track(self, block: int) -> int:
        return LANES * int(self.block_zone[block]) + self.block_lane[block]

    def _new_block(self, zone: int, lane: int) -> int:
        block = self.blocks
        self.live = np.concatenate([self.live, np.zeros(BLOCK, np.uint8)])
        self.generation = np.concatenate([self.generation, np.zeros(BLOCK, np.int64)])
        self.block_zone = np.append(self.block_zone, np.int32(zone))
        self.block_live = np.append(self.block_live, np.int32(0))
        self.block_lane.append(lane)
        self._blocks_on[self._track(block)] += 1
        self._free.append(list(range((block + 1) * BLOCK - 1, block * BLOCK - 1, -1)))
        return block
