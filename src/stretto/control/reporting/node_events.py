"""Events about nodes: changes and refusals of a controller."""

from stretto.api.wire.kinds import EVENT, NODE
from stretto.base.clock import Clock
from stretto.control.reporting.wording import node_event
from stretto.state.cluster.cluster import Cluster
from stretto.stores.store import Record, Store


class NodeEvents:
    """Writes events about the nodes of a cluster."""

    def __init__(self, cluster: Cluster, store: Store | None, clock: Clock) -> None:
        """Write to a store; without a store, write nothing."""
        self._cluster = cluster
        self._store = store
        self._clock = clock

    def warn(self, node: str, reason: str, message: str) -> None:
        """Write one event of type Warning."""
        slot = self._cluster.nodes.by_name.get(node)
        if self._store is None or slot is None:
            return
        record = Record(NODE, "", node, self._cluster.nodes.uids[slot], 0, b"")
        component = min(self._cluster.config.scheduler_names)
        body = node_event(record, (reason, message), component, self._clock.now())
        self._store.create(EVENT, [body])
