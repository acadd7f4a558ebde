"""The controller of TideNodePools: assigns roles to nodes and switches them by demand.

Its state is stored on the nodes: role, taint and time of the last switch. After a restart it
continues from this state; only the time for which a node has been empty begins again.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Final

from stretto.api.types.capacity.tides import TideNodePool
from stretto.api.wire.kinds import NODE, TIDE_NODE_POOL
from stretto.base.clock import Clock
from stretto.base.errors import InputError
from stretto.capacity.tides.members import PoolMembers
from stretto.capacity.tides.pool import FINALIZER, NodeRole, TidePool, default_pool
from stretto.capacity.tides.rounds import PERIOD_S, TideRounds, TideTrial
from stretto.capacity.tides.words import NodeSwitch, message_of
from stretto.reconcile import writes
from stretto.reconcile.cache import Change, StoreCache, StoredObject
from stretto.reconcile.events import EventLevel, EventText
from stretto.reconcile.recorder import EventRecorder

COMPONENT: Final = "stretto-tides"
"""Reporter of the events."""


class TideController:
    """Maintains the labels, taints and pods of the nodes of TideNodePools."""

    def __init__(
        self,
        cache: StoreCache,
        clock: Clock,
        trial: TideTrial,
        on_switch: Callable[[NodeSwitch], None] = lambda _: None,
    ) -> None:
        """Reconcile the pools of a cluster.

        Args:
            cache: caches of the cluster's store.
            clock: wall time.
            trial: the scheduler on a copy of the state.
            on_switch: called with each switch when it begins.
        """
        #: Name in logs and messages.
        self.name = f"{cache.name}/tides"
        self._cache = cache
        self._on_switch = on_switch
        self._events = EventRecorder(cache.store, clock, COMPONENT)
        self._pools = cache.follow(TIDE_NODE_POOL)
        self._nodes = cache.follow(NODE)
        self._rounds = TideRounds(cache, clock, trial)

    def affected(self, change: Change) -> Iterable[Hashable]:
        """Return the pool; for a node that appears, disappears or gets other labels, all pools."""
        if change.source != self._cache.name:
            return
        if change.kind == TIDE_NODE_POOL:
            yield change.object.record.name
        elif change.kind == NODE and _labels(change.old) != _labels(change.new):
            yield from (each.record.name for each in self._pools)

    def reconcile(self, key: Hashable, now: float) -> float | None:
        """Set the roles of the nodes of one pool, and switch some.

        Raises:
            RetryError: a write was refused.
        """
        item = self._pools.get("", str(key))
        if item is None:
            return None
        if item.is_terminating:
            self._end(item)
            return None
        try:
            pool = TidePool(item.read(TideNodePool))
            members = PoolMembers(self._cache.store, pool, self._nodes)
        except InputError as error:
            self._events.record(item, EventText(EventLevel.WARNING, "InvalidPool", str(error)))
            return None
        self._finalize(item, present=True)
        members.settle()
        self._report(item, members.roles)
        for switch in self._rounds.run(pool, members):
            reason = "SwitchedOnline" if switch.role is NodeRole.ONLINE else "SwitchedOffline"
            self._events.record(item, EventText(EventLevel.NORMAL, reason, message_of(switch)))
            self._on_switch(switch)
        return PERIOD_S

    def _end(self, item: StoredObject) -> None:
        """Release the nodes of a deleted pool.

        An invalid pool has the default labels and taints.
        """
        try:
            pool = TidePool(item.read(TideNodePool))
            members = PoolMembers(self._cache.store, pool, self._nodes)
        except InputError:
            pool = TidePool(default_pool(item.record.name))
            members = PoolMembers(self._cache.store, pool, self._nodes)
        members.dismiss_all()
        self._finalize(item, present=False)

    def _report(self, item: StoredObject, roles: Mapping[str, NodeRole]) -> None:
        """Write the names of the nodes if they differ."""

        def having(*wanted: NodeRole) -> list[str]:
            return sorted(name for name, role in roles.items() if role in wanted)

        reserve = {
            "onlineNodes": having(NodeRole.RESERVED_ONLINE),
            "offlineNodes": having(NodeRole.RESERVED_OFFLINE),
        }
        tide = {"nodes": having(NodeRole.ONLINE, NodeRole.OFFLINE)}
        wanted = {"reserveNodes": reserve, "tideNodes": tide}
        changed = {name: value for name, value in wanted.items() if item.status.get(name) != value}
        if changed:
            writes.patch_status(self._cache.store, item, changed)

    def _finalize(self, item: StoredObject, *, present: bool) -> None:
        """Add or remove the finalizer of a pool."""
        changed = writes.with_finalizer(item.fields, FINALIZER, present)
        if changed is not None:
            writes.update(self._cache.store, item, changed)


def _labels(item: StoredObject | None) -> Mapping[str, str] | None:
    return None if item is None else item.labels
