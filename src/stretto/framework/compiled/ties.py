"""Data of the tie rules, which select among equal scores.

The kernels select (``tables``); this module has their data: the turns of zones and the orders of
nodes. The published GPU studies use a fixed order that differs between seeds; such an order also
separates shards, because each shard draws its own order.
"""

from collections.abc import Mapping
from enum import Enum
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from stretto.framework.compiled.tables import TieBreak
from stretto.state.rows.slots import SlotMap

STRIDE: Final = 1 << 32
"""Stride of a zone with one node."""


class TieRule(Enum):
    """Tie-breaking rule for equal scores."""

    #: Zones rotate by their share of nodes; nodes within a zone rotate in a ring.
    ROTATE = "rotate"
    #: The first node in a fixed order (of a seed, or of a protocol).
    ORDER = "order"
    #: The smallest node name.
    NAME = "name"
    #: A random draw.
    RANDOM = "random"


PICKS: Final[Mapping[TieRule, TieBreak]] = {
    TieRule.ROTATE: TieBreak.ROTATE,
    TieRule.ORDER: TieBreak.RANK,
    TieRule.NAME: TieBreak.RANK,
    TieRule.RANDOM: TieBreak.RANDOM,
}
"""Selection of the kernels for each tie rule."""


def drawn_order(generations: npt.NDArray[np.int64], seed: int) -> npt.NDArray[np.int32]:
    """Return int32[slot]: a random rank for each node, constant for its lifetime.

    The rank is the splitmix64 hash (Steele et al., OOPSLA 2014) of the node's generation and the
    seed, so that it needs no memory and does not depend on the other nodes.
    """
    z = generations.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(seed)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return ((z ^ (z >> np.uint64(31))) >> np.uint64(33)).astype(np.int32)


class BlockRanges(NamedTuple):
    """Blocks by zone and ownership; maxima are kept for each range."""

    #: int32[block]: twice the zone, plus one if the block is not an own block.
    of_block: npt.NDArray[np.int32]
    #: int32[range + 1]: offset of the blocks of each range.
    first: npt.NDArray[np.int32]
    #: int32[block]: blocks by range, ascending within each.
    block: npt.NDArray[np.int32]


def ranges(
    block_zone: npt.NDArray[np.int32], own_block: npt.NDArray[np.uint8], zones: int
) -> BlockRanges:
    """Return the ranges of the blocks of ``zones`` zones."""
    of_block = (2 * block_zone + (own_block == 0)).astype(np.int32)
    counts = np.bincount(of_block, minlength=2 * zones)
    first = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    return BlockRanges(of_block, first, np.argsort(of_block, kind="stable").astype(np.int32))


class ZoneTurns:
    """Turns of the zones for the rotating tie rule."""

    def __init__(self) -> None:
        """Start without zones."""
        #: int64[zone]: large number / live nodes.
        self.stride: npt.NDArray[np.int64] = np.zeros(0, np.int64)
        #: int64[zone + 1]: passes, and the pass of the last pick.
        self.passes: npt.NDArray[np.int64] = np.zeros(1, np.int64)
        #: int64[zone]: slot after the last pick.
        self.cursor: npt.NDArray[np.int64] = np.zeros(0, np.int64)
        #: Blocks by zone and ownership.
        self.ranges: BlockRanges = ranges(np.zeros(0, np.int32), np.zeros(0, np.uint8), 0)
        self._seen: tuple[int, bytes] = (-1, b"")

    def follow(self, slots: SlotMap, own_block: npt.NDArray[np.uint8]) -> bool:
        """Adapt to zones, node counts and the own partition; return True if the ranges changed.

        Zones rotate by their number of nodes in the own partition, so that all partitions together
        represent the zones. A zone without such nodes counts with all of its nodes.
        """
        seen = (slots.version, own_block.tobytes())
        if seen == self._seen:
            return False
        self._seen = seen
        zones = slots.zones
        own = slots.block_live * (own_block != 0)
        live = np.bincount(slots.block_zone, weights=own, minlength=zones).astype(np.int64)
        live = np.where(live > 0, live, np.array(slots.zone_live, np.int64))
        more = zones - len(self.stride)
        last = self.passes[-1:]
        self.passes = np.concatenate([self.passes[:-1], np.zeros(more, np.int64), last])
        self.cursor = np.concatenate([self.cursor, np.zeros(more, np.int64)])
        self.stride = STRIDE // np.maximum(live, 1)
        before, self.ranges = self.ranges, ranges(slots.block_zone, own_block, zones)
        return len(before.first) != len(self.ranges.first) or not np.array_equal(
            before.of_block, self.ranges.of_block
        )
