"""The durable store: reads and watches from memory; each write is in a file before its reply.

Acknowledged writes survive a killed process and a power cut. After a restart the versions continue,
and a watch from before the restart is too old. One process owns the file.
"""

import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

from stretto.base.clock import Clock
from stretto.base.errors import InputError
from stretto.base.rng import Rng
from stretto.stores.embedded.create import IDENTITY_CHARS
from stretto.stores.embedded.drafts import StoreOrigin
from stretto.stores.embedded.history import HISTORY
from stretto.stores.embedded.journal import SqliteJournal, read_records
from stretto.stores.embedded.memory import MemoryStore
from stretto.stores.embedded.schema import connect_reading, opening_error
from stretto.stores.embedded.table import JournalError
from stretto.stores.store import Record
from stretto.stores.wrapper import StoreWrapper


class SqliteStore(StoreWrapper):
    """A store in a SQLite file: a store in memory whose journal is the file."""

    def __init__(
        self,
        path: Path,
        clock: Clock,
        rng: Rng,
        history: int = HISTORY,
        *,
        grouped: bool = False,
    ) -> None:
        """Open a store, or create one if the file does not exist.

        Args:
            path: the file; SQLite keeps its log next to it.
            clock: source of creation and deletion times.
            rng: source of a new store's identity and of suffixes of generated names.
            history: minimum number of events kept for each kind.
            grouped: whether writes become durable only with ``flush``, so that one transaction
                serves many writes. The caller must not send a result before ``flush``.

        Raises:
            InputError: the path cannot be used, contains something else, or is damaged.
            UnreachableError: another process has it open.
        """
        self._path = path
        self._journal = SqliteJournal(path, rng.uid()[:IDENTITY_CHARS], grouped=grouped)
        origin = StoreOrigin(self._journal.identity, self._journal.version)
        self._memory = MemoryStore(clock, rng, history, self._journal, origin)
        super().__init__(self._memory)
        #: Reads older states, as in ``MemoryStore``.
        self.records_at = self._memory.records_at
        #: Drops history, as in ``MemoryStore``.
        self.compact = self._memory.compact
        #: Watches records that a function selects, as in ``MemoryStore``.
        self.watch_matching = self._memory.watch_matching
        #: Returns the next uid, as in ``MemoryStore``.
        self.next_uid = self._memory.next_uid
        try:
            self._memory.seed(self._journal.records())
        except BaseException:
            self._journal.close()
            raise

    @property
    def version(self) -> int:
        """Version of the last write."""
        return self._memory.version

    def seed(self, records: Iterable[Record]) -> None:
        """Load records unchanged, before the first watch, in one transaction.

        Raises:
            InputError: two records have the same name, or the file is full.
        """
        loaded = list(records)
        self._memory.seed(loaded)
        try:
            self._journal.load(loaded)
        except JournalError as error:
            raise InputError(str(self._path), None, "space for the objects", str(error)) from error

    @property
    def is_pending(self) -> bool:
        """Return whether writes exist that are not durable yet."""
        return self._journal.is_pending

    def flush(self) -> None:
        """Make all writes durable.

        Raises:
            JournalError: the writes may be lost; the store refuses further writes.
        """
        self._journal.flush()

    def close(self) -> None:
        """Close the file; nothing acknowledged is lost."""
        self._journal.close()


def read_store(path: Path) -> list[Record]:
    """Return every object of a store's file, without changing the file.

    Raises:
        InputError: the file does not exist, contains something else, or is damaged.
        UnreachableError: another process has it open.
    """
    with closing(connect_reading(path)) as connection:
        try:
            return list(read_records(connection))
        except sqlite3.Error as error:
            raise opening_error(path, error) from error
