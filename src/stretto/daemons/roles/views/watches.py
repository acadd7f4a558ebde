"""Watches of a store view, and the versions of their events.

A view widens the versions of the store, so that its own events fit in between.
"""

from collections.abc import Callable, Sequence
from typing import Final

from msgspec.structs import replace

from stretto.stores.store import EventType, Record, Reply, Watch, WatchEvent

SCALE: Final = 1 << 20
"""Number of view versions for each version of the store."""


class MappedWatch:
    """A watch whose events are translated."""

    def __init__(
        self, inner: Watch, turned: Callable[[Sequence[WatchEvent]], Sequence[WatchEvent]]
    ) -> None:
        """Translate the events of another watch."""
        self._inner = inner
        self._mapped = turned

    def poll(self, limit: int = 4096) -> list[WatchEvent]:
        """The next changes."""
        return list(self._mapped(self._inner.poll(limit)))

    def close(self) -> None:
        """Stop watching."""
        self._inner.close()


def widen(record: Record, node: str) -> Record:
    """A record with its view version, shown on a node."""
    return replace(record, version=record.version * SCALE, node=node)


def deletion_of(record: Record) -> WatchEvent:
    """The deletion of a pod that the role no longer owns."""
    return WatchEvent(EventType.DELETED, replace(record, version=record.version * SCALE - 1))


def widen_reply(reply: Reply) -> Reply:
    """A reply whose record has its view version."""
    if reply.record is None:
        return reply
    return replace(reply, record=widen(reply.record, reply.record.node))
