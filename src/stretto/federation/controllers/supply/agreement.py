"""Agreement of several shards about the capacity of clusters."""

from collections.abc import Hashable

from stretto.federation.controllers.exchange.peers import ShardPeers
from stretto.federation.controllers.supply.offers import FleetSupply


class CapacityAgreement:
    """Publishes the promises of this shard, and counts those of the others."""

    def __init__(self, supply: FleetSupply, peers: ShardPeers) -> None:
        """Initialize for one shard.

        Args:
            supply: the clusters with the promises of this shard.
            peers: the other shards; a process without shards agrees with every decision.
        """
        #: The clusters with all promises.
        self.supply = supply
        #: The other shards.
        self.peers = peers
        #: Seconds until a decision is repeated; shards repeat theirs at different times.
        self.pause = peers.pause
        self._behind: dict[Hashable, float] = {}
        self._is_late = False
        self._is_shared = peers.exist and supply.promises_count

    @property
    def holds(self) -> bool:
        """True while a decision must wait for the first report of another shard."""
        return self._is_shared and self.peers.holds()

    def hear(self) -> bool:
        """Count new reports of other shards; true if they promise or use less than before."""
        if not self._is_shared or not self.peers.count():
            return False
        return self.supply.promises.count_foreign(self.peers.promised, self.peers.used)

    @property
    def trouble(self) -> str:
        """Why decisions are made without the latest status of the clusters; empty if they are not.

        The text stays until this process has read the status.
        """
        if not self._is_late or not self.peers.is_ahead:
            return ""
        return (
            f"another shard has read a later status of a cluster for {self.peers.wait:g} s: check "
            "the watch of clusters; until then its promises count longer"
        )

    def forget(self, key: Hashable) -> None:
        """Drop an object that is deleted."""
        self._behind.pop(key, None)
        self.supply.forget(key)

    def agrees(self, key: Hashable, now: float) -> bool:
        """Publish the promises of the last decision; false if it must be repeated.

        Each shard publishes before it reads the reports of the others, and places only afterwards.
        Of two shards that promise the same capacity at the same time, at least one therefore sees
        the promise of the other, and decides again. It also does if another shard has read a later
        status of a cluster, with which its promises may have ended; but each object waits for this
        at most ``peers.wait`` seconds, because this process may never read it.

        Args:
            key: the object.
            now: monotonic time in seconds.
        """
        promises, table = self.supply.promises, self.supply.members.table
        if self._is_shared and (promised := tuple(promises.unpublished(key))):
            before = [table.free_in(*place) for place in promised]
            self.peers.publish()
            self.hear()
            after = [table.free_in(*place) for place in promised]
            pairs = zip(before, after, strict=True)
            taken = any(x is not None and y is not None and y < min(x, 0) for x, y in pairs)
            if taken or self._must_wait(key, now):
                return False
        promises.published(key)
        self._behind.pop(key, None)
        return True

    def _must_wait(self, key: Hashable, now: float) -> bool:
        """True while an object waits for a status of a cluster that another shard has read."""
        if not self.peers.is_ahead:
            self._is_late = False
            return False
        late = now - self._behind.setdefault(key, now) >= self.peers.wait
        self._is_late |= late
        return not late
