"""One flush for all requests that wait, and an error for all of them if it fails."""

import asyncio
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from stretto.api.wire.kinds import CONFIG_MAP
from stretto.base.clock import ManualClock
from stretto.base.errors import StrettoError
from stretto.base.rng import Rng
from stretto.stores.embedded.sqlite import SqliteStore, read_store
from stretto.stores.embedded.table import JournalError
from stretto.stores.store import WriteOutcome
from stretto.web.local.barrier import WriteBarrier


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
def store(path: Path) -> Iterator[SqliteStore]:
    with closing(SqliteStore(path, ManualClock(), Rng(1), grouped=True)) as store:
        yield store


def make(store: SqliteStore, name: str) -> WriteOutcome:
    return store.create(CONFIG_MAP, [b'{"metadata":{"name":"%s"}}' % name.encode()])[0].outcome


def test_requests_that_wait_together_share_a_flush(store: SqliteStore) -> None:
    flushes: list[int] = []

    def flush() -> None:
        flushes.append(store.version)
        store.flush()

    barrier = WriteBarrier(lambda: store.is_pending, flush)

    async def request(name: str) -> None:
        make(store, name)
        await barrier.settled()
        assert not store.is_pending

    async def run() -> None:
        await asyncio.gather(*(request(f"m{number}") for number in range(20)))

    asyncio.run(run())
    assert flushes == [store.version]


def test_a_round_makes_writes_durable_and_answers_the_requests_that_wait(
    store: SqliteStore,
) -> None:
    barrier = WriteBarrier(lambda: store.is_pending, store.flush)

    async def run() -> tuple[bool, bool]:
        make(store, "a")
        request = asyncio.ensure_future(barrier.settled())
        await asyncio.sleep(0)
        barrier.settle()
        await request
        return store.is_pending, request.done()

    assert asyncio.run(run()) == (False, True)


def test_a_round_receives_the_error_of_a_flush() -> None:
    def flush() -> None:
        raise StrettoError("lost")

    with pytest.raises(StrettoError, match="lost"):
        WriteBarrier(lambda: True, flush).settle()


def test_a_closed_store_has_the_writes_of_its_last_group(store: SqliteStore, path: Path) -> None:
    make(store, "a")
    store.close()
    assert [record.name for record in read_store(path)] == ["a"]


def test_a_refused_write_leaves_the_others_of_its_group(store: SqliteStore, path: Path) -> None:
    make(store, "a")
    assert make(store, "a") is WriteOutcome.CONFLICT
    make(store, "b")
    store.close()
    assert {record.name for record in read_store(path)} == {"a", "b"}


def test_a_flush_that_fails_ends_the_store_for_writes(store: SqliteStore) -> None:
    make(store, "a")
    connection: Any = store._journal._connection
    connection.set_authorizer(lambda *_: sqlite3.SQLITE_DENY)
    with pytest.raises(JournalError, match="could not store a group of writes"):
        store.flush()
    connection.set_authorizer(None)
    assert make(store, "b") is not WriteOutcome.OK


def test_after_a_failed_flush_nothing_is_answered() -> None:
    failures = [OSError("full")]

    def flush() -> None:
        if failures:
            raise failures.pop()

    barrier = WriteBarrier(lambda: bool(failures), flush)

    with pytest.raises(OSError, match="full"):
        asyncio.run(barrier.settled())
    with pytest.raises(OSError, match="full"):
        asyncio.run(barrier.settled())


def test_a_group_that_a_write_has_ended_is_not_acknowledged(store: SqliteStore) -> None:
    make(store, "a")
    connection: Any = store._journal._connection
    connection.set_trace_callback(lambda text: "INSERT" in text and connection.interrupt())
    assert make(store, "b") is not WriteOutcome.OK
    connection.set_trace_callback(None)
    with pytest.raises(JournalError, match="could not store a group of writes"):
        store.flush()
