"""Stores and their contents, in few words."""

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from stretto.api.wire.kinds import CONFIG_MAP, NODE, POD
from stretto.base.clock import ManualClock
from stretto.base.rng import Rng
from stretto.stores.embedded.memory import MemoryStore
from stretto.stores.embedded.sqlite import SqliteStore
from stretto.stores.store import Bind, Record, Reply, Store, WriteOutcome
from tests.contract import bodies

SPACE = "default"


def memory(history: int = 1000, seed: int = 1) -> MemoryStore:
    """An empty store in memory."""
    return MemoryStore(ManualClock(), Rng(seed), history)


def sqlite(path: Path) -> SqliteStore:
    """A store in a file, new or with its existing contents."""
    return SqliteStore(path, ManualClock(), Rng(1))


def add_pods(store: Store, *names: str) -> list[Record]:
    """Pods that must be accepted."""
    return [done(reply) for reply in store.create(POD, [bodies.pod(name) for name in names])]


def add_nodes(store: Store, *names: str) -> list[Record]:
    """Nodes that must be accepted."""
    return [done(reply) for reply in store.create(NODE, [bodies.node(name) for name in names])]


def to(pod: Record, node: str) -> Bind:
    """A bind of a pod to a node."""
    return Bind(pod.namespace, pod.name, pod.uid, node)


@contextlib.contextmanager
def opened_again(store: SqliteStore, path: Path) -> Iterator[SqliteStore]:
    """The store after a restart."""
    store.close()
    again = sqlite(path)
    try:
        yield again
    finally:
        again.close()


def everything(store: SqliteStore) -> list[Record]:
    """All records of the kinds that the tests use."""
    return [record for kind in (POD, NODE, CONFIG_MAP) for record in store.list(kind).records]


def connection_of(store: SqliteStore) -> sqlite3.Connection:
    """Writes of the store."""
    return store._journal._connection


def done(reply: Reply) -> Record:
    """The record of a write that must have succeeded."""
    assert reply.outcome is WriteOutcome.OK, reply.message
    assert reply.record is not None
    return reply.record
