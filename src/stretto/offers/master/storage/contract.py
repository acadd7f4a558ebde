"""Where the state of a master survives its process."""

from collections.abc import Iterator
from typing import NamedTuple, Protocol

from stretto.offers.master.core.state import MasterState
from stretto.offers.master.state.changes import EntityKind
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


class StoredState(Protocol):
    """The stored state of one master; one process owns it."""

    def identity(self) -> StoredIdentity | None:
        """The master that was stored; ``None`` if there is none yet."""
        ...

    def entities(self, kind: EntityKind) -> Iterator[tuple[str, Message]]:
        """Keys and rows of a kind, in the order in which they were first stored."""
        ...

    def save(self, master: MasterState) -> None:
        """Store what has changed since the last call; it is durable on return.

        Raises:
            StrettoError: it is not durable; this process must not answer any more.
        """
        ...

    def close(self) -> None:
        """Release files; what is stored stays."""
        ...


class MasterJournal:
    """Stores one master."""

    def __init__(self, stored: StoredState, master: MasterState) -> None:
        """Store ``master`` in ``stored``."""
        self._stored = stored
        self._master = master

    def save(self) -> None:
        """Store what has changed; it is durable on return."""
        self._stored.save(self._master)
