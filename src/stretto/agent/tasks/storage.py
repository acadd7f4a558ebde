"""The work directory of an agent: its id, its resources, and folders of records."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Generic, Protocol, TypeVar

import msgspec

from stretto.base.errors import InputError
from stretto.offers.messages.schema import Message


class StoredRecord(Protocol):
    """A record with a directory of its own."""

    @property
    def folder(self) -> tuple[str, ...]:
        """Names of its directory below that of all records of its type."""
        ...


R = TypeVar("R", bound=StoredRecord)


class RecordFolder(Generic[R]):
    """Records of one type, each in a directory of its own."""

    def __init__(self, directory: Path, kind: type[R], name: str, depth: int) -> None:
        """Use a directory, created on the first write.

        Args:
            directory: the directory of all records.
            kind: the type of the records.
            name: file name of a record in its directory.
            depth: number of names of the directory of a record.
        """
        self._directory = directory
        self._kind = kind
        self._name = name
        self._pattern = f"{'*/' * depth}{name}"

    def place(self, record: R) -> Path:
        """Return the directory of a record."""
        return self._directory.joinpath(*record.folder)

    def save(self, record: R) -> None:
        """Store a record."""
        write_file(self.place(record) / self._name, msgspec.json.encode(record))

    def forget(self, record: R) -> None:
        """Delete a record; the other files of its directory stay."""
        (self.place(record) / self._name).unlink(missing_ok=True)

    def all(self) -> Iterator[R]:
        """Yield the stored records.

        Raises:
            InputError: a file is not such a record.
        """
        for path in sorted(self._directory.glob(self._pattern)):
            data = path.read_bytes()
            try:
                yield msgspec.json.decode(data, type=self._kind)
            except msgspec.DecodeError as error:
                start = data[:40].decode(errors="replace")
                hint = f"{error}: remove the file; the agent continues without it"
                raise InputError(str(path), start, "a record of this agent", hint) from error


class AgentFiles:
    """Files with the id, the reservations and the volumes of an agent."""

    def __init__(self, directory: Path) -> None:
        """Use a directory, created on the first write."""
        self._id = directory / "agent_id"
        self._resources = directory / "resources.json"

    def agent_id(self) -> str | None:
        """Return the id of this agent; ``None`` if it has never registered."""
        return self._id.read_text().strip() if self._id.exists() else None

    def save_agent_id(self, agent_id: str) -> None:
        """Store the id of this agent."""
        write_file(self._id, agent_id.encode())

    def forget_agent(self) -> None:
        """Delete the agent id, because the master has removed this agent."""
        self._id.unlink(missing_ok=True)

    def resources(self) -> list[Message]:
        """Return the reservations and volumes that the master has sent for storage."""
        if not self._resources.exists():
            return []
        found: list[Message] = msgspec.json.decode(self._resources.read_bytes())
        return found

    def save_resources(self, resources: list[Message]) -> None:
        """Store reservations and volumes."""
        write_file(self._resources, msgspec.json.encode(resources))


def write_file(path: Path, data: bytes) -> None:
    """Replace a file atomically and durably; only its owner can read it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(".new")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
