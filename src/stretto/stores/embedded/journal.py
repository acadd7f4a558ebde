"""Durability of writes: one transaction and one fsync per write call, or per group of them.

A call is stored completely, not at all, or its outcome is unknown. After an unknown outcome the
journal refuses further writes, because memory and file may differ.
"""

import re
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from stretto.api.wire.kinds import Kind
from stretto.stores.embedded.create import IDENTITY_CHARS
from stretto.stores.embedded.schema import FIRST_LOADED_KEY, connect, opening_error, writing_reply
from stretto.stores.embedded.table import JournalError, TableDraft
from stretto.stores.store import EventType, Record, Reply, StatusReason, WriteOutcome

_INSERT: Final = (
    "INSERT INTO objects (id, kind, namespace, name, version, created, body)"
    " VALUES (?, ?, ?, ?, ?, ?, ?)"
)
_LOAD: Final = (
    "INSERT INTO objects (id, kind, namespace, name, uid, version, created, deleting, shared)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_CHANGE: Final = (
    "UPDATE objects SET version = ?, deleting = ?, shared = NULL, body = ? WHERE id = ?"
)
_MARK: Final = "UPDATE objects SET version = ?, deleting = ? WHERE id = ?"
_BIND: Final = (
    "INSERT OR REPLACE INTO bindings (id, version, node, annotations) VALUES (?, ?, ?, ?)"
)
_SET_VERSION: Final = "UPDATE meta SET value = ? WHERE key = 'version'"
_DROP: Final = "DELETE FROM objects WHERE id = ?"
_UNBIND: Final = "DELETE FROM bindings WHERE id = ?"
_ORDER: Final = (_INSERT, _LOAD, _CHANGE, _MARK, _BIND, _DROP, _UNBIND)
_READ: Final = (
    "SELECT o.id, o.kind, o.namespace, o.name, o.uid, o.version, o.created, o.deleting, o.shared,"
    " o.body, b.version, b.node, b.annotations"
    " FROM objects o LEFT JOIN bindings b ON b.id = o.id ORDER BY o.id"
)
_is_create: Final = re.compile("[0-9a-f]{12}").fullmatch
_ENCODE: Final = msgspec.json.Encoder().encode
_DECODE_NOTES: Final = msgspec.json.Decoder(dict[str, str]).decode

Rows = dict[str, list[Sequence[Any]]]
"""Maps a statement to the rows to run it with."""


class SqliteJournal:
    """The file of a store: written draft by draft, read once when it is opened."""

    def __init__(self, path: Path, identity: str, *, grouped: bool = False) -> None:
        """Open a file, or create one with this identity.

        Args:
            path: the file.
            identity: first characters of uids, if the file is new.
            grouped: whether writes wait for ``flush``, which makes all of them durable together.

        Raises:
            InputError: the path cannot be used, or contains something else.
            UnreachableError: another process has it open.
        """
        self._path = path
        self._grouped = grouped
        self._connection = connect(path)
        self._failed = ""
        self._closed = False
        try:
            meta = dict(self._connection.execute("SELECT key, value FROM meta"))
            if not meta:
                meta = {"identity": identity, "version": 0}
                # One statement: a kill must not leave half of it.
                values = [value for item in meta.items() for value in item]
                self._connection.execute("INSERT INTO meta VALUES (?, ?), (?, ?)", values)
            self._kinds = {kind: key for key, kind in _kinds(self._connection).items()}
        except sqlite3.Error as error:
            self._connection.close()
            raise opening_error(path, error) from error
        #: First characters of every uid of this store.
        self.identity: str = meta["identity"]
        #: Last version that is on disk, or will be after ``flush``.
        self.version: int = meta["version"]

    # ---------------------------------------------------------------- reading

    def records(self) -> Iterator[Record]:
        """All objects, in the order of creation.

        Raises:
            InputError: the file is damaged.
        """
        try:
            yield from read_records(self._connection)
        except sqlite3.Error as error:
            raise opening_error(self._path, error) from error

    # ---------------------------------------------------------------- writing

    def write(self, draft: TableDraft) -> None:
        """Store all changes of a draft or none.

        Raises:
            JournalError: the draft was not stored, or the outcome is unknown.
        """
        if self._failed:
            raise JournalError(Reply(WriteOutcome.REFUSED, StatusReason.UNAVAILABLE, self._failed))
        rows: Rows = {}
        kind = self._kind_key(draft.table.kind)
        for event, old in zip(draft.events, draft.olds, strict=True):
            new = event.record
            if old is None:
                body = (new.version, kind, new.namespace, new.name, new.version, new.created)
                rows.setdefault(_INSERT, []).append((*body, new.body))
                if new.node:
                    rows.setdefault(_BIND, []).append(_binding(new.version, new))
                if new.deleting:
                    rows.setdefault(_MARK, []).append((new.version, new.deleting, new.version))
            elif event.type is EventType.DELETED:
                key = (self._key(new.uid),)
                rows.setdefault(_DROP, []).append(key)
                rows.setdefault(_UNBIND, []).append(key)
            else:
                self._change(rows, old, new)
        self._run(rows, draft.version)

    def load(self, records: Sequence[Record]) -> None:
        """Store records unchanged; records with a common body share it in the file too.

        Raises:
            JournalError: the records were not stored.
        """
        execute = self._connection.execute
        last = execute("SELECT max(id) FROM objects WHERE id < 0").fetchone()[0]
        shared = execute("SELECT coalesce(max(id), 0) FROM bodies").fetchone()[0]
        free = FIRST_LOADED_KEY if last is None else last
        known: dict[int, int] = {}
        rows: Rows = {}
        version = self.version
        for new in records:
            key, uid = self._own_key(new.uid), None
            if key is None:
                key = free = free + 1
                uid = new.uid
            version = max(version, new.version)
            kind = self._kind_key(new.kind)
            body = known.get(id(new.body))
            if body is None:
                shared += 1
                body = known[id(new.body)] = shared
                rows.setdefault("INSERT INTO bodies VALUES (?, ?)", []).append((body, new.body))
            row = (key, kind, new.namespace, new.name, uid, new.version, new.created)
            rows.setdefault(_LOAD, []).append((*row, new.deleting, body))
            if new.node:
                rows.setdefault(_BIND, []).append(_binding(key, new))
        self._run(rows, version)

    @property
    def is_pending(self) -> bool:
        """Return whether writes exist that are not durable yet, or never will be."""
        if not self._grouped or self._closed:
            return False
        return bool(self._failed) or self._connection.in_transaction

    def flush(self) -> None:
        """Make all writes durable.

        Raises:
            JournalError: the writes may be lost; the journal refuses further writes.
        """
        connection = self._connection
        if not self.is_pending:
            return
        if self._failed:
            raise self._lost()
        try:
            connection.execute(_SET_VERSION, (self.version,))
            connection.execute("COMMIT")
        except sqlite3.Error as error:
            self._end(f"{self._path} could not store a group of writes: {error}")
            raise self._lost() from error

    def _lost(self) -> JournalError:
        """The error of writes that a failed group contains."""
        return JournalError(Reply(WriteOutcome.UNKNOWN, StatusReason.INTERNAL, self._failed))

    def close(self) -> None:
        """Make all writes durable, unless an earlier write has failed, and close the file."""
        try:
            if not self._failed:
                self.flush()
        finally:
            self._closed = True
            self._connection.close()

    def _change(self, rows: Rows, old: Record, new: Record) -> None:
        """Add the rows of a change; a body is written only if it changed."""
        key = self._key(new.uid)
        if new.body is not old.body:
            row = (new.version, new.deleting, new.body, key)
            rows.setdefault(_CHANGE, []).append(row)
        elif new.deleting != old.deleting:
            rows.setdefault(_MARK, []).append((new.version, new.deleting, key))
        if new.node != old.node or new.annotations != old.annotations:
            rows.setdefault(_BIND, []).append(_binding(key, new))

    def _run(self, rows: Rows, version: int) -> None:
        """Run one transaction, or a part of the transaction of a group."""
        if self._grouped:
            self._add(rows)
        else:
            self._commit(rows, version)
        self.version = version

    def _add(self, rows: Rows) -> None:
        """Write rows in the open transaction, all or none."""
        connection = self._connection
        try:
            if not connection.in_transaction:
                connection.execute("BEGIN IMMEDIATE")
            if sum(map(len, rows.values())) == 1:  # a single row is atomic
                for statement, (row,) in rows.items():
                    connection.execute(statement, row)
                return
            connection.execute("SAVEPOINT one")
            try:
                for statement in sorted(rows, key=_rank):
                    _perform(connection, statement, rows[statement])
            except BaseException:
                connection.execute("ROLLBACK TO one")
                raise
            finally:
                connection.execute("RELEASE one")
        except sqlite3.Error as error:
            if not connection.in_transaction:  # SQLite has ended the whole group
                self._end(f"{self._path} could not store a group of writes: {error}")
            raise JournalError(writing_reply(self._path, error)) from error

    def _commit(self, rows: Rows, version: int) -> None:
        """Write rows in a separate transaction."""
        connection = self._connection
        try:
            connection.execute("BEGIN IMMEDIATE")
            for statement in sorted(rows, key=_rank):
                connection.executemany(statement, rows[statement])
            connection.execute(_SET_VERSION, (version,))
            connection.execute("COMMIT")
        except sqlite3.Error as error:
            reply = writing_reply(self._path, error)
            self._end(reply.message if reply.outcome is WriteOutcome.UNKNOWN else "")
            raise JournalError(reply) from error
        except BaseException:
            # An interrupt: the commit may be on disk and missing from memory.
            self._end("" if connection.in_transaction else "a write was interrupted")
            raise

    def _end(self, failed: str) -> None:
        """Roll the open transaction back; if this fails too, refuse further writes."""
        try:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
        except sqlite3.Error as error:
            failed = failed or f"{self._path} could not roll back a write: {error}"
        if failed:
            self._failed = f"{failed}; remove the cause, then open the store again"

    def _key(self, uid: str) -> int:
        """The row id of an object."""
        key = self._own_key(uid)
        if key is None:
            row = self._connection.execute("SELECT id FROM objects WHERE uid = ?", (uid,))
            key = int(row.fetchone()[0])
        return key

    def _own_key(self, uid: str) -> int | None:
        """The creation version in a uid of this store; ``None`` for another store's uid."""
        created_at = uid[IDENTITY_CHARS:]
        if uid[:IDENTITY_CHARS] != self.identity or not _is_create(created_at):
            return None
        return int(created_at, 16)

    def _kind_key(self, kind: Kind) -> int:
        """The key of a kind; the first object of a kind costs a transaction that adds the kind."""
        key = self._kinds.get(kind)
        if key is None:
            key = len(self._kinds) + 1
            row = (key, kind.group, kind.version, kind.kind, kind.plural, int(kind.namespaced))
            self._run({"INSERT INTO kinds VALUES (?, ?, ?, ?, ?, ?)": [row]}, self.version)
            self._kinds[kind] = key
        return key


def read_records(connection: sqlite3.Connection) -> Iterator[Record]:
    """All objects of a store's file, in the order of creation.

    Raises:
        sqlite3.Error: the file is damaged.
    """
    kinds = _kinds(connection)
    identity = connection.execute("SELECT value FROM meta WHERE key = 'identity'").fetchone()[0]
    bodies = dict(connection.execute("SELECT id, body FROM bodies"))
    known: dict[str, str] = {}
    same = known.setdefault  # a million rows contain few namespaces, times and nodes
    for row in connection.execute(_READ):
        key, kind, namespace, name, uid, version, created, deleting, shared, body = row[:10]
        bound, node, notes = row[10:]
        yield Record(
            kinds[kind],
            same(namespace, namespace),
            name,
            uid or f"{identity}{key:012x}",
            max(version, bound or 0),
            body if shared is None else bodies[shared],
            same(node, node) if node else "",
            None if notes is None else _DECODE_NOTES(notes),
            same(created, created),
            deleting,
        )


def _kinds(connection: sqlite3.Connection) -> dict[int, Kind]:
    """The kinds of a file, by key."""
    rows = connection.execute("SELECT * FROM kinds").fetchall()
    return {int(row[0]): _kind(row[1:]) for row in rows}


def _perform(connection: sqlite3.Connection, statement: str, rows: Sequence[Sequence[Any]]) -> None:
    """Run a statement with rows; ``execute`` is twice as fast for a single row."""
    if len(rows) == 1:
        connection.execute(statement, rows[0])
    else:
        connection.executemany(statement, rows)


def _rank(statement: str) -> int:
    """Sort key of statements: objects before their bindings, deletions last."""
    return _ORDER.index(statement) if statement in _ORDER else -1


def _binding(key: int, record: Record) -> Sequence[Any]:
    notes = None if record.annotations is None else _ENCODE(record.annotations)
    return key, record.version, record.node, notes


def _kind(row: Sequence[Any]) -> Kind:
    return Kind(row[0], row[1], row[2], row[3], bool(row[4]))
