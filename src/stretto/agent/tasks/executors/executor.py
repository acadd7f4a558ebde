"""One executor: its container, its subscription, and waiting tasks."""

from collections.abc import Iterable
from enum import Enum
from typing import Final

from stretto.agent.tasks.containers.container import TaskContainer
from stretto.agent.tasks.executors.records import ExecutorRecord
from stretto.agent.tasks.records import TaskRecord
from stretto.offers.master.server.streams import RecordQueue
from stretto.offers.master.state.outbox import ClientStream
from stretto.offers.master.wire import event_record
from stretto.offers.messages.schema import Message


class ExecutorPhase(Enum):
    """Phase of an executor."""

    #: The executor has not subscribed since its start, or since the start of the agent.
    REGISTERING = "registering"
    #: The executor has subscribed.
    RUNNING = "running"
    #: The executor has received SHUTDOWN.
    TERMINATING = "terminating"


class Executor:
    """Executor that has not ended."""

    def __init__(self, record: ExecutorRecord, container: TaskContainer) -> None:
        """Manage an executor that starts, or one that runs already."""
        #: Its stored record.
        self.record: Final = record
        #: Its container.
        self.container: Final = container
        #: Current phase.
        self.phase = ExecutorPhase.REGISTERING
        #: Reason and text of a stop, for the status of its tasks; empty if the executor ends by
        #: itself.
        self.stopped: tuple[str, str] = ("", "")
        self._stream: ClientStream | None = None
        self._queue = RecordQueue()
        self._kills: dict[str, Message] = {}

    @property
    def is_connected(self) -> bool:
        """Return whether the executor has an open stream."""
        return self._stream is not None

    def subscribe(self, stream: ClientStream, subscribed: Message) -> RecordQueue:
        """Open a stream with its first event, close the previous one, and send waiting kills."""
        self._queue.end()
        self._stream, self._queue = stream, RecordQueue()
        if self.phase is ExecutorPhase.REGISTERING:
            self.phase = ExecutorPhase.RUNNING
        self._send({"type": "SUBSCRIBED", "subscribed": subscribed})
        return self._queue

    def unsubscribe(self, stream: ClientStream) -> None:
        """Remove a closed stream."""
        if self._stream == stream:
            self._stream = None
            self._queue.end()

    def launch(self, tasks: list[TaskRecord]) -> None:
        """Send a task, or a task group."""
        if tasks[0].group:
            group = {"tasks": [each.task for each in tasks]}
            self._send({"type": "LAUNCH_GROUP", "launch_group": {"task_group": group}})
        else:
            self._send({"type": "LAUNCH", "launch": {"task": tasks[0].task}})

    def kill(self, task: TaskRecord, policy: Message | None) -> None:
        """Send KILL; without a stream, send it on the next stream."""
        body: Message = {"task_id": task.task["task_id"]}
        if policy is not None:
            body["kill_policy"] = policy
        if self.is_connected:
            self._send({"type": "KILL", "kill": body})
        else:
            self._kills[task.task_id] = body

    def send_kills(self, alive: Iterable[TaskRecord]) -> None:
        """Send the waiting kills of tasks that have not ended."""
        kills, self._kills = self._kills, {}
        for record in alive:
            if record.task_id in kills:
                self._send({"type": "KILL", "kill": kills[record.task_id]})

    def acknowledge(self, status: Message) -> None:
        """Acknowledge an update that the agent has stored."""
        body = {"task_id": status["task_id"], "uuid": status["uuid"]}
        self._send({"type": "ACKNOWLEDGED", "acknowledged": body})

    def message(self, data: str) -> None:
        """Send bytes of the framework, in base64; without a stream the bytes are lost."""
        self._send({"type": "MESSAGE", "message": {"data": data}})

    def beat(self) -> None:
        """Send a heartbeat."""
        self._send({"type": "HEARTBEAT"})

    def end(self) -> None:
        """Send SHUTDOWN again, on a new stream."""
        self._send({"type": "SHUTDOWN"})

    def shutdown(self, reason: str = "", text: str = "") -> bool:
        """Send SHUTDOWN; return False if it was sent before."""
        if self.phase is ExecutorPhase.TERMINATING:
            return False
        self.phase = ExecutorPhase.TERMINATING
        self.stopped = (reason, text)
        self.end()
        return True

    def close(self) -> None:
        """Close the stream of an executor that has ended."""
        self._stream = None
        self._queue.end()

    def _send(self, event: Message) -> None:
        if self._stream is not None:
            self._queue.put(event_record(self._stream, event))
