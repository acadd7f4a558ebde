"""Which shard tries a node first, told by an annotation of the node.

A shard looks at the nodes of its own share first and then at all, so shares are no fence; they keep
shards from reaching for the same node. They are dealt as the partitions of shards in one process
are, by what nodes give, in every zone and in all, but node by node. A share for one shard alone is
not worth a write.
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
"""Seconds between looks."""
BALANCE_EVERY: Final = 60.0
"""Seconds between moves of nodes whose shard lives."""
AT_ONCE: Final = 128
"""Nodes written in one step."""
SLACK: Final = 0.1
"""Part of a shard's mean share by which shares may differ before a node changes hands."""


class NodeShareWriter:
    """Shares nodes out."""

    def __init__(self, cluster: Cluster, view: StoreView) -> None:
        """Start with what the nodes say."""
        self._cluster = cluster
        self._view = view
        self._next = float("-inf")
        self._balance_at = float("-inf")

    def next_due(self) -> float:
        """Clock time of the next look."""
        return self._next

    def step(self, shards: Sequence[str], now: float) -> int:
        """Give nodes without a living shard to one, or even out; returns how many were written."""
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
        """Slots of the nodes that have an object to write on, by name."""
        managers = self._cluster.nodes.managers.tolist()
        by_name, kubelet = self._cluster.nodes.by_name, MANAGED_BY[KUBELET]
        return {name: slot for name, slot in by_name.items() if managers[slot] & kubelet}

    def _wanted(
        self, nodes: Mapping[str, int], shards: Sequence[str], *, even: bool
    ) -> Iterator[tuple[str, str]]:
        """Nodes that change hands, each with the shard that it goes to."""
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
