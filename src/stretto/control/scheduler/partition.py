"""Partitions: the nodes that a shard tries first.

Shards that try different nodes first rarely claim the same one. A partition is a set of 64-slot
blocks. Each shard gets its share of every zone by allocatable resources, to within the heaviest
block, so that a zone rule can be satisfied inside any partition. When nodes or shards are added or
removed, a block changes its owner only if the balance requires it (``even_shares``).
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from stretto.control.scheduler.even_shares import NO_OWNER, EvenShares, NodeBlocks
from stretto.state.rows.ledger import Ledger
from stretto.state.rows.resources import CPU, MEMORY
from stretto.state.rows.slots import BLOCK, SlotMap


class Partitions:
    """The owner of each block, updated with nodes and shards."""

    def __init__(self, shares: dict[int, float] | None = None) -> None:
        """Start without blocks; ``shares`` is updated in place for its other readers."""
        #: int32[block]: number of the shard that owns it, or ``NO_OWNER``.
        self.owner: npt.NDArray[np.int32] = np.zeros(0, np.int32)
        #: Blocks that changed their owner in the last update, without new ones.
        self.moved: int = 0
        #: Fraction of the cluster's capacity in each shard's partition, by number.
        self.shares: dict[int, float] = shares if shares is not None else {}
        self._seen: tuple[int, tuple[int, ...]] | None = None

    def update(
        self, slots: SlotMap, shards: Sequence[int], ledger: Ledger | None = None
    ) -> npt.NDArray[np.int32]:
        """Update the owners after changes of nodes and shards; returns the owners by block.

        Args:
            slots: map of the live slots.
            shards: numbers of the shards.
            ledger: allocatable resources of the nodes; without one all nodes weigh the same.
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
            owner = self.owner.tolist()
            pieces = NodeBlocks(slots.block_zone.tolist(), weights.tolist(), grain=BLOCK)
            deal = EvenShares(pieces, numbers, owner)
            deal.deal()
            self.owner[:] = owner
            self.shares.clear()
            self.shares.update(deal.shares())
        else:
            self.owner.fill(NO_OWNER)
        self.moved = int(np.count_nonzero((before != NO_OWNER) & (before != self.owner)))
        return self.owner


def block_weights(ledger: Ledger) -> npt.NDArray[np.int64]:
    """int64[block]: total weight of the nodes of each block."""
    weights, slots = node_weights(ledger), ledger.slots.size
    return np.asarray(np.add.reduceat(weights, np.arange(0, slots, BLOCK)), np.int64)


def node_weights(ledger: Ledger) -> npt.NDArray[np.int64]:
    """int64[slot]: weight of each node; 1,000 on average, 0 for dead slots.

    CPU, memory and devices count equally, each as a fraction of the cluster's total.
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
        return np.asarray(live, np.int64)
    return np.asarray(np.rint(sum(parts) * (1000.0 * live.sum() / len(parts))), np.int64)
