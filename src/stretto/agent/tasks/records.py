"""The stored record of a task, with its process and its updates, and the files of tasks."""

from pathlib import Path
from typing import Final, TypeAlias

import msgspec

from stretto.agent.tasks.storage import RecordFolder
from stretto.offers.master.state.tasks import TERMINAL
from stretto.offers.messages.schema import Message

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
    def folder(self) -> tuple[str, ...]:
        """Names of its directory below that of all tasks."""
        return self.key

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
    """Tasks in the work directory of an agent."""

    def __init__(self, directory: Path) -> None:
        """Use a directory, created on the first write."""
        #: The records; a record is deleted after its last update was acknowledged.
        self.records = RecordFolder(directory / "tasks", TaskRecord, STATE, 2)

    def sandbox(self, record: TaskRecord) -> Path:
        """Return the working directory of a task."""
        return self.records.place(record) / "sandbox"

    def exit_file(self, record: TaskRecord) -> Path:
        """Return the file of the exit status of a task's process."""
        return self.records.place(record) / "exit"

    def prepare(self, record: TaskRecord) -> None:
        """Store a new task; remove the exit status of an earlier task with its id."""
        self.exit_file(record).unlink(missing_ok=True)
        self.records.save(record)
