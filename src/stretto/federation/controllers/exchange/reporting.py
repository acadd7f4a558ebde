"""Writes the report of this shard, which the other shards read."""

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Final, NamedTuple

from stretto.api.wire.kinds import LEASE
from stretto.base.clock import Clock, timestamp
from stretto.federation.controllers.exchange.peers import ShardPeers
from stretto.federation.controllers.keys import FEDERATED
from stretto.federation.controllers.supply.promises import PromiseLedger
from stretto.federation.fleet import HOST, ClusterFleet
from stretto.federation.objects.exchange import LeavingPart, ShardReport, report_name, report_notes
from stretto.federation.shares import ControllerShare
from stretto.reconcile import writes
from stretto.reconcile.cache import Change, Fields
from stretto.reconcile.reconciler import Later, accepted
from stretto.stores.store import Patch, StatusReason

_KEY: Final = "report"
"""The only key: the report of this shard."""
LeavingParts = Callable[[], Mapping[str, LeavingPart]]
"""Returns the clusters that leave, by uid, as far as this shard is concerned."""


class ShardReportSources(NamedTuple):
    """Sources of a report."""

    #: The other shards.
    peers: ShardPeers
    #: The promises of this process; ``None`` if it places nothing.
    promises: PromiseLedger | None
    #: The clusters that leave.
    leaving: LeavingParts


class ShardReporter:
    """Reports what this shard has promised, and what it has left in clusters that leave."""

    name = "shards"

    def __init__(
        self, fleet: ClusterFleet, clock: Clock, share: ControllerShare, sources: ShardReportSources
    ) -> None:
        """Initialize without a report.

        Args:
            fleet: the fleet; the report is written to its host.
            clock: dates reports.
            share: the share of this process.
            sources: content of the report, and the reports of the other shards.
        """
        self._fleet = fleet
        self._clock = clock
        self._name = report_name(share.group, share.shard, share.shards)
        self._sources = sources
        fleet.host.follow_in(LEASE, fleet.settings.namespace)
        sources.peers.publish_by(self.write)

    def affected(self, change: Change) -> Iterable[Hashable]:
        """The report, soon after a change of a federated object or a cluster."""
        if change.source != HOST:
            return
        if change.kind == LEASE:
            self._sources.peers.note(change)
        elif change.kind.kind in FEDERATED or change.kind.kind == "FederatedCluster":
            yield Later(_KEY, self._fleet.settings.report_delay)

    def reconcile(self, key: Hashable, now: float) -> float | None:
        """Write the report; return the seconds until it is renewed without a change."""
        self.write()
        return self._fleet.settings.report_period

    def write(self) -> None:
        """Write the report.

        Raises:
            RetryError, StrettoError: the host refuses it or does not answer.
        """
        space, store = self._fleet.settings.namespace, self._fleet.host.store
        metadata: Fields = {"annotations": report_notes(self._report())}
        spec = {"renewTime": timestamp(int(self._clock.now())).replace("Z", ".000000Z")}
        change = Patch(space, self._name, {"metadata": metadata, "spec": spec})
        reply = store.patch(LEASE, [change])[0]
        if reply.code is StatusReason.NOT_FOUND:
            named = {"name": self._name, "namespace": space, **metadata}
            kind = {"apiVersion": LEASE.api_version, "kind": LEASE.kind}
            writes.create(store, LEASE, {**kind, "metadata": named, "spec": spec})
        else:
            accepted(reply, f"report {self._name}")

    def _report(self) -> ShardReport:
        """The present facts.

        Raises:
            NotListedError: the federated objects are not listed yet.
        """
        leaving, promises = dict(self._sources.leaving()), self._sources.promises
        seen = max((each.record.version for each in self._fleet.clusters), default=0)
        if promises is None:
            return ShardReport(clusters_at=seen, leaving=leaving)
        sums = {name: _nonzero(each) for name, each in promises.own_sums.items()}
        used = {name: _nonzero(each) for name, each in promises.own_queues.items()}
        promised = {name: each for name, each in sums.items() if each}
        return ShardReport(seen, promised, used, leaving)


def _nonzero(amounts: Mapping[str, int]) -> dict[str, int]:
    return {name: amount for name, amount in amounts.items() if amount}
