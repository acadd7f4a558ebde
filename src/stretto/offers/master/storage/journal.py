"""A SQLite file with one row per entity; every step of a master is one transaction.

After a step is saved, its rows survive the end of the process. Only a power failure may lose the
last steps.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Final

import msgspec

from stretto.base.errors import InputError
from stretto.offers.master.state.changes import EntityKind
from stretto.offers.master.storage.contract import StateChanges, StoredIdentity
from stretto.offers.messages.schema import Message

SCHEMA: Final = """
    CREATE TABLE IF NOT EXISTS entity (kind TEXT, key TEXT, value BLOB, PRIMARY KEY (kind, key));
    CREATE TABLE IF NOT EXISTS master (id TEXT, frameworks INTEGER, agents INTEGER, tasks INTEGER);
"""


class MasterFile:
    """The file of one master; one process owns it."""

    def __init__(self, path: Path) -> None:
        """Open the file, or create it.

        Raises:
            InputError: the file cannot be opened, is not such a file, or is in use by another
                process.
        """
        try:
            self._connection = _opened(path)
        except sqlite3.Error as error:
            expected = "a file of a master that no other process uses"
            raise InputError("--work-dir", str(path), f"{expected}: {error}") from error

    def identity(self) -> StoredIdentity | None:
        """The stored identity; ``None`` for a new file."""
        with closing(self._connection.execute("SELECT * FROM master")) as found:
            first: tuple[str, int, int, int] | None = found.fetchone()
        return None if first is None else StoredIdentity(*first)

    def entities(self, kind: EntityKind) -> Iterator[tuple[str, Message]]:
        """Keys and rows of a kind, in the order in which they were first stored."""
        query = "SELECT key, value FROM entity WHERE kind = ? ORDER BY rowid"
        with closing(self._connection.execute(query, (kind.value,))) as found:
            for key, value in found.fetchall():
                yield key, msgspec.json.decode(value)

    def write(self, changes: StateChanges) -> None:
        """Store changes in one transaction."""
        cursor = self._connection
        cursor.execute("BEGIN")
        for (kind, key), value in changes.rows.items():
            if value is None:
                cursor.execute("DELETE FROM entity WHERE kind = ? AND key = ?", (kind.value, key))
                continue
            cursor.execute(
                "INSERT INTO entity VALUES (?, ?, ?)"
                " ON CONFLICT (kind, key) DO UPDATE SET value = excluded.value",
                (kind.value, key, msgspec.json.encode(value)),
            )
        cursor.execute("DELETE FROM master")
        cursor.execute("INSERT INTO master VALUES (?, ?, ?, ?)", changes.identity)
        cursor.execute("COMMIT")

    def close(self) -> None:
        """Close the file."""
        self._connection.close()


def _opened(path: Path) -> sqlite3.Connection:
    """A connection to a file with the tables of a master; closed if they cannot be created."""
    connection = sqlite3.connect(path, isolation_level=None, timeout=1.0)
    try:
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.executescript(SCHEMA)
    except sqlite3.Error:
        connection.close()
        raise
    return connection
