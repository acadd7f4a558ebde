"""The stored record of an executor, which survives a restart of the agent."""

from pathlib import Path
from typing import Final, TypeAlias

import msgspec

from stretto.agent.tasks.records import Key
from stretto.agent.tasks.storage import RecordFolder
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
    def folder(self) -> tuple[str, ...]:
        """Names of the directory of one run of the executor below that of all executors."""
        return *self.key, self.container_id

    @property
    def checkpoint(self) -> bool:
        """Return whether the executor waits for an agent that restarts."""
        return bool(self.framework.get("checkpoint"))


ExecutorRecords: TypeAlias = RecordFolder[ExecutorRecord]
"""The executors of an agent on disk."""


def executor_records(directory: Path) -> ExecutorRecords:
    """Return the executors in the work directory of an agent."""
    return RecordFolder(directory / "executors", ExecutorRecord, STATE, 3)
