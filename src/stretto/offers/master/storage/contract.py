"""Protocol of the durable storage of a master's state."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple, Protocol

from stretto.offers.master.core.state import MasterState
from stretto.offers.master.state.changes import EntityKind
from stretto.offers.master.storage.rows import row
from stretto.offers.messages.schema import Message


class StoredIdentity(NamedTuple):
    """The identity of the stored master."""

    #: Its id, which is the prefix of all ids that it has issued.
    id: str
    #: Number of issued framework ids.
    frameworks: int
    #: Number of issued agent ids.
    agents: int
    #: Number of launched tasks.
    tasks: int


class StateChanges(NamedTuple):
    """Changes to store."""

    #: The master.
    identity: StoredIdentity
    #: Rows by kind and key of the entity; ``None`` for a removed entity.
    rows: Mapping[tuple[EntityKind, str], Message | None]


class StoredState(Protocol):
    """The stored state of one master; one process owns it."""

    def identity(self) -> StoredIdentity | None:
        """The stored identity; ``None`` if nothing has been stored."""
        ...

    def entities(self, kind: EntityKind) -> Iterator[tuple[str, Message]]:
        """Keys and rows of a kind, in the order in which they were first stored."""
        ...

    def write(self, changes: StateChanges) -> None:
        """Store changes; they are durable on return.

        Raises:
            StrettoError: the changes are not durable; this process must not answer any more.
        """
        ...

    def close(self) -> None:
        """Close files; the stored state remains."""
        ...


class MasterJournal:
    """Stores one master."""

    def __init__(self, stored: StoredState, master: MasterState) -> None:
        """Initialize with a storage and a master."""
        self._stored = stored
        self._master = master
        self._issued: tuple[int, int, int] | None = None
        self._rows: dict[tuple[EntityKind, str], Message | None] = {}

    def stage(self) -> bool:
        """Collect changes since the last call; true if there are any."""
        master = self._master
        rows = {each: row(master, *each) for each in master.changes.drain()}
        if not rows and self._issued == master.issued:
            return False
        self._rows |= rows
        self._issued = master.issued
        return True

    def take(self) -> StateChanges:
        """The collected changes, for `write`."""
        rows, self._rows = self._rows, {}
        return StateChanges(StoredIdentity(self._master.settings.id, *self._master.issued), rows)

    def write(self, changes: StateChanges) -> None:
        """Store changes, on any thread; they are durable on return.

        Raises:
            StrettoError: they are not durable; this process must not answer any more.
        """
        self._stored.write(changes)

    def save(self) -> None:
        """Store changes; they are durable on return."""
        if self.stage():
            self.write(self.take())
