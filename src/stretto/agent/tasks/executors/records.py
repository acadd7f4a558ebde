"""The stored record of an executor, which survives a restart of the agent."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from stretto.agent.tasks.records import Key, read_record, write_file
from stretto.offers.messages.schema import Message

STATE: Final = "executor.json"
"""File name of an executor's state."""


class ExecutorRecord(msgspec.Struct):
    """One executor on this machine."""

    #: FrameworkInfo.
    framework: Message
    #: ExecutorInfo.
    info: Message
    #: Id of its container.
    container_id: str
    #: Its bearer token; empty without authentication.
    token: str = ""
    #: Process id of its first process; 0 before it starts.
    pid: int = 0
    #: Start time of that process in clock ticks after boot.
    started: int = 0

    def run_as(self, pid: int, started: int) -> None:
        """Record the process of the executor."""
        self.pid, self.started = pid, started

    @property
    def key(self) -> Key:
        """Ids of the framework and the executor."""
        return self.framework["id"]["value"], self.info["executor_id"]["value"]

    @property
    def checkpoint(self) -> bool:
        """Return whether the executor waits for an agent that restarts."""
        return bool(self.framework.get("checkpoint"))


class ExecutorFiles:
    """Executors in the work directory of an agent."""

    def __init__(self, directory: Path) -> None:
        """Use a directory, created on the first write."""
        self._directory = directory / "executors"

    def place(self, record: ExecutorRecord) -> Path:
        """The directory of one run of an executor."""
        return self._directory.joinpath(*record.key, record.container_id)

    def save(self, record: ExecutorRecord) -> None:
        """Store an executor."""
        write_file(self.place(record) / STATE, msgspec.json.encode(record))

    def forget(self, record: ExecutorRecord) -> None:
        """Delete the record of an executor that has ended; its sandbox stays."""
        (self.place(record) / STATE).unlink(missing_ok=True)

    def all(self) -> Iterator[ExecutorRecord]:
        """Stored executors."""
        for path in sorted(self._directory.glob(f"*/*/*/{STATE}")):
            yield read_record(path, ExecutorRecord)
