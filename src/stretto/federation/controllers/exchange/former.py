"""Deletion of the reports of former numbers of shards, which no process reads any more."""

from stretto.federation.objects.exchange import report_base
from stretto.federation.shares import ControllerShare
from stretto.stores.shards import delete_former
from stretto.stores.store import Store


def delete_former_reports(host: Store, namespace: str, share: ControllerShare) -> str:
    """Delete the reports of other numbers of shards, as the leader of shard 0.

    No process of another number leads meanwhile. A later return to that number would count the
    promises of its old reports.

    Args:
        host: the store of the host.
        namespace: the system namespace.
        share: the share of this process.

    Returns:
        Why a report stays; empty on success.
    """
    if share.shard != 0:
        return ""
    place = report_base(share.group), share.shards
    return delete_former(host, namespace, place, lambda _: True)
