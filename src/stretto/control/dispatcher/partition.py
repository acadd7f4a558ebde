"""Partitions: which nodes a shard tries first.

Shards that look at different nodes first seldom claim the same one. A partition is a set of 64-slot
blocks. Each shard gets its share of every zone, by what the nodes give to pods and equal to within
the heaviest block, so that a rule about zones can be kept inside any partition. When nodes come or
go, or shards do, a block keeps its owner unless balance demands otherwise.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from stretto.state.ledger import Ledger
from stretto.state.resources import CPU, MEMORY
from stretto.state.slots import BLOCK, Slots

NO_OWNER: Final = -1
"""Owner of a block when there is no shard."""


class Partitions:
    """The owner of each block, kept in step with nodes and shards."""

    def __init__(self, shares: dict[int, float] | None = None) -> None:
        """Start with no block; ``shares`` are kept up to date for whoever gave them."""
        #: int32[block]: number of the shard that owns it, or ``NO_OWNER``.
        self.owner: npt.NDArray[np.int32] = np.zeros(0, np.int32)
        #: Blocks that changed hands in the last update, new ones apart.
        self.moved: int = 0
        #: Part of the whole that each shard has, by its number.
        self.shares: dict[int, float] = shares if shares is not None else {}
        self._seen: tuple[int, tuple[int, ...]] | None = None

    def update(
        self, slots: Slots, shards: Sequence[int], ledger: Ledger | None = None
    ) -> npt.NDArray[np.int32]:
        """Follow the nodes and the shards; returns the owners by block.

        Args:
            slots: which slots live.
            shards: numbers of the shards.
            ledger: what nodes give to pods; without one all nodes weigh the same.
        """
        numbers = tuple(sorted(shards))
        if self._seen == (slots.version, numbers):
            self.moved = 0
            return self.owner
        self._seen = (slots.version, numbers)
        before = np.full(slots.blocks, NO_OWNER, np.int32)
        before[: len(self.owner)] = self.owner
        self.owner = before.copy()
        if numbers:
            weights = slots.block_live if ledger is None else block_weights(ledger)
            deal = _Deal(slots, numbers, self.owner, weights.tolist())
            deal.deal()
            self.shares.clear()
            self.shares.update(deal.shares())
        else:
            self.owner.fill(NO_OWNER)
        self.moved = int(np.count_nonzero((before != NO_OWNER) & (before != self.owner)))
        return self.owner


def partition_blocks(slots: Slots, shards: Sequence[int]) -> npt.NDArray[np.int32]:
    """The owner of each block when nobody owned any before."""
    return Partitions().update(slots, shards)


def block_weights(ledger: Ledger) -> npt.NDArray[np.int64]:
    """int64[block]: what the nodes of each block give to pods; a node weighs 1,000 on average.

    CPU, memory and devices count the same, each as a part of what the cluster has of it.
    """
    live = ledger.slots.live > 0
    given = np.stack([
        ledger.alloc[:, CPU],
        ledger.alloc[:, MEMORY],
        np.count_nonzero(ledger.devices.kind, axis=1),
    ]) * live  # fmt: skip
    whole = given.sum(axis=1).astype(np.float64)
    parts = [mine / total for mine, total in zip(given, whole, strict=True) if total > 0]
    if not parts:
        return np.asarray(ledger.slots.block_live, np.int64)
    weights = np.rint(sum(parts) * (1000.0 * live.sum() / len(parts)))
    return np.asarray(np.add.reduceat(weights, np.arange(0, len(live), BLOCK)), np.int64)


class _Deal:
    """One dealing of blocks to shards; changes the owners in place."""

    def __init__(
        self,
        slots: Slots,
        shards: tuple[int, ...],
        owner: npt.NDArray[np.int32],
        weights: list[int],
    ) -> None:
        self._owner = owner
        self._shards = shards
        #: What each block weighs.
        self._live = weights
        #: Difference that is even enough: the heaviest block is moved as a whole.
        self._grain = max(BLOCK, *weights, 0)
        self._zones: list[list[int]] = [[] for _ in range(slots.zones)]
        for block, zone in enumerate(slots.block_zone.tolist()):
            self._zones[zone].append(block)
        #: Weight of each shard in all zones.
        self._total = dict.fromkeys(shards, 0)
        #: Weight of each shard by zone.
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

    def shares(self) -> dict[int, float]:
        """Part of the whole that each shard has; all alike where there is nothing."""
        whole = sum(self._total.values())
        return {n: mine / whole if whole else 1.0 for n, mine in self._total.items()}

    def _even_out(self, zone: int) -> None:
        """Move blocks from the fullest to the emptiest until they differ by a block at most.

        A block of more than nothing and less than the difference always lessens it, so this ends.
        """
        loads = self._loads[zone]
        while True:
            low, high = self._least(zone), max(self._shards, key=lambda n: (loads[n], n))
            gap = loads[high] - loads[low]
            if gap <= self._grain:
                return
            self._give(zone, self._nearest(zone, high, gap // 2), low)

    def _even_out_all(self) -> None:
        """Even out what the zones add up to, as far as each zone stays even."""
        for _ in range(len(self._live)):
            low = min(self._shards, key=lambda n: (self._total[n], n))
            high = max(self._shards, key=lambda n: (self._total[n], n))
            gap = self._total[high] - self._total[low]
            if gap <= self._grain:
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
                if max(after.values()) - min(after.values()) <= self._grain:
                    return zone, block
        return None

    def _nearest(self, zone: int, owner: int, wanted: int) -> int:
        """The block of an owner whose weight comes nearest to what is wanted."""
        mine = [b for b in self._zones[zone] if int(self._owner[b]) == owner and self._live[b]]
        return min(mine, key=lambda block: (abs(self._live[block] - wanted), block))

    def _least(self, zone: int) -> int:
        """The shard with the least of a zone; among equals, with the least in all."""
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
