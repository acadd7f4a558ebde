"""Entry point of ingest: applies watch events of every kind to a cluster."""

from collections.abc import Iterable

from stretto.state.cluster.cluster import Cluster
from stretto.state.ingest.nodes_and_groups import apply_groups, apply_nodes
from stretto.state.ingest.pods import PodIngest
from stretto.state.ingest.priorities import PodPriorities
from stretto.state.ingest.second_managers import NodeManagers
from stretto.stores.store import Record, WatchEvent


class Ingest:
    """Applies events to a cluster."""

    def __init__(self, cluster: Cluster) -> None:
        """Apply events to one cluster."""
        #: Gödel's node managers (NMNodes).
        self.managers = NodeManagers(cluster)
        self._cluster = cluster
        self._priorities = PodPriorities(cluster)
        self._pods = PodIngest(cluster, self._priorities)
        #: Applies pod events, in order, at a clock time.
        self.pods = self._pods.apply

    def nodes(self, events: Iterable[WatchEvent]) -> None:
        """Apply node events."""
        apply_nodes(self._cluster, events, self.managers)

    def groups(self, events: Iterable[WatchEvent]) -> None:
        """Apply PodGroup events."""
        apply_groups(self._cluster, events)

    def priorities(self, events: Iterable[WatchEvent]) -> None:
        """Apply PriorityClass events."""
        self._priorities.classes(events)

    def reread(self, records: Iterable[Record], now: float) -> None:
        """Read pending pods again because their classes now include more fields."""
        self._pods.known.reread(records, now)

    def end(self, row: int) -> None:
        """Remove a pod: release its resources and its row."""
        self._pods.known.end(row)
