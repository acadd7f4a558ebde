import contextlib
import sqlite3
from pathlib import Path

import pytest

from stretto.api.wire.kinds import CONFIG_MAP, POD
from stretto.base.errors import InputError, TooOldError, UnreachableError
from stretto.stores.embedded.journal import SqliteJournal
from stretto.stores.embedded.sqlite import SqliteStore
from stretto.stores.render import render
from stretto.stores.store import Bind, Deletion, Patch, Record, Update
from tests.contract import bodies
from tests.unit.stores.contents import (
    SPACE,
    add_nodes,
    add_pods,
    connection_of,
    done,
    everything,
    memory,
    opened_again,
    sqlite,
    to,
)

# ---------------------------------------------------------------- restarts


def test_every_write_is_there_after_a_restart(store: SqliteStore, path: Path) -> None:
    add_nodes(store, "n1")
    a, b, c, _ = add_pods(store, "a", "b", "c", "d")
    store.create(CONFIG_MAP, [bodies.config("c", finalizers=["x/y"])])
    store.bind([to(a, "n1"), to(b, "n1")])
    done(store.bind([to(c, "n1")])[0])
    store.patch(POD, [Patch(SPACE, "a", {"metadata": {"labels": {"x": "y"}}})])
    store.patch_status(POD, [Patch(SPACE, "b", {"status": {"phase": "Running"}})])
    store.update(POD, [Update(SPACE, "d", bodies.pod("d", labels={"new": "1"}))])
    store.delete(CONFIG_MAP, [Deletion(SPACE, "c")])
    store.delete(POD, [Deletion(SPACE, "c")])
    before = everything(store)
    with opened_again(store, path) as again:
        assert everything(again) == before


def test_annotations_of_a_bind_survive_a_restart(store: SqliteStore, path: Path) -> None:
    add_nodes(store, "n1")
    pod = add_pods(store, "a")[0]
    bound = done(store.bind([Bind(SPACE, "a", pod.uid, "n1", {"gpu": "0,3"})])[0])
    with opened_again(store, path) as again:
        assert again.get(POD, SPACE, "a") == bound


def test_annotations_patched_after_a_bind_survive_a_restart(store: SqliteStore, path: Path) -> None:
    add_nodes(store, "n1")
    pod = add_pods(store, "a")[0]
    store.bind([Bind(SPACE, "a", pod.uid, "n1", {"gpu": "0,3"})])
    change = {"metadata": {"annotations": {"gpu": "7"}}}
    patched = done(store.patch(POD, [Patch(SPACE, "a", change)])[0])
    with opened_again(store, path) as again:
        assert again.get(POD, SPACE, "a") == patched


def test_a_deleted_pod_leaves_nothing_in_the_file(store: SqliteStore) -> None:
    add_nodes(store, "n1")
    pod = add_pods(store, "a")[0]
    done(store.bind([to(pod, "n1")])[0])
    done(store.delete(POD, [Deletion(SPACE, "a")])[0])
    for table, left in (("objects", 1), ("bindings", 0)):
        count = connection_of(store).execute(f"SELECT count(*) FROM {table}").fetchone()
        assert count == (left,)


def test_versions_and_uids_go_on_after_a_restart(store: SqliteStore, path: Path) -> None:
    pod = add_pods(store, "a")[0]
    gone = done(store.delete(POD, [Deletion(SPACE, "a")])[0])
    with opened_again(store, path) as again:
        newer = add_pods(again, "a")[0]
    assert newer.version > gone.version
    assert newer.uid != pod.uid
    assert newer.uid[:24] == pod.uid[:24]


def test_a_watch_from_before_a_restart_is_too_old(store: SqliteStore, path: Path) -> None:
    first, second = add_pods(store, "a", "b")
    with opened_again(store, path) as again:
        with pytest.raises(TooOldError):
            again.watch(POD, first.version).poll()
        watch = again.watch(POD, second.version)
        add_pods(again, "c")
        assert [event.record.name for event in watch.poll()] == ["c"]


def test_a_pod_made_with_a_node_still_has_it_after_a_restart(
    store: SqliteStore, path: Path
) -> None:
    body = b'{"metadata":{"name":"a"},"spec":{"nodeName":"n1"}}'
    done(store.create(POD, [body])[0])
    with opened_again(store, path) as again:
        found = again.get(POD, SPACE, "a")
        assert found is not None
        assert found.node == "n1"


def test_a_pod_born_terminating_still_is_after_a_restart(store: SqliteStore, path: Path) -> None:
    since = "2026-01-01T00:00:00Z"
    body = f'{{"metadata":{{"name":"a","deletionTimestamp":"{since}"}},"spec":{{}}}}'
    done(store.create(POD, [body.encode()])[0])
    with opened_again(store, path) as again:
        found = again.get(POD, SPACE, "a")
        assert found is not None
        assert found.deleting == since


def test_seeded_records_survive_and_share_their_bodies(store: SqliteStore, path: Path) -> None:
    body = bodies.pod("any")
    pods = [Record(POD, SPACE, f"p{n}", f"uid-{n}", n + 1, body, "n1") for n in range(50)]
    store.seed(pods)
    done(store.patch(POD, [Patch(SPACE, "p7", {"metadata": {"labels": {"x": "y"}}})])[0])
    done(store.delete(POD, [Deletion(SPACE, "p8")])[0])
    before = everything(store)
    with opened_again(store, path) as again:
        after = everything(again)
        assert after == before
        assert len({id(record.body) for record in after}) == 2
        assert connection_of(again).execute("SELECT count(*) FROM bodies").fetchone() == (1,)


@pytest.mark.parametrize("seed", [1, 9], ids=["the same identity", "another identity"])
def test_seeded_records_of_another_store_stay_themselves(
    store: SqliteStore, path: Path, seed: int
) -> None:
    store.seed(add_pods(memory(seed=seed), "a", "b"))
    done(store.delete(POD, [Deletion(SPACE, "a")])[0])
    add_pods(store, "c")
    before = everything(store)
    with opened_again(store, path) as again:
        assert everything(again) == before


def test_a_bind_does_not_write_the_body_again(store: SqliteStore) -> None:
    add_nodes(store, "n1")
    pods = add_pods(store, *(f"p{n}" for n in range(200)))
    connection = connection_of(store)
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    store.bind([to(pod, "n1") for pod in pods])
    pages = connection.execute("PRAGMA wal_checkpoint").fetchone()[1]
    assert pages <= 4


def test_a_write_call_is_one_transaction(store: SqliteStore) -> None:
    statements: list[str] = []
    add_pods(store, "a")
    connection_of(store).set_trace_callback(statements.append)
    add_pods(store, *(f"p{n}" for n in range(50)))
    assert [text for text in statements if text in ("BEGIN IMMEDIATE", "COMMIT")] == [
        "BEGIN IMMEDIATE",
        "COMMIT",
    ]


def test_the_file_is_durable_by_its_settings(store: SqliteStore) -> None:
    execute = connection_of(store).execute
    assert execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert execute("PRAGMA synchronous").fetchone() == (2,)


# ---------------------------------------------------------------- what cannot be opened


def test_a_second_process_gets_an_error_that_the_store_is_in_use(
    store: SqliteStore, path: Path
) -> None:
    with pytest.raises(UnreachableError, match="another process has it open"):
        sqlite(path)
    add_pods(store, "still-works")


def test_a_folder_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"create .*missing first"):
        sqlite(tmp_path / "missing" / "store.sqlite")


def test_a_path_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "store.sqlite").mkdir()
    with pytest.raises(InputError, match="owner and mode"):
        sqlite(tmp_path / "store.sqlite")


def test_a_file_that_is_no_database_is_left_alone(path: Path) -> None:
    path.write_bytes(b"a long letter to a friend, in plain words\n" * 100)
    before = path.read_bytes()
    with pytest.raises(InputError, match="a file of another kind"):
        sqlite(path)
    assert path.read_bytes() == before


def test_a_database_of_another_program_is_left_alone(path: Path) -> None:
    with contextlib.closing(sqlite3.connect(path)) as other:
        other.execute("CREATE TABLE diary (day, words)")
    before = path.read_bytes()
    with pytest.raises(InputError, match="another program's database"):
        sqlite(path)
    assert path.read_bytes() == before


def test_a_file_of_a_later_version_is_refused(store: SqliteStore, path: Path) -> None:
    connection_of(store).execute("PRAGMA user_version = 99")
    store.close()
    with pytest.raises(InputError, match=r"schema version 99.*that wrote it"):
        sqlite(path)


def test_a_damaged_file_is_named_with_what_to_do(store: SqliteStore, path: Path) -> None:
    add_pods(store, *(f"p{n}" for n in range(200)))
    store.close()
    intact = path.read_bytes()
    path.write_bytes(intact[: 1 << 14] + b"\xff" * (len(intact) - (1 << 14)))
    with pytest.raises(InputError, match=r"a damaged store.*recover"):
        sqlite(path)


def test_an_empty_file_becomes_a_store(path: Path) -> None:
    path.touch()
    store = sqlite(path)
    add_pods(store, "a")
    store.close()


def test_a_journal_that_cannot_be_read_is_closed_again(store: SqliteStore, path: Path) -> None:
    connection_of(store).execute("DROP TABLE objects")
    store.close()
    for _ in range(2):
        with pytest.raises(InputError):
            sqlite(path)
    SqliteJournal(path, "i").close()


def test_what_is_shown_is_the_same_after_a_restart(store: SqliteStore, path: Path) -> None:
    add_pods(store, "a")
    shown = [render(record) for record in everything(store)]
    with opened_again(store, path) as again:
        assert [render(record) for record in everything(again)] == shown
