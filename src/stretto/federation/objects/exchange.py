"""Report of one shard to the others: what a process without the whole view must know of them.

A report is an annotation of a Lease in the namespace of the federation. It is small: sums by
cluster and by queue, and one entry for each cluster that leaves.
"""

from typing import Final

import msgspec

from stretto.federation import names
from stretto.reconcile.cache import StoredObject
from stretto.stores.shards import shard_lease

_ENCODER: Final = msgspec.json.Encoder()


class LeavingPart(msgspec.Struct, frozen=True):
    """Removal of the objects of one shard from a cluster that leaves."""

    #: Number of managed objects and unanswered writes that are left there.
    left: int
    #: Why the member does not answer; empty if it does.
    problem: str = ""


class ShardReport(msgspec.Struct, frozen=True, omit_defaults=True):
    """Facts about the objects of one shard."""

    #: Latest version of the FederatedClusters whose reports the promises take into account.
    clusters_at: int = 0
    #: Promised amounts by cluster: of replicas that the cluster does not report yet.
    promised: dict[str, dict[str, int]] = {}
    #: Requested amounts of all placed replicas by queue.
    used: dict[str, dict[str, int]] = {}
    #: Clusters that leave, by uid; an entry exists only after the shard has seen the deletion.
    leaving: dict[str, LeavingPart] = {}


_DECODER: Final = msgspec.json.Decoder(ShardReport)


def report_base(group: str) -> str:
    """Base of the names of all reports of the processes that run the same controllers."""
    return f"stretto-shard-{group}"


def report_name(group: str, shard: int, shards: int) -> str:
    """Name of the Lease with the report of a shard; other numbers of shards have other Leases."""
    return shard_lease(report_base(group), shard, shards)


def report_notes(report: ShardReport) -> dict[str, str]:
    """The annotations of the Lease of a report."""
    return {names.SHARD_REPORT: _ENCODER.encode(report).decode()}


def read_report(lease: StoredObject) -> ShardReport | None:
    """The report in a Lease; ``None`` if it has none, or a malformed one."""
    try:
        return _DECODER.decode(lease.annotations.get(names.SHARD_REPORT) or "")
    except msgspec.DecodeError:
        return None
