"""The file of the durable store: its tables, how it is opened, and the meaning of its errors.

A bind does not change the row of an object: node and annotations are rows of ``bindings``. The key
of an object created by the store is its creation version, which is also the end of its uid. Objects
loaded in bulk have negative keys and a uid, and share bodies. One process owns the file.
"""

import sqlite3
from pathlib import Path
from typing import Final

from stretto.base.errors import InputError, StrettoError, UnreachableError
from stretto.stores.store import Reply, StatusReason, WriteOutcome

APPLICATION: Final = 0x5374_7265
"""Marker of a store's file (``Stre``), so that no other database is overwritten."""
SCHEMA: Final = 1
"""Version of the schema."""

FIRST_LOADED_KEY: Final = -(1 << 62)
"""First key of objects loaded in bulk; the keys increase and never reach those of versions."""

TABLES: Final = f"""
BEGIN IMMEDIATE;
CREATE TABLE meta (key TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE kinds (
    id INTEGER PRIMARY KEY, "group" TEXT, version TEXT, kind TEXT, plural TEXT, namespaced INTEGER);
CREATE TABLE bodies (id INTEGER PRIMARY KEY, body BLOB NOT NULL);
CREATE TABLE objects (
    id INTEGER PRIMARY KEY, kind INTEGER NOT NULL, namespace TEXT NOT NULL, name TEXT NOT NULL,
    uid TEXT, version INTEGER NOT NULL, created TEXT NOT NULL, deleting TEXT NOT NULL DEFAULT '',
    shared INTEGER, body BLOB);
CREATE INDEX loaded ON objects (uid) WHERE uid IS NOT NULL;
CREATE TABLE bindings (
    id INTEGER PRIMARY KEY, version INTEGER NOT NULL, node TEXT NOT NULL, annotations BLOB);
PRAGMA application_id = {APPLICATION};
PRAGMA user_version = {SCHEMA};
COMMIT;
"""

_PRAGMAS: Final = (
    # 16 kB: five pods of 2.8 kB per page; a page of 4 kB contains one and wastes a third of every
    # write.
    "PRAGMA page_size = 16384",
    # One process at a time, and no shared memory file.
    "PRAGMA locking_mode = EXCLUSIVE",
    "PRAGMA journal_mode = WAL",
    # One fsync for each transaction: acknowledged writes survive a power cut.
    "PRAGMA synchronous = FULL",
    # 16 MB of log before it is copied into the file; a larger limit only makes the log larger.
    "PRAGMA wal_autocheckpoint = 1000",
    "PRAGMA journal_size_limit = 67108864",
)


def connect(path: Path) -> sqlite3.Connection:
    """Open a store's file for writing, and create its tables if it is new.

    Raises:
        InputError: the path cannot be used, or contains something else.
        UnreachableError: another process has it open.
    """
    if not path.parent.is_dir():
        raise InputError(
            str(path), None, "a file in a folder that exists", f"create {path.parent} first"
        )
    try:
        connection = sqlite3.connect(
            path, timeout=0.0, isolation_level=None, check_same_thread=False
        )
    except sqlite3.Error as error:
        raise opening_error(path, error) from error
    try:
        _prepare(connection, path)
    except sqlite3.Error as error:
        connection.close()
        raise opening_error(path, error) from error
    except StrettoError:
        connection.close()
        raise
    return connection


def connect_reading(path: Path) -> sqlite3.Connection:
    """Open a store's file read-only.

    Raises:
        InputError: the file does not exist, or contains something else.
        UnreachableError: another process has it open.
    """
    if not path.is_file():
        expected = "the file of a store"
        raise InputError(str(path), None, expected, "make one: stretto run ... --store sqlite:PATH")
    # A log next to the file contains writes that are not in the file yet; without a log the file is
    # complete.
    whole = not path.with_name(f"{path.name}-wal").exists()
    mode = "immutable=1" if whole else "mode=ro"
    connection: sqlite3.Connection | None = None
    try:
        connection = sqlite3.connect(
            f"{path.resolve().as_uri()}?{mode}", uri=True, timeout=0.0, isolation_level=None
        )
        if not _is_ours(connection, path):
            raise InputError(str(path), "an empty file", "a store of Stretto", "use another file")
    except (sqlite3.Error, StrettoError) as error:
        if connection is not None:
            connection.close()
        if isinstance(error, StrettoError):
            raise
        raise opening_error(path, error) from error
    return connection


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    """Check that the file is a store or empty, set it up, and test that it is writable."""
    execute = connection.execute
    execute("PRAGMA locking_mode = EXCLUSIVE")
    tables = _is_ours(connection, path)
    for pragma in _PRAGMAS:
        execute(pragma)
    if not tables:
        connection.executescript(TABLES)
    execute("BEGIN IMMEDIATE")
    execute("UPDATE meta SET value = value WHERE key = 'version'")
    execute("COMMIT")


def _is_ours(connection: sqlite3.Connection, path: Path) -> bool:
    """Return whether tables exist; reject tables of another program or another version."""
    execute = connection.execute
    application = execute("PRAGMA application_id").fetchone()[0]
    found = execute("PRAGMA user_version").fetchone()[0]
    tables = execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    if tables and application != APPLICATION:
        raise InputError(
            str(path), "another program's database", "a store of Stretto", "use another file"
        )
    if tables and found != SCHEMA:
        raise InputError(
            str(path),
            f"a store with schema version {found}",
            f"schema version {SCHEMA}",
            "use the version of Stretto that wrote it" if found > SCHEMA else "begin a new file",
        )
    return bool(tables)


def opening_error(path: Path, error: sqlite3.Error) -> StrettoError:
    """The error of a store that cannot be opened or read, with its remedy."""
    match _primary(error):
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return UnreachableError(
                str(path), "another process has it open", "stop that process, or use another file"
            )
        case sqlite3.SQLITE_NOTADB:
            return InputError(
                str(path), "a file of another kind", "a store of Stretto", "use another file"
            )
        case sqlite3.SQLITE_CORRUPT:
            return InputError(
                str(path),
                "a damaged store",
                "an intact one",
                "restore a copy, or save what is readable with `sqlite3 FILE .recover`",
            )
        case sqlite3.SQLITE_FULL:
            return InputError(str(path), "a full disk", "space for the store", "free some space")
    return InputError(
        str(path),
        "a folder" if path.is_dir() else str(error),
        "a file that can be written",
        "check the owner and mode of the file and of its folder",
    )


def writing_reply(path: Path, error: sqlite3.Error) -> Reply:
    """The reply to a failed transaction: unknown if it may be on disk."""
    code = getattr(error, "sqlite_errorcode", 0)
    match _primary(error):
        case sqlite3.SQLITE_FULL:
            text = f"no space left for {path}: nothing was written; free some space and try again"
            return Reply(WriteOutcome.REFUSED, StatusReason.NO_SPACE, text)
        case sqlite3.SQLITE_IOERR if code == sqlite3.SQLITE_IOERR_WRITE:
            text = (
                f"the disk rejected a write to {path} (full, over its quota, or failing): "
                "nothing was written; free some space and try again"
            )
            return Reply(WriteOutcome.REFUSED, StatusReason.NO_SPACE, text)
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_PERM:
            text = f"{path} is read-only now: nothing was written; make it writable"
            return Reply(WriteOutcome.REFUSED, StatusReason.FORBIDDEN, text)
        case sqlite3.SQLITE_IOERR | sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_NOTADB:
            text = f"{path} failed while writing ({error}): the write may or may not be stored"
            return Reply(WriteOutcome.UNKNOWN, StatusReason.INTERNAL, text)
    text = f"{path} was not written: {error}"
    return Reply(WriteOutcome.REFUSED, StatusReason.INTERNAL, text)


def _primary(error: sqlite3.Error) -> int:
    """SQLite's primary error code; 0 if there is none."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF
