"""The changes that the dashboard may make, as writes to a store."""

from stretto.api.wire.kinds import NODE, POD
from stretto.base.errors import NotAllowedError, NotFoundError
from stretto.stores.store import Eviction, Patch, Store, WriteOutcome


class StoreActions:
    """Cordons nodes and evicts pods."""

    def __init__(self, store: Store, actor: str) -> None:
        """Write to a store.

        Args:
            store: the store.
            actor: whose rights the writes have, for display.
        """
        #: Whose rights the writes have.
        self.actor = actor
        self._store = store

    def cordon(self, node: str, *, cordoned: bool) -> None:
        """Close or open a node for new pods.

        Raises:
            NotAllowedError: the store refused it.
        """
        (reply,) = self._store.patch(NODE, [Patch("", node, {"spec": {"unschedulable": cordoned}})])
        if reply.outcome is not WriteOutcome.OK:
            raise NotAllowedError(f"node {node}", reply.message)

    def evict(self, pod: str) -> None:
        """Evict a pod, ``namespace/name``, within its disruption budgets.

        Raises:
            NotFoundError: no such pod.
            NotAllowedError: the store refused it, for example for a disruption budget.
        """
        namespace, _, name = pod.partition("/")
        found = self._store.get(POD, namespace, name)
        if found is None:
            raise NotFoundError(f"pod {pod}", "it does not exist any more")
        (reply,) = self._store.evict([Eviction(namespace, name, found.uid)])
        if reply.outcome is not WriteOutcome.OK:
            raise NotAllowedError(f"pod {pod}", reply.message)
