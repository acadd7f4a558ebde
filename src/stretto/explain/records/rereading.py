"""Objects of a store or of a record, read into a cluster anew: books that owe nothing to others."""

from collections.abc import Callable, Iterable

from stretto.api.wire.kinds import (
    CUSTOM_NODE_RESOURCE,
    NM_NODE,
    NODE,
    POD,
    POD_GROUP,
    PRIORITY_CLASS,
    Kind,
)
from stretto.state.cluster.cluster import Cluster
from stretto.state.ingest.ingest import Ingest
from stretto.state.ingest.node_reports import apply_reports
from stretto.stores.store import EventType, Record, WatchEvent


def added_events(records: Iterable[Record]) -> list[WatchEvent]:
    """Records as events of objects that come."""
    return [WatchEvent(EventType.ADDED, record) for record in records]


def read_into(cluster: Cluster, objects: Callable[[Kind], Iterable[Record]]) -> None:
    """All that the books are made of into an empty cluster, each kind before those that need it."""
    ingest = Ingest(cluster)
    ingest.priorities(added_events(objects(PRIORITY_CLASS)))
    ingest.nodes(added_events(objects(NODE)))
    ingest.managers.apply(added_events(objects(NM_NODE)))
    apply_reports(cluster, added_events(objects(CUSTOM_NODE_RESOURCE)))
    ingest.groups(added_events(objects(POD_GROUP)))
    ingest.pods(added_events(objects(POD)), 0.0)
