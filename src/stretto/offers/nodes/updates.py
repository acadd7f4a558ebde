"""Status updates of tasks in pods: in order, one at a time, until the framework acknowledges them.

A pod keeps its last state until the framework has acknowledged it, so the updates need no storage:
after a restart the present state of each pod is sent again.
"""

import base64
import uuid
from collections.abc import Iterator
from math import inf
from typing import Final

from stretto.base.rng import Rng
from stretto.offers.messages.schema import Message
from stretto.offers.nodes.states import ENDED, TaskKey, TaskReport

FIRST_RETRY: Final = 10.0
"""Seconds until an update without an acknowledgement is sent again."""
LONGEST_RETRY: Final = 600.0
"""Maximum seconds between two attempts; the delay doubles after each attempt."""


class TaskUpdates:
    """The unacknowledged updates of one task, oldest first."""

    def __init__(self) -> None:
        """Start without updates."""
        #: The last report that was added.
        self.last: TaskReport | None = None
        #: Time at which the first update is due, in monotonic seconds.
        self.due = inf
        self._updates: list[Message] = []
        self._delay = FIRST_RETRY

    def add(self, report: TaskReport, update: Message, now: float) -> None:
        """Send an update after the earlier ones."""
        self.last = report
        self._updates.append(update)
        if len(self._updates) == 1:
            self.due = now

    def acknowledge(self, identity: str, now: float) -> bool:
        """Remove an acknowledged update; true if the task has ended and no update is left."""
        if self._updates and self._updates[0]["uuid"] == identity:
            self._updates.pop(0)
            self.due, self._delay = (now if self._updates else inf), FIRST_RETRY
        return self.is_done

    @property
    def is_done(self) -> bool:
        """True if the task has ended and every update is acknowledged."""
        return not self._updates and self.last is not None and self.last.state in ENDED

    def send(self, now: float) -> Message:
        """The first update, which is due; the delay before its next attempt doubles."""
        self.due, self._delay = now + self._delay, min(2 * self._delay, LONGEST_RETRY)
        return self._updates[0]

    def resend(self, now: float) -> None:
        """Send the first update again at once, because the framework can be reached again."""
        if self._updates:
            self.due, self._delay = now, FIRST_RETRY

    def is_from(self, agent_id: str) -> bool:
        """True if the first update is from an agent."""
        return bool(self._updates) and self._updates[0]["slave_id"]["value"] == agent_id


class UpdateStreams:
    """The updates of all tasks in pods."""

    def __init__(self, rng: Rng) -> None:
        """Initialize with the source of update ids."""
        self._rng = rng
        self._streams: dict[TaskKey, TaskUpdates] = {}
        self._waiting: dict[TaskKey, TaskUpdates] = {}

    def add(
        self, key: TaskKey, agent_id: str, report: TaskReport, times: tuple[float, float]
    ) -> None:
        """Send a report if it differs from the last one; ``times`` are wall and monotonic time."""
        stream = self._streams.setdefault(key, TaskUpdates())
        if stream.last == report or (stream.last is not None and stream.last.state in ENDED):
            return
        wall, now = times
        identity = base64.b64encode(uuid.UUID(self._rng.uid()).bytes).decode()
        status: Message = {
            "task_id": {"value": key[1]},
            "state": report.state,
            "source": "SOURCE_AGENT",
            "agent_id": {"value": agent_id},
            "timestamp": wall,
            "uuid": identity,
        }
        texts = {"message": report.message, "reason": report.reason}
        update = {
            "framework_id": {"value": key[0]},
            "slave_id": {"value": agent_id},
            "status": status | {name: text for name, text in texts.items() if text},
            "timestamp": wall,
            "uuid": identity,
            "latest_state": report.state,
        }
        stream.add(report, update, now)
        self._waiting[key] = stream

    def acknowledge(self, key: TaskKey, identity: str, now: float) -> bool:
        """Remove an acknowledged update; true if the task has ended and no update is left."""
        stream = self._streams.get(key)
        if stream is None:
            return False
        is_done = stream.acknowledge(identity, now)
        if stream.due == inf:
            self._waiting.pop(key, None)
        return is_done

    def is_done(self, key: TaskKey) -> bool:
        """True if a task has ended and the framework has acknowledged every update."""
        stream = self._streams.get(key)
        return stream is not None and stream.is_done

    def has_ended(self, key: TaskKey) -> bool:
        """True if the last report of a task is its end."""
        stream = self._streams.get(key)
        return stream is not None and stream.last is not None and stream.last.state in ENDED

    def forget(self, key: TaskKey) -> None:
        """Drop the updates of a task."""
        self._streams.pop(key, None)
        self._waiting.pop(key, None)

    def resend(self, framework_id: str, now: float) -> None:
        """Send the unacknowledged updates of a framework that has returned."""
        for key, stream in self._waiting.items():
            if key[0] == framework_id:
                stream.resend(now)

    def resend_from(self, agent_id: str, now: float) -> None:
        """Send the unacknowledged updates of an agent that has returned.

        Acknowledgements could not reach the agent, so the next attempt may be far away.
        """
        for stream in self._waiting.values():
            if stream.is_from(agent_id):
                stream.resend(now)

    def due(self, now: float) -> Iterator[Message]:
        """The updates to send now."""
        for stream in list(self._waiting.values()):
            if stream.due <= now:
                yield stream.send(now)

    @property
    def next_due(self) -> float:
        """Time at which the next update is due; infinity for none."""
        return min((each.due for each in self._waiting.values()), default=inf)
