"""The state of an agent on disk: its id, and each task with its process and updates."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final, TypeAlias, TypeVar

import msgspec

from stretto.base.errors import InputError
from stretto.offers.master.state.tasks import TERMINAL
from stretto.offers.messages.schema import Message

R = TypeVar("R")
Key: TypeAlias = tuple[str, str]
"""Ids of a framework and of one of its tasks or executors."""
REMEMBERED: Final = 32
"""Number of update ids per task that are stored to recognize a repeated update."""
STATE: Final = "task.json"
"""File name of a task's state, in the parent of its sandbox."""


class TaskRecord(msgspec.Struct):
    """One task on this machine."""

    #: Id of the framework.
    framework_id: str
    #: FrameworkInfo.
    framework: Message
    #: TaskInfo.
    task: Message
    #: Ids of all tasks of its group; empty for a single task.
    group: tuple[str, ...] = ()
    #: True if the task was sent to its executor.
    delivered: bool = False
    #: Reason of the stop; empty: on request; None: the task is not being stopped.
    stopping: str | None = None
    #: Process id of the task's first process; 0 before it starts.
    pid: int = 0
    #: Start time of that process in clock ticks after boot: a later process may have the same id.
    started: int = 0
    #: Latest state.
    state: str = "TASK_STAGING"
    #: Status updates that the framework has not acknowledged, oldest first.
    updates: list[Message] = []
    #: Ids of the latest updates, including acknowledged ones.
    known: tuple[str, ...] = ()

    def run_as(self, pid: int, started: int) -> None:
        """Record the process of the task."""
        self.pid, self.started = pid, started

    def deliver(self) -> None:
        """Record that the task is sent to its executor."""
        self.delivered = True

    def stop(self, reason: str) -> None:
        """Record that the task is being stopped."""
        self.stopping = reason

    def queue(self, update: Message) -> None:
        """Add a status update; it is stored until it is acknowledged."""
        self.state = update["status"]["state"]
        self.updates = [*self.updates, update]
        self.known = (*self.known[1 - REMEMBERED :], update["uuid"])

    def acknowledge(self, uuid: str) -> bool:
        """Remove the first update if it has this uuid; return whether it had."""
        if not self.updates or self.updates[0]["uuid"] != uuid:
            return False
        self.updates = self.updates[1:]
        return True

    @property
    def is_done(self) -> bool:
        """Return whether the task has ended and every update is acknowledged."""
        return self.state in TERMINAL and not self.updates

    @property
    def is_active(self) -> bool:
        """Return whether the task has not ended."""
        return self.state not in TERMINAL

    @property
    def task_id(self) -> str:
        """Id of the task."""
        value: str = self.task["task_id"]["value"]
        return value

    @property
    def key(self) -> Key:
        """Ids of the framework and the task."""
        return self.framework_id, self.task_id

    @property
    def agent_id(self) -> str:
        """Id of the agent on which the task was launched."""
        value: str = self.task["agent_id"]["value"]
        return value

    @property
    def executor_id(self) -> str:
        """Id of the executor; empty for a command."""
        value: str = self.task.get("executor", {}).get("executor_id", {}).get("value", "")
        return value

    @property
    def is_custom(self) -> bool:
        """Return whether an executor of the framework runs the task, not the agent itself."""
        executor = self.task.get("executor")
        return executor is not None and executor.get("type") != "DEFAULT"

    def has(self, capability: str) -> bool:
        """Return whether the framework has a capability."""
        given = self.framework.get("capabilities", ())
        return any(each.get("type") == capability for each in given)


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
        write_file(self._directory / "agent_id", agent_id.encode())

    def forget_agent(self) -> None:
        """Delete the agent id, because the master has removed this agent."""
        (self._directory / "agent_id").unlink(missing_ok=True)

    def sandbox(self, record: TaskRecord) -> Path:
        """The working directory of a task."""
        return self.place(record) / "sandbox"

    def exit_file(self, record: TaskRecord) -> Path:
        """File of the exit status of a task's process."""
        return self.place(record) / "exit"

    def resources(self) -> list[Message]:
        """Reservations and volumes that the master has told the agent to store."""
        path = self._directory / "resources.json"
        found: list[Message] = msgspec.json.decode(path.read_bytes()) if path.exists() else []
        return found

    def save_resources(self, resources: list[Message]) -> None:
        """Store reservations and volumes."""
        write_file(self._directory / "resources.json", msgspec.json.encode(resources))

    def prepare(self, record: TaskRecord) -> None:
        """Store a new task; remove the exit status of an earlier task with its id."""
        self.exit_file(record).unlink(missing_ok=True)
        self.save(record)

    def save(self, record: TaskRecord) -> None:
        """Store a task."""
        write_file(self.place(record) / STATE, msgspec.json.encode(record))

    def forget(self, record: TaskRecord) -> None:
        """Delete the record of a task whose last update was acknowledged; its sandbox stays."""
        (self.place(record) / STATE).unlink(missing_ok=True)

    def tasks(self) -> Iterator[TaskRecord]:
        """Stored tasks."""
        for path in sorted(self._directory.glob(f"tasks/*/*/{STATE}")):
            yield read_record(path, TaskRecord)

    def place(self, record: TaskRecord) -> Path:
        """The directory of a task."""
        return self._directory / "tasks" / record.framework_id / record.task_id


def read_record(path: Path, kind: type[R]) -> R:
    """Read a stored record.

    Raises:
        InputError: the file is not such a record.
    """
    data = path.read_bytes()
    try:
        return msgspec.json.decode(data, type=kind)
    except msgspec.DecodeError as error:
        start = data[:40].decode(errors="replace")
        hint = f"{error}: remove the file; the agent continues without it"
        raise InputError(str(path), start, "a record of this agent", hint) from error


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
