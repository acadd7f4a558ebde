"""Tasks in the state of the master, and status updates that the master creates."""

from typing import Final

from stretto.offers.master.resources import formats
from stretto.offers.master.resources.items import ResourceList
from stretto.offers.master.state.changes import EntityKind, task_key
from stretto.offers.messages.schema import Message

TERMINAL: Final = frozenset(
    {
        "TASK_FINISHED",
        "TASK_FAILED",
        "TASK_KILLED",
        "TASK_LOST",
        "TASK_ERROR",
        "TASK_DROPPED",
        "TASK_GONE",
        "TASK_GONE_BY_OPERATOR",
    }
)
"""Task states that are final."""
UNREACHABLE: Final = "TASK_UNREACHABLE"
PARTITION_STATES: Final = frozenset(
    {"TASK_UNREACHABLE", "TASK_DROPPED", "TASK_GONE", "TASK_GONE_BY_OPERATOR", "TASK_UNKNOWN"}
)
"""Task states that frameworks without PARTITION_AWARE receive as TASK_LOST."""
SEEN: Final = "seen"
"""Key of the launch number in the row of a task; it is no field of Task messages."""
_COPIED: Final = (
    "labels",
    "discovery",
    "container",
    "health_check",
    "kill_policy",
    "max_completion_time",
    "limits",
)


class Task:
    """A launched task."""

    def __init__(self, message: Message, seen: int) -> None:
        """Initialize with a Task message; ``seen`` is the launch number, which is unique."""
        #: The Task message without ``state``, ``statuses`` and the last update.
        self._message = message
        #: Launch number, in which tasks with the same id differ.
        self.seen: Final = seen
        #: Id.
        self.id: Final[str] = message["task_id"]["value"]
        #: Id of its framework.
        self.framework_id: Final[str] = message["framework_id"]["value"]
        #: Id of its agent.
        self.agent_id: Final[str] = message["agent_id"]["value"]
        #: Id of its executor; empty for a command task.
        self.executor_id: Final[str] = message.get("executor_id", {}).get("value", "")
        #: Its resources, with the role of their allocation.
        self.resources: Final[ResourceList] = formats.read(message.get("resources", ()))
        #: Latest state.
        self.state: str = message["state"]
        #: Status updates; a run of equal states has one entry.
        self.statuses: list[Message] = list(message.get("statuses", ()))
        self._update: tuple[str, str] | None = None
        if "status_update_state" in message:
            self._update = (message["status_update_state"], message.get("status_update_uuid", ""))

    @classmethod
    def of_row(cls, row: Message) -> "Task":
        """The task of a row: its message with the launch number."""
        return cls({key: value for key, value in row.items() if key != SEEN}, row[SEEN])

    @property
    def row(self) -> Message:
        """The Task message with the launch number."""
        return self.message() | {SEEN: self.seen}

    @property
    def entity(self) -> tuple[EntityKind, str]:
        """Kind and key in storage."""
        return EntityKind.TASK, task_key(self.framework_id, self.id)

    @property
    def role(self) -> str:
        """The role that its resources are allocated to."""
        first = next(iter(self.resources.items), None)
        return (first.kind.allocated or "*") if first else "*"

    @property
    def is_active(self) -> bool:
        """True if its resources are in use: it is neither terminal nor unreachable."""
        return self.state not in TERMINAL and self.state != UNREACHABLE

    @property
    def update_state(self) -> str:
        """State of the last forwarded update, or else its state."""
        return self._update[0] if self._update else self.state

    @property
    def update_uuid(self) -> str:
        """Id of the last forwarded update; empty if there is none."""
        return self._update[1] if self._update else ""

    def forwarded(self, state: str, uuid: str) -> None:
        """Record the update that the framework must acknowledge."""
        self._update = (state, uuid)

    def record(self, status: Message, state: str) -> bool:
        """Apply a status update; true if subscribers of events must receive it."""
        if self.state not in TERMINAL:
            self.state = state
        changed = status.get("reason") in (
            "REASON_TASK_CHECK_STATUS_UPDATED",
            "REASON_TASK_HEALTH_CHECK_STATUS_UPDATED",
        )
        if self.statuses and self.statuses[-1]["state"] == status["state"]:
            self.statuses.pop()
        else:
            changed = True
        self.statuses.append({key: value for key, value in status.items() if key != "data"})
        return changed

    def message(self) -> Message:
        """The Task message."""
        message = self._message | {"state": self.state}
        if self.statuses:
            message["statuses"] = list(self.statuses)
        if self._update:
            message["status_update_state"], message["status_update_uuid"] = self._update
        return message


def task_message(info: Message, framework_id: str) -> Message:
    """The Task message of a TaskInfo that is launched."""
    message: Message = {
        "name": info["name"],
        "task_id": info["task_id"],
        "framework_id": {"value": framework_id},
        "agent_id": info["agent_id"],
        "state": "TASK_STAGING",
        "resources": info.get("resources", []),
    }
    if "executor" in info:
        message["executor_id"] = info["executor"]["executor_id"]
    message |= {key: info[key] for key in _COPIED if key in info}
    command = info.get("command") or info.get("executor", {}).get("command", {})
    if "user" in command:
        message["user"] = command["user"]
    return message


def master_status(
    task_id: str, agent_id: str | None, state: str, message: str, reason: str
) -> Message:
    """A status that the master creates; the time is added when it is sent."""
    status: Message = {
        "task_id": {"value": task_id},
        "state": state,
        "message": message,
        "source": "SOURCE_MASTER",
        "reason": reason,
    }
    if agent_id is not None:
        status["agent_id"] = {"value": agent_id}
    return status
