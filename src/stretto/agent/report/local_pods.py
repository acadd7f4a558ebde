"""The pods of one node in the store: listed once per step, and evicted by the Eviction API."""

from stretto.agent.report.pods import node_pods
from stretto.api.wire.kinds import POD
from stretto.stores.store import Eviction, ListOptions, Store, WriteOutcome


class LocalPods:
    """The pods of one node at one time."""

    def __init__(self, store: Store, node: str) -> None:
        """List the pods of a node."""
        self._store = store
        #: Pods by uid.
        self.pods = node_pods(store.list(POD, ListOptions(fields=f"spec.nodeName={node}")).records)

    def evict(self, uid: str, reason: str) -> bool:
        """Evict a pod; return False if it is unknown or the store refuses (disruption budget)."""
        pod = self.pods.get(uid)
        if pod is None:
            return False
        namespace, _, name = pod.key.partition("/")
        reply = self._store.evict([Eviction(namespace, name, uid, reason)])[0]
        return reply.outcome is WriteOutcome.OK
