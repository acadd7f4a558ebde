"""Where the state of a master survives its process."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple, Protocol

from stretto.offers.master.core.state import MasterState
from stretto.offers.master.state.changes import EntityKind
from stretto.offers.master.storage.rows import row
from stretto.offers.messages.schema import Message


class StoredIdentity(NamedTuple):
    """The master that was stored."""

    #: Its id: the prefix of all ids that it gave out.
    id: str
    #: Number of ids given to frameworks.
    frameworks: int
    #: Number of ids given to agents.
    agents: int
    #: Number of launched tasks.
    tasks: int


class StateChanges(NamedTuple):
    """Changes to store."""

    #: The master.
    identity: StoredIdentity
    #: Rows by kind and key of the entity; ``None`` for a removed one.
    rows: Mapping[tuple[EntityKind, str], Message | None]


class StoredState(Protocol):
    """The stored state of one master; one process owns it."""

    def identity(self) -> StoredIdentity | None:
        """The master that was stored; ``None`` if there is none yet."""
        ...

    def entities(self, kind: EntityKind) -> Iterator[tuple[str, Message]]:
        """Keys and rows of a kind, in the order in which they were first stored."""
        ...

    def write(self, changes: StateChanges) -> None:
        """Store changes; they are durable on return.

        Raises:
            StrettoError: it is not durable; this process must not answer any more.
        """
        ...

    def close(self) -> None:
        """Release files; the stored state stays."""
        ...


class MasterJournal:
    """Stores one master."""

    def __init__(self, stored: StoredState, master: MasterState) -> None:
        """Store ``master`` in ``stored``."""
        self._stored = stored
        self._master = master
        self._issued: tuple[int, int, int] | None = None
        self._rows: dict[tuple[EntityKind, str], Message | None] = {}

    def stage(self) -> bool:
        """Collect changes since the last call; whether there are any."""
        master = self._master
        rows = {each: row(master, *each) for each in master.changes.drain()}
        if not rows and self._issued == master.issued:
            return False
        self._rows |= rows
        self._issued = master.issued
        return True

    def take(self) -> StateChanges:
        """The collected changes, to be written."""
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
