"""Writer of the annotation that contains the shard which tries a node first.

A shard tries the nodes of its own share first and then all others, so shares only reduce conflicts.
They are balanced like the partitions of shards in one process, by allocatable resources, in every
zone and in total, but node by node. With a single shard nothing is written.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import numpy as np

from stretto.api.types.handover_annotations import KUBELET, owned
from stretto.api.wire.kinds import NODE
from stretto.control.scheduler.even_shares import NO_OWNER, EvenShares, NodeBlocks
from stretto.control.scheduler.partition import node_weights
from stretto.daemons.roles.store_view import StoreView
from stretto.state.cluster.cluster import Cluster
from stretto.state.nodes.table import MANAGED_BY
from stretto.state.rows.slots import BLOCK
from stretto.stores.store import Patch, WriteOutcome

EVERY: Final = 1.0
"""Seconds between checks."""
BALANCE_EVERY: Final = 60.0
"""Seconds between moves of nodes whose shard is alive."""
AT_ONCE: Final = 128
"""Maximum number of nodes written in one step."""
SLACK: Final = 0.1
"""Tolerated imbalance as a fraction of a shard's mean share."""


class NodeShareWriter:
    """Assigns nodes to shards."""

    def __init__(self, cluster: Cluster, view: StoreView) -> None:
        """Start from the annotations of the nodes."""
        self._cluster = cluster
        self._view = view
        self._next = float("-inf")
        self._balance_at = float("-inf")

    def next_due(self) -> float:
        """Clock time of the next check."""
        return self._next

    def step(self, shards: Sequence[str], now: float) -> int:
        """Assign nodes without a live shard, or rebalance; returns the number of writes."""
        if now < self._next:
            return 0
        self._next = now + EVERY
        if not shards or (len(shards) < 2 and not self._view.owners.by_node):
            return 0
        nodes, owners = self._nodes(), self._view.owners.by_node
        even = now >= self._balance_at
        if not nodes or (not even and all(owners.get(node) in shards for node in nodes)):
            return 0
        moves = dict(self._wanted(nodes, shards, even=even))
        if even and len(moves) <= AT_ONCE:
            self._balance_at = now + BALANCE_EVERY
        patches = [Patch("", node, owned(shard)) for node, shard in list(moves.items())[:AT_ONCE]]
        if not patches:
            return 0
        replies = self._view.patch(NODE, patches)
        for patch, reply in zip(patches, replies, strict=True):
            if reply.outcome is WriteOutcome.OK:
                self._view.owners.put(patch.name, moves[patch.name])
        return sum(reply.outcome is WriteOutcome.OK for reply in replies)

    def _nodes(self) -> dict[str, int]:
        """Slots of the nodes with an object, by name."""
        managers = self._cluster.nodes.managers.tolist()
        by_name, kubelet = self._cluster.nodes.by_name, MANAGED_BY[KUBELET]
        return {name: slot for name, slot in by_name.items() if managers[slot] & kubelet}

    def _wanted(
        self, nodes: Mapping[str, int], shards: Sequence[str], *, even: bool
    ) -> Iterator[tuple[str, str]]:
        """Nodes whose shard changes, with the new shard."""
        owners, ledger = self._view.owners.by_node, self._cluster.ledger
        names, slots = list(nodes), list(nodes.values())
        pieces = NodeBlocks(
            zones=ledger.slots.block_zone[np.array(slots, np.int64) // BLOCK].tolist(),
            weights=node_weights(ledger)[slots].tolist(),
            slack=SLACK,
        )
        numbers = {shard: number for number, shard in enumerate(sorted(shards))}
        before = [numbers.get(owners.get(name, ""), NO_OWNER) for name in names]
        after = list(before)
        deal = EvenShares(pieces, range(len(numbers)), after)
        (deal.deal if even else deal.give_out)()
        by_number = list(numbers)
        for name, old, new in zip(names, before, after, strict=True):
            if old != new:
                yield name, by_number[new]
