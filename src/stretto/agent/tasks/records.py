"""What the agent stores: its id, and each task with its process and its unacknowledged updates."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from stretto.offers.messages.schema import Message

TERMINAL: Final = frozenset({"TASK_FINISHED", "TASK_FAILED", "TASK_KILLED"})
"""States in which a task has ended."""
STATE: Final = "task.json"
"""File of a task's state in its sandbox's parent."""


class TaskRecord(msgspec.Struct):
    """One task on this machine."""

    #: Id of the framework.
    framework_id: str
    #: FrameworkInfo.
    framework: Message
    #: TaskInfo.
    task: Message
    #: Id of the group; empty for a single task.
    group: str = ""
    #: Process id of the task's first process; 0 before it starts.
    pid: int = 0
    #: Start time of that process in clock ticks after boot: a later process may have the same id.
    started: int = 0
    #: Latest state.
    state: str = "TASK_STAGING"
    #: Status updates that the framework has not acknowledged, oldest first.
    updates: list[Message] = []

    def run_as(self, pid: int, started: int) -> None:
        """The process of the task has started."""
        self.pid, self.started = pid, started

    def queue(self, update: Message) -> None:
        """Add a status update; it is kept until it is acknowledged."""
        self.state = update["status"]["state"]
        self.updates = [*self.updates, update]

    def acknowledge(self, uuid: str) -> bool:
        """The framework has the first update; whether it was that one."""
        if not self.updates or self.updates[0]["uuid"] != uuid:
            return False
        self.updates = self.updates[1:]
        return True

    @property
    def is_done(self) -> bool:
        """Whether the task has ended and every update is acknowledged."""
        return self.state in TERMINAL and not self.updates

    @property
    def task_id(self) -> str:
        """Id of the task."""
        value: str = self.task["task_id"]["value"]
        return value


class TaskFiles:
    """The work directory of an agent."""

    def __init__(self, directory: Path) -> None:
        """Use a directory, created on the first write."""
        self._directory = directory

    def agent_id(self) -> str | None:
        """The id of this agent; None if it has never registered."""
        path = self._directory / "agent_id"
        return path.read_text().strip() if path.exists() else None

    def save_agent_id(self, agent_id: str) -> None:
        """Store the id of this agent."""
        _write(self._directory / "agent_id", agent_id.encode())

    def forget_agent(self) -> None:
        """The master does not know this agent any more."""
        (self._directory / "agent_id").unlink(missing_ok=True)

    def sandbox(self, record: TaskRecord) -> Path:
        """The directory in which a task runs."""
        return self._place(record) / "sandbox"

    def exit_file(self, record: TaskRecord) -> Path:
        """Where the status of a task's process is written when it ends."""
        return self._place(record) / "exit"

    def resources(self) -> list[Message]:
        """Reservations and volumes that the master has told the agent to store."""
        path = self._directory / "resources.json"
        found: list[Message] = msgspec.json.decode(path.read_bytes()) if path.exists() else []
        return found

    def save_resources(self, resources: list[Message]) -> None:
        """Store reservations and volumes."""
        _write(self._directory / "resources.json", msgspec.json.encode(resources))

    def save(self, record: TaskRecord) -> None:
        """Store a task."""
        _write(self._place(record) / STATE, msgspec.json.encode(record))

    def forget(self, record: TaskRecord) -> None:
        """Forget a task whose last update was acknowledged; its sandbox stays."""
        (self._place(record) / STATE).unlink(missing_ok=True)

    def remove_sandboxes(self) -> None:
        """Remove all sandboxes of ended tasks."""
        for place in self._directory.glob("tasks/*/*"):
            if not (place / STATE).exists():
                shutil.rmtree(place, ignore_errors=True)

    def tasks(self) -> Iterator[TaskRecord]:
        """Stored tasks."""
        for path in sorted(self._directory.glob(f"tasks/*/*/{STATE}")):
            yield msgspec.json.decode(path.read_bytes(), type=TaskRecord)

    def _place(self, record: TaskRecord) -> Path:
        return self._directory / "tasks" / record.framework_id / record.task_id


def _write(path: Path, data: bytes) -> None:
    """Replace a file as a whole, durably."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(".new")
    with temporary.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
