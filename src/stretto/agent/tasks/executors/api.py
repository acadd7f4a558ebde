"""The v1 executor API: calls of executors."""

import asyncio
import base64
import hmac
from collections.abc import AsyncIterator
from typing import Final, Protocol

from stretto.agent.tasks.executors.executor import Executor, ExecutorPhase
from stretto.agent.tasks.executors.table import Executors
from stretto.agent.tasks.jobs import Jobs
from stretto.agent.tasks.ledger import TaskLedger
from stretto.agent.tasks.records import Key, TaskRecord
from stretto.base.rng import Rng
from stretto.offers.master.api.http import (
    HttpAnswer,
    MasterRequest,
    RequestError,
    empty,
    only,
    plain,
    read_call,
    stream_answer,
    wants_protobuf,
)
from stretto.offers.master.server.streams import RecordQueue
from stretto.offers.master.state.outbox import ClientStream, EventKind
from stretto.offers.messages.schema import Message

CHALLENGE: Final = 'Bearer realm="stretto-agent"'
"""Challenge for an executor that does not send its token."""
HEARTBEAT: Final = 1800.0
"""Seconds between two heartbeats on the stream of an executor."""


class AgentSide(Protocol):
    """The interface of the agent for executors."""

    def info(self) -> Message:
        """The AgentInfo of the agent."""
        ...

    def now(self) -> float:
        """The time in seconds since 1970."""
        ...

    def forward(self, executor: Key, data: str) -> None:
        """Send bytes of an executor, in base64, to its framework."""
        ...


class ExecutorApi:
    """Handler of the calls of the executors of one agent."""

    def __init__(
        self, executors: Executors, ledger: TaskLedger, agent: AgentSide, jobs: Jobs, rng: Rng
    ) -> None:
        """Serve executors; their status updates go to the ledger."""
        self._executors = executors
        self._ledger = ledger
        self._agent = agent
        self._jobs = jobs
        self._rng = rng
        self._streams: dict[str, tuple[Executor, RecordQueue]] = {}

    def answer(self, request: MasterRequest) -> HttpAnswer:
        """Answer a call."""
        try:
            return self._answer(request)
        except RequestError as error:
            return error.answer

    async def records(self, stream: ClientStream) -> AsyncIterator[bytes]:
        """Yield records of a stream until it ends or its executor closes it."""
        executor, queue = self._streams[stream.id]
        beats = self._jobs.start(_beat(executor))
        try:
            async for record in queue.records():
                yield record
        finally:
            beats.cancel()
            del self._streams[stream.id]
            executor.unsubscribe(stream)

    def _answer(self, request: MasterRequest) -> HttpAnswer:
        only(request, "POST")
        call = read_call(request, "executor.Call")
        error = call_error(call)
        if error:
            return plain(400, f"Failed to validate executor::Call: {error}")
        executor = self._executors.get(_key(call))
        if executor is None:
            return plain(400, "Executor cannot be found")
        if not _is_authentic(request, executor.record.token):
            return plain(401, headers={"WWW-Authenticate": CHALLENGE})
        if call["type"] == "SUBSCRIBE":
            return self._subscribe(request, executor, call["subscribe"])
        if executor.phase is ExecutorPhase.REGISTERING:
            return plain(403, "Executor is not subscribed")
        if call["type"] == "UPDATE":
            self._update(executor, call["update"]["status"])
        elif call["type"] == "MESSAGE":
            self._agent.forward(executor.record.key, call["message"]["data"])
        return empty(202)

    def _subscribe(self, request: MasterRequest, executor: Executor, body: Message) -> HttpAnswer:
        stream = ClientStream(self._rng.uid(), EventKind.EXECUTOR, wants_protobuf(request))
        ending = executor.phase is ExecutorPhase.TERMINATING
        subscribed = {
            "executor_info": executor.record.info,
            "framework_info": executor.record.framework,
            "agent_info": self._agent.info(),
            "container_id": {"value": executor.record.container_id},
        }
        self._streams[stream.id] = executor, executor.subscribe(stream, subscribed)
        for each in body.get("unacknowledged_updates", ()):
            self._update(executor, each["status"])
        if ending:
            executor.end()
        else:
            tasks = body.get("unacknowledged_tasks", ())
            known = frozenset(each["task_id"]["value"] for each in tasks)
            self._executors.subscribed(executor, known)
        return stream_answer(stream, {})

    def _update(self, executor: Executor, status: Message) -> None:
        """Process an update once; an executor repeats updates until they are acknowledged."""
        record = self._ledger.get((executor.record.key[0], status["task_id"]["value"]))
        if record is not None and record.executor_id == executor.record.key[1]:
            self._ledger.forward(record, self._completed(executor, record, status))
        executor.acknowledge(status)

    def _completed(self, executor: Executor, record: TaskRecord, status: Message) -> Message:
        """The status with the fields that the agent sets."""
        container = {
            "container_id": {"value": executor.record.container_id},
            "executor_pid": executor.record.pid,
        }
        return {
            "timestamp": self._agent.now(),
            **status,
            "agent_id": {"value": record.agent_id},
            "executor_id": {"value": record.executor_id},
            "container_status": {**container, **status.get("container_status", {})},
        }


def call_error(call: Message) -> str | None:
    """Return why a call by itself is invalid, in Mesos' words; ``None`` if it is valid."""
    kind = call.get("type")
    if kind is None:
        return "Expecting 'type' to be present"
    field = kind.lower()
    if kind in ("SUBSCRIBE", "UPDATE", "MESSAGE") and field not in call:
        return f"Expecting '{field}' to be present"
    if kind == "UNKNOWN":
        return "Unknown call type"
    if kind == "SUBSCRIBE":
        updates = call[field].get("unacknowledged_updates", ())
        return next(filter(None, (_status_error(call, each["status"]) for each in updates)), None)
    return _status_error(call, call["update"]["status"]) if kind == "UPDATE" else None


def _status_error(call: Message, status: Message) -> str | None:
    framework_id, executor_id = _key(call)
    sender = f"executor {executor_id} of framework {framework_id}"
    if "uuid" not in status:
        return "Expecting 'uuid' to be present"
    if len(base64.b64decode(status["uuid"])) != 16:
        return "Not a valid UUID"
    named = status.get("executor_id", {}).get("value", executor_id)
    if named != executor_id:
        return f"ExecutorID in Call: {executor_id} does not match ExecutorID in TaskStatus: {named}"
    if status.get("source") != "SOURCE_EXECUTOR":
        return f"Received Call from {sender} with invalid source, expecting 'SOURCE_EXECUTOR'"
    if status["state"] == "TASK_STAGING":
        return f"Received TASK_STAGING from {sender} which is not allowed"
    return None


def _is_authentic(request: MasterRequest, token: str) -> bool:
    """Return whether a request contains the token of its executor, if the executor has one."""
    given = request.headers.get("authorization", "")
    return not token or hmac.compare_digest(given.encode(), f"Bearer {token}".encode())


def _key(call: Message) -> Key:
    return call["framework_id"]["value"], call["executor_id"]["value"]


async def _beat(executor: Executor) -> None:
    while True:
        await asyncio.sleep(HEARTBEAT)
        executor.beat()
