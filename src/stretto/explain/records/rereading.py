"""Builds a cluster from the objects of a store or of a record, independent of any plane."""

from collections.abc import Callable, Iterable

from stretto.api.kinds.table import watched_kinds
from stretto.api.wire.kinds import Kind
from stretto.state.cluster.cluster import Cluster
from stretto.state.cluster.config import ClusterConfig
from stretto.state.ingest.by_kind import APPLY
from stretto.state.ingest.ingest import Ingest
from stretto.stores.store import EventType, Record, WatchEvent


def added_events(records: Iterable[Record]) -> list[WatchEvent]:
    """Convert records to events of created objects."""
    return [WatchEvent(EventType.ADDED, record) for record in records]


def read_into(cluster: Cluster, objects: Callable[[Kind], Iterable[Record]]) -> None:
    """Apply the objects of every watched kind to an empty cluster, in the order of the pump."""
    ingest = Ingest(cluster)
    for kind in watched_kinds():
        APPLY[kind](cluster, ingest, added_events(objects(kind)), 0.0)


def rebuilt_cluster(
    scheduler_names: frozenset[str], objects: Callable[[Kind], Iterable[Record]]
) -> Cluster:
    """A new cluster with the objects of every watched kind."""
    cluster = Cluster(ClusterConfig(scheduler_names=scheduler_names))
    read_into(cluster, objects)
    return cluster
