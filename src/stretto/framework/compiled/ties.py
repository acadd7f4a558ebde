"""Data of the tie rules, which choose between equal scores.

The kernels pick (``tables``); this module has their data: the turns of zones and the
orders of nodes. A fixed order that differs from seed to seed is what the published GPU studies use;
it also keeps shards apart, because each draws its own.
"""

from collections.abc import Mapping
from enum import Enum
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from stretto.framework.compiled.tables import TieBreak
from stretto.state.rows.slots import SlotMap

STRIDE: Final = 1 << 32
"""Stride of a zone that holds one node."""


class TieRule(Enum):
    """How ties between equal scores are broken."""

    #: Zones rotate by their share of nodes, nodes within a zone in a ring.
    ROTATE = "rotate"
    #: The first node in a fixed order (of a seed, or of a protocol).
    ORDER = "order"
    #: The smallest node name.
    NAME = "name"
    #: A fresh draw.
    RANDOM = "random"


PICKS: Final[Mapping[TieRule, TieBreak]] = {
    TieRule.ROTATE: TieBreak.ROTATE,
    TieRule.ORDER: TieBreak.RANK,
    TieRule.NAME: TieBreak.RANK,
    TieRule.RANDOM: TieBreak.RANDOM,
}
"""What the kernels do for each tie rule."""


def drawn_order(generations: npt.NDArray[np.int64], seed: int) -> npt.NDArray[np.int32]:
    """int32[slot]: a random rank for each node, the same for its whole life.

    It is the splitmix64 hash (Steele et al., OOPSLA 2014) of the node's generation and the seed, so
    it needs no memory and does not depend on which other nodes there are.
    """
    z = generations.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(seed)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return ((z ^ (z >> np.uint64(31))) >> np.uint64(33)).astype(np.int32)


class BlockRanges(NamedTuple):
    """Blocks by zone and by whether they are own ones: what maxima are kept of."""

    #: int32[block]: twice the zone, plus one where the block is not an own one.
    of_block: npt.NDArray[np.int32]
    #: int32[range + 1]: where the blocks of each range begin.
    first: npt.NDArray[np.int32]
    #: int32[block]: blocks by range, ascending within each.
    block: npt.NDArray[np.int32]


def ranges(
    block_zone: npt.NDArray[np.int32], own_block: npt.NDArray[np.uint8], zones: int
) -> BlockRanges:
    """The ranges of blocks of so many zones."""
    of_block = (2 * block_zone + (own_block == 0)).astype(np.int32)
    counts = np.bincount(of_block, minlength=2 * zones)
    first = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    return BlockRanges(of_block, first, np.argsort(of_block, kind="stable").astype(np.int32))


class ZoneTurns:
    """Turns of the zones for the rotating tie rule."""

    def __init__(self) -> None:
        """No zone yet."""
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
        """Adapt to zones, node counts and the own partition; True when the ranges changed.

        Zones rotate by the nodes of the own partition there: the partitions together then
        mirror the zones. A zone in which there is none counts with all of its nodes.
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
