"""The headroom of a node as extended resources, which every Kubernetes scheduler supports."""

from stretto.api.types.cnr import CnrStatus
from stretto.api.wire.kinds import NODE
from stretto.api.wire.quantity import amount
from stretto.framework.profile.capacity.reclaim import ExtendedNames
from stretto.stores.store import Patch, Store, WriteOutcome


class ExtendedResources:
    """Writer of the headroom to the capacity and the allocatable amounts of the Node."""

    def __init__(self, kind: ExtendedNames) -> None:
        """Write resources with these names."""
        self._names = kind.names
        self._last: dict[str, str] = {}

    def write(self, store: Store, node: str, status: CnrStatus) -> bool:
        """Write the headroom if it changed; return whether it was written."""
        if self._names is None:
            return False
        pool = status.resources.allocatable
        cpu, memory = self._names
        amounts = {
            cpu: str(amount("cpu", pool.get("cpu", 0), cpu)),
            memory: str(amount("memory", pool.get("memory", 0), memory)),
        }
        if amounts == self._last:
            return False
        change = {"status": {"capacity": amounts, "allocatable": amounts}}
        reply = store.patch_status(NODE, [Patch("", node, change)])[0]
        if reply.outcome is WriteOutcome.OK:
            self._last = amounts
        return reply.outcome is WriteOutcome.OK
