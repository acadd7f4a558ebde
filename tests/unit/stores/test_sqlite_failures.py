import contextlib
import resource
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from stretto.api.wire.kinds import POD
from stretto.base.clock import ManualClock
from stretto.base.errors import InputError
from stretto.base.rng import Rng
from stretto.stores.embedded.sqlite import SqliteStore
from stretto.stores.store import Reply, StatusReason, WriteOutcome
from tests.contract import bodies
from tests.unit.stores.contents import (
    SPACE,
    add_pods,
    connection_of,
    done,
    everything,
    opened_again,
)

# ---------------------------------------------------------------- what cannot be written


def test_a_full_store_rejects_writes_and_continues_once_space_is_free(
    store: SqliteStore, path: Path
) -> None:
    a = add_pods(store, "a")[0]
    connection = connection_of(store)
    pages = connection.execute("PRAGMA page_count").fetchone()[0]
    connection.execute(f"PRAGMA max_page_count = {pages + 1}")
    replies = store.create(POD, [_fat(f"p{n}") for n in range(40)])
    assert {(reply.outcome, reply.code) for reply in replies} == {
        (WriteOutcome.REFUSED, StatusReason.NO_SPACE)
    }
    assert "free some" in replies[0].message
    assert everything(store) == [a]
    connection.execute("PRAGMA max_page_count = 1000000")
    done(store.create(POD, [_fat("p1")])[0])
    before = everything(store)
    with opened_again(store, path) as again:
        assert everything(again) == before


@contextlib.contextmanager
def files_up_to(size: int) -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_disk_that_takes_no_more_loses_nothing_acknowledged(
    store: SqliteStore, path: Path
) -> None:
    kept = {record.name: record for record in add_pods(store, "a")}
    outcomes = []
    with files_up_to(1 << 20):
        for batch in range(40):
            replies = store.create(POD, [_fat(f"p{batch}-{n}") for n in range(5)])
            outcomes.append({(reply.outcome, reply.code) for reply in replies})
            kept |= {
                reply.record.name: reply.record
                for reply in replies
                if reply.outcome is WriteOutcome.OK and reply.record
            }
    assert outcomes[0] == {(WriteOutcome.OK, StatusReason.NONE)}
    assert outcomes[-1] == {(WriteOutcome.REFUSED, StatusReason.NO_SPACE)}
    assert {record.name: record for record in everything(store)} == kept
    with opened_again(store, path) as again:
        assert {record.name: record for record in everything(again)} == kept


class Breaking:
    """A connection that fails at one statement, as a bad disk would."""

    def __init__(self, inner: sqlite3.Connection, at: str, error: BaseException) -> None:
        self.inner = inner
        self.at = at
        self.error = error

    @property
    def in_transaction(self) -> bool:
        return self.inner.in_transaction

    def execute(self, statement: str, *arguments: Any) -> object:
        if statement.startswith(self.at):
            raise self.error
        return self.inner.execute(statement, *arguments)

    def executemany(self, statement: str, rows: Any) -> object:
        if statement.startswith(self.at):
            raise self.error
        return self.inner.executemany(statement, rows)

    def close(self) -> None:
        self.inner.close()


def broken(store: SqliteStore, at: str, error: BaseException) -> None:
    store._journal._connection = cast(Any, Breaking(connection_of(store), at, error))


def sqlite_error(code: int, text: str) -> sqlite3.OperationalError:
    error = sqlite3.OperationalError(text)
    error.sqlite_errorcode = code
    return error


def failing(store: SqliteStore, at: str, code: int) -> Reply:
    broken(store, at, sqlite_error(code, "the disk said no"))
    return store.create(POD, [bodies.pod("b")])[0]


@pytest.mark.parametrize(
    ("code", "answer"),
    [
        (sqlite3.SQLITE_FULL, StatusReason.NO_SPACE),
        (sqlite3.SQLITE_IOERR_WRITE, StatusReason.NO_SPACE),
        (sqlite3.SQLITE_READONLY, StatusReason.FORBIDDEN),
        (sqlite3.SQLITE_BUSY, StatusReason.INTERNAL),
    ],
)
@pytest.mark.parametrize("at", ["BEGIN", "INSERT", "UPDATE meta", "COMMIT"])
def test_a_store_that_fails_halfway_through_a_batch_has_done_none_of_it(
    store: SqliteStore, path: Path, at: str, code: int, answer: StatusReason
) -> None:
    a = add_pods(store, "a")[0]
    watch = store.watch(POD, store.version)
    reply = failing(store, at, code)
    assert (reply.outcome, reply.code) == (WriteOutcome.REFUSED, answer)
    assert watch.poll() == []
    with opened_again(store, path) as again:
        assert everything(again) == [a]


def test_a_failed_fsync_is_unknown_and_stops_all_writes(store: SqliteStore, path: Path) -> None:
    add_pods(store, "a")
    assert failing(store, "COMMIT", sqlite3.SQLITE_IOERR_FSYNC).outcome is WriteOutcome.UNKNOWN
    later = store.create(POD, [bodies.pod("c")])[0]
    assert (later.outcome, later.code) == (WriteOutcome.REFUSED, StatusReason.UNAVAILABLE)
    assert "open the store again" in later.message
    assert store.get(POD, SPACE, "a") is not None


def test_an_interrupt_before_the_commit_leaves_nothing(store: SqliteStore) -> None:
    inner = connection_of(store)
    add_pods(store, "a")
    broken(store, "UPDATE meta", KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        store.create(POD, [bodies.pod("b")])
    store._journal._connection = inner
    assert [record.name for record in everything(store)] == ["a"]
    add_pods(store, "b")


def test_an_interrupt_right_after_the_commit_stops_all_writes(store: SqliteStore) -> None:
    add_pods(store, "a")

    class Interrupted(Breaking):
        def execute(self, statement: str, *arguments: Any) -> object:
            self.inner.execute(statement, *arguments)
            if statement == "COMMIT":
                raise KeyboardInterrupt
            return None

    breaking = Interrupted(connection_of(store), "never", KeyboardInterrupt())
    store._journal._connection = cast(Any, breaking)
    with pytest.raises(KeyboardInterrupt):
        store.create(POD, [bodies.pod("b")])
    assert store.create(POD, [bodies.pod("c")])[0].code is StatusReason.UNAVAILABLE


def _fat(name: str) -> bytes:
    return bodies.pod(name, annotations={"fat": "x" * 8000})


def test_a_folder_is_no_store(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="got 'a folder', expected a file"):
        SqliteStore(tmp_path, ManualClock(), Rng(1))
