"""Which shard tries a node first, told by an annotation of the node.

A shard looks at the nodes of its own share first and then at all, so shares are no fence; they keep
shards from reaching for the same node. Each shard gets about as many nodes of every zone. A share
for one shard alone is not worth a write.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from stretto.api.handover import owned
from stretto.api.kinds import NODE
from stretto.daemons.wire.view import View
from stretto.state.cluster import Cluster
from stretto.stores.store import Outcome, Patch

EVERY: Final = 1.0
"""Seconds between looks."""
BALANCE_EVERY: Final = 60.0
"""Seconds between moves of nodes whose shard lives."""
AT_ONCE: Final = 128
"""Nodes written in one step."""


class NodeShares:
    """Shares nodes out."""

    def __init__(self, cluster: Cluster, view: View) -> None:
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
        moves = dict(self._homeless(shards))
        if not moves and now >= self._balance_at:
            self._balance_at = now + BALANCE_EVERY
            moves = dict(self._evening(shards))
        patches = [Patch("", node, owned(shard)) for node, shard in list(moves.items())[:AT_ONCE]]
        if not patches:
            return 0
        replies = self._view.patch(NODE, patches)
        for patch, reply in zip(patches, replies, strict=True):
            if reply.outcome is Outcome.OK:
                self._view.owners.put(patch.name, moves[patch.name])
        return sum(reply.outcome is Outcome.OK for reply in replies)

    def _zone(self, node: str) -> str:
        nodes = self._cluster.nodes
        return nodes.zones[nodes.by_name[node]]

    def _homeless(self, shards: Sequence[str]) -> Iterator[tuple[str, str]]:
        """Nodes without a living shard, each with the shard that has the fewest."""
        owners, nodes = self._view.owners.by_node, self._cluster.nodes.by_name
        homeless = [node for node in nodes if owners.get(node) not in shards]
        if not homeless:
            return
        held = [(node, owners[node]) for node in nodes if owners.get(node) in shards]
        total = Counter(owner for _, owner in held)
        local = Counter((self._zone(node), owner) for node, owner in held)
        for node in homeless:
            zone = self._zone(node)
            least = min(shards, key=lambda name: (local[zone, name], total[name], name))
            total[least] += 1
            local[zone, least] += 1
            yield node, least

    def _evening(self, shards: Sequence[str]) -> Iterator[tuple[str, str]]:
        """Nodes of the shard with the most for the one with the fewest, if that is twice less."""
        owners, nodes = self._view.owners.by_node, self._cluster.nodes.by_name
        total = Counter(dict.fromkeys(shards, 0))
        total.update(owners[node] for node in nodes if owners.get(node) in shards)
        most = max(shards, key=lambda name: (total[name], name))
        least = min(shards, key=lambda name: (total[name], name))
        if total[most] < 2 or total[most] <= 2 * total[least]:
            return
        count = (total[most] + total[least]) // 2 - total[least]
        for node in [node for node in nodes if owners.get(node) == most][:count]:
            yield node, least
