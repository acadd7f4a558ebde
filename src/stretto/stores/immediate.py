"""``Store.begin`` for stores whose writes return their replies at once."""

from collections.abc import Sequence
from concurrent.futures import Future
from typing import assert_never, cast

from stretto.stores.store import (
    Bind,
    Deletion,
    Eviction,
    Patch,
    Replies,
    Store,
    Update,
    Write,
    WriteVerb,
)


def perform(store: Store, write: Write) -> Replies:
    """Call the method of a write's verb and wait for its replies."""
    items = write.items
    match write.verb:
        case WriteVerb.BIND:
            return store.bind(cast("Sequence[Bind]", items))
        case WriteVerb.EVICT:
            return store.evict(cast("Sequence[Eviction]", items))
        case WriteVerb.PATCH_STATUS:
            return store.patch_status(write.kind, cast("Sequence[Patch]", items))
        case WriteVerb.PATCH:
            return store.patch(write.kind, cast("Sequence[Patch]", items))
        case WriteVerb.CREATE:
            return store.create(write.kind, cast("Sequence[bytes]", items))
        case WriteVerb.UPDATE:
            return store.update(write.kind, cast("Sequence[Update]", items))
        case WriteVerb.DELETE:
            return store.delete(write.kind, cast("Sequence[Deletion]", items))
    assert_never(write.verb)


def answered(store: Store, write: Write) -> Future[Replies]:
    """Perform a write; the returned future is finished.

    Raises:
        StrettoError: the store failed as a whole.
    """
    future: Future[Replies] = Future()
    future.set_result(perform(store, write))
    return future
