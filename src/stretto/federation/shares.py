"""Share of a federation's work for one process: some controllers, and a shard of objects.

The objects of a namespace are in one shard: a workload, its federated object, the objects in
members and its followers have the same namespace, and no object changes its namespace. Every
process reads cluster-scoped objects as a whole; the shard of such a key is that of its name.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Final
from zlib import crc32

from stretto.api.wire.kinds import LEASE, Kind
from stretto.api.wire.shards import ObjectShard
from stretto.federation.objects.membership.kinds import SECRET
from stretto.reconcile.cache import Change
from stretto.reconcile.reconciler import Later, Reconciler, Sweep
from stretto.stores.store import EVERYTHING, ListOptions

_WHOLE: Final = (SECRET, LEASE)
"""Namespaced kinds that every process reads as a whole: credentials and reports of all shards."""


@dataclass(frozen=True, slots=True)
class ControllerShare:
    """The work of one process.

    Every process reads its shard of the namespaced objects, and all cluster-scoped ones. It writes
    only for its own controllers and objects.
    """

    #: Names of its controllers; ``None`` for all.
    controllers: frozenset[str] | None = None
    #: Number of its shard, from 0.
    shard: int = 0
    #: Number of shards.
    shards: int = 1

    def runs(self, controller: str) -> bool:
        """True if the process runs a controller for any key."""
        return self.controllers is None or controller in self.controllers

    def owns(self, key: Hashable) -> bool:
        """True if a key belongs to the shard: the hash of its namespace or name, modulo shards."""
        return self.holds(*_place(key))

    def holds(self, namespace: str, name: str) -> bool:
        """True if an object belongs to the shard."""
        return self.part is None or self.part.holds(namespace, name)

    @property
    def part(self) -> ObjectShard | None:
        """The part of all objects; ``None`` for the whole."""
        return ObjectShard(self.shards, self.shard) if self.shards > 1 else None

    def selection(self, kind: Kind) -> ListOptions:
        """The objects of a kind that the process reads."""
        if self.part is None or not kind.namespaced or kind in _WHOLE:
            return EVERYTHING
        return ListOptions(shard=self.part)

    @property
    def group(self) -> str:
        """Name of the processes that run the same controllers, in every shard."""
        if self.controllers is None:
            return "all"
        return f"{crc32(','.join(sorted(self.controllers)).encode()):08x}"

    def has(self, controller: str, key: Hashable) -> bool:
        """True if the process runs a controller for a key."""
        return self.runs(controller) and self.owns(key)


WHOLE: Final = ControllerShare()
"""Share of a process that does all the work."""


class ShardedController:
    """A controller that reconciles the keys of one shard."""

    def __init__(self, inner: Reconciler, owns: Callable[[Hashable], bool]) -> None:
        """Initialize with a controller and a predicate for its keys."""
        self._inner = inner
        self._owns = owns

    @property
    def name(self) -> str:
        """Its name."""
        return self._inner.name

    def affected(self, change: Change) -> Iterable[Hashable]:
        """The keys of the shard that a change affects."""
        for key in self._inner.affected(change):
            if isinstance(key, Sweep):
                yield Sweep(key.name, partial(self._own, key))
            elif self._owns(key.key if isinstance(key, Later) else key):
                yield key

    def _own(self, sweep: Sweep) -> Iterator[Hashable]:
        return filter(self._owns, sweep.keys())

    def reconcile(self, key: Hashable, now: float) -> float | None:
        """Reconcile one key."""
        return self._inner.reconcile(key, now)


def _place(key: Hashable) -> tuple[str, str]:
    """Namespace and name of a key; keys of cluster-scoped objects have no namespace.

    A key is a name, or ends with a namespace and a name.
    """
    if isinstance(key, str):
        return "", key
    assert isinstance(key, tuple), key
    return str(key[-2]), str(key[-1])
