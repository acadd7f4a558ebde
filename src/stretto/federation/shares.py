"""Share of a federation's work for one process: some controllers, and a shard of objects."""

from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Final
from zlib import crc32

from stretto.reconcile.cache import Change
from stretto.reconcile.reconciler import Later, Reconciler, Sweep


@dataclass(frozen=True, slots=True)
class ControllerShare:
    """The work of one process.

    Every process reads the host and all members. It writes only for its own controllers and
    objects, so the processes of a federation need no communication.
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
        """True if a key belongs to the shard: its hash modulo the number of shards."""
        return self.shards == 1 or _hash(key) % self.shards == self.shard

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


def _hash(key: Hashable) -> int:
    """A hash that is equal in all processes."""
    parts = key if isinstance(key, tuple) else (key,)
    return crc32("\0".join(map(str, parts)).encode())
