"""Which part of a federation's work one process does: some controllers, and a shard of objects."""

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import Final
from zlib import crc32

from stretto.reconcile.cache import Change
from stretto.reconcile.reconciler import Later, Reconciler


@dataclass(frozen=True, slots=True)
class ControllerShare:
    """The work of one process.

    Every process reads the host and all members. It writes only for its own controllers and
    objects, so the processes of a federation need not know of each other.
    """

    #: Names of its controllers; ``None`` for all.
    controllers: frozenset[str] | None = None
    #: Number of its shard, from 0.
    shard: int = 0
    #: Number of shards.
    shards: int = 1

    def runs(self, controller: str) -> bool:
        """True if it runs a controller at all."""
        return self.controllers is None or controller in self.controllers

    def owns(self, key: Hashable) -> bool:
        """True if a key belongs to its shard: its hash modulo the number of shards."""
        return self.shards == 1 or _hash(key) % self.shards == self.shard

    def has(self, controller: str, key: Hashable) -> bool:
        """True if it does the work of a controller for a key."""
        return self.runs(controller) and self.owns(key)


WHOLE: Final = ControllerShare()
"""One process does everything."""


class ShardedController:
    """A controller that reconciles the keys of one shard."""

    def __init__(self, inner: Reconciler, owns: Callable[[Hashable], bool]) -> None:
        """The keys of ``inner`` for which ``owns`` is true."""
        self._inner = inner
        self._owns = owns

    @property
    def name(self) -> str:
        """Its name."""
        return self._inner.name

    def affected(self, change: Change) -> Iterable[Hashable]:
        """The own keys that a change makes due."""
        for key in self._inner.affected(change):
            if self._owns(key.key if isinstance(key, Later) else key):
                yield key

    def reconcile(self, key: Hashable, now: float) -> float | None:
        """Bring one key to its desired state."""
        return self._inner.reconcile(key, now)


def _hash(key: Hashable) -> int:
    """A number that is equal in all processes."""
    parts = key if isinstance(key, tuple) else (key,)
    return crc32("\0".join(map(str, parts)).encode())
