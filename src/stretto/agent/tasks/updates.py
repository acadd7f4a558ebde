"""Delivery of status updates to the framework: in order, one at a time, until acknowledged."""

import asyncio
import base64
import uuid
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, Final

from stretto.agent.tasks.amounts import scalar
from stretto.agent.tasks.client import MasterError
from stretto.agent.tasks.records import TaskFiles, TaskRecord
from stretto.agent.tasks.status import RunStatus
from stretto.base.rng import Rng
from stretto.offers.messages.schema import Message

FIRST_RETRY: Final = 10.0
"""Seconds after which an unacknowledged update is sent again."""
LONGEST_RETRY: Final = 600.0
"""Maximum seconds between two attempts; the delay doubles after each attempt."""

Post = Callable[[str, dict[str, Any]], Awaitable[None]]
"""Sends a message to the master."""


class UpdateStream:
    """The updates of one task."""

    def __init__(self, record: TaskRecord, files: TaskFiles, post: Post) -> None:
        """Send the updates of a record; those of an earlier run of the agent are sent first."""
        self._record = record
        self._files = files
        self._post = post
        self._changed = asyncio.Event()
        self._again = False

    def add(self, update: Message) -> None:
        """Store an update and send it after the earlier ones."""
        self._record.queue(update)
        self._save()
        self._changed.set()

    def acknowledge(self, identity: str) -> None:
        """Handle the acknowledgement of an update."""
        if self._record.acknowledge(identity):
            self._save()
            self._changed.set()

    def resend(self) -> None:
        """Send the first update again at once, because the master is new or reachable again."""
        self._again = True
        self._changed.set()

    async def run(self) -> None:
        """Send until the task has ended and its last update is acknowledged."""
        delay, sent = FIRST_RETRY, ""
        while not self._record.is_done:
            self._changed.clear()
            first = self._record.updates[0] if self._record.updates else None
            if first is not None and (self._again or first["uuid"] != sent):
                self._again, sent = False, first["uuid"]
                with suppress(OSError, MasterError, TimeoutError):
                    await self._post("StatusUpdateMessage", {"update": first, "pid": ""})
            try:
                async with asyncio.timeout(delay):
                    await self._changed.wait()
                delay = FIRST_RETRY
            except TimeoutError:
                self._again = True
                delay = min(2 * delay, LONGEST_RETRY)
        self._files.records.forget(self._record)

    def _save(self) -> None:
        """Store the record; if the disk is full, the update is still sent from memory."""
        with suppress(OSError):
            self._files.records.save(self._record)


class UpdateWriter:
    """Creator of StatusUpdate messages."""

    def __init__(self, now: Callable[[], float], rng: Rng) -> None:
        """Use these sources of times (seconds since 1970) and of update ids."""
        self._now = now
        self._rng = rng

    def status(self, record: TaskRecord, status: RunStatus) -> Message:
        """Return the TaskStatus of a state that the agent has decided."""
        body: Message = {
            "task_id": record.task["task_id"],
            "state": status.state,
            "source": status.source.value,
            "agent_id": {"value": record.agent_id},
            "executor_id": {"value": record.executor_id or record.task_id},
            "timestamp": self._now(),
            "uuid": base64.b64encode(uuid.UUID(self._rng.uid()).bytes).decode(),
        }
        if status.message:
            body["message"] = status.message
        if status.reason:
            body["reason"] = status.reason
        if status.healthy is not None:
            body["healthy"] = status.healthy
        if status.check is not None:
            body["check_status"] = status.check
        if status.exceeded:
            named = [scalar(name, value) for name, value in status.exceeded]
            body["limitation"] = {"resources": named}
        return body

    def update(self, record: TaskRecord, status: Message) -> Message:
        """Return the StatusUpdate with a complete TaskStatus."""
        return {
            "framework_id": {"value": record.framework_id},
            "executor_id": status["executor_id"],
            "slave_id": status["agent_id"],
            "status": status,
            "timestamp": self._now(),
            "uuid": status["uuid"],
            "latest_state": status["state"],
        }
