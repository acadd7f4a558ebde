"""An agent that runs the tasks of Mesos frameworks on this machine.

Tasks outlive the agent: their processes have sessions of their own, and what the agent must know
is on disk before the master learns about it.
"""

import asyncio
from collections.abc import Callable
from typing import Any, Final

from stretto.agent.tasks.client import MasterClient, MasterError
from stretto.agent.tasks.records import TERMINAL, TaskFiles, TaskRecord
from stretto.agent.tasks.runs import RunStatus, TaskRun
from stretto.agent.tasks.settings import CAPABILITIES, TaskAgentSettings
from stretto.agent.tasks.updates import UpdateStream, UpdateWriter
from stretto.base.clock import Clock
from stretto.base.rng import Rng
from stretto.offers.master.state.tasks import task_message
from stretto.offers.messages.schema import Message

RETRY: Final = 1.0
"""Seconds between two attempts to reach the master."""
VERSION: Final = "1.11.0"
"""The version of Mesos whose agent it stands for."""

Key = tuple[str, str]
"""Ids of a framework and of a task."""


class TaskAgent:
    """One agent."""

    def __init__(
        self, settings: TaskAgentSettings, clock: Clock, rng: Rng, log: Callable[[str], None]
    ) -> None:
        """Run tasks with these settings; ``log`` is called with each change of the connection."""
        self._settings = settings
        self._files = TaskFiles(settings.work_dir)
        self._client = MasterClient(settings)
        self._writer = UpdateWriter(clock, rng)
        self._log = log
        self._agent_id = self._files.agent_id()
        self._records: dict[Key, TaskRecord] = {}
        self._runs: dict[Key, TaskRun] = {}
        self._streams: dict[Key, UpdateStream] = {}
        self._jobs: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Follow stored tasks, and serve the master until cancelled."""
        for record in list(self._files.tasks()):
            self._follow(record)
        while True:
            name, message = self._registration()
            try:
                async for each in self._client.messages(name, message):
                    self._handle(each["name"], each["message"])
                self._log("the master closed the connection")
            except (OSError, MasterError, TimeoutError) as error:
                self._log(f"no connection to the master: {error}")
            await asyncio.sleep(RETRY)

    def _registration(self) -> tuple[str, Message]:
        """The first message of a connection."""
        message: Message = {
            "slave": self._settings.info(self._agent_id),
            "version": VERSION,
            "agent_capabilities": [{"type": each} for each in CAPABILITIES],
            "checkpointed_resources": self._files.resources(),
        }
        if self._agent_id is None:
            return "RegisterSlaveMessage", message
        frameworks = {each.framework_id: each.framework for each in self._records.values()}
        message["frameworks"] = list(frameworks.values())
        message["tasks"] = [_reported(each) for each in self._records.values()]
        return "ReregisterSlaveMessage", message

    def _handle(self, name: str, message: Message) -> None:
        """One message of the master; unknown ones are ignored."""
        handlers: dict[str, Callable[[Message], None]] = {
            "SlaveRegisteredMessage": self._registered,
            "SlaveReregisteredMessage": self._registered_again,
            "PingSlaveMessage": self._ping,
            "RunTaskMessage": self._run_task,
            "RunTaskGroupMessage": self._run_group,
            "KillTaskMessage": self._kill_task,
            "StatusUpdateAcknowledgementMessage": self._acknowledged,
            "CheckpointResourcesMessage": self._store_resources,
            "ShutdownFrameworkMessage": self._end_framework,
            "ShutdownExecutorMessage": self._end_executor,
            "UpdateFrameworkMessage": self._framework_returned,
            "DrainSlaveMessage": self._drain,
            "ShutdownMessage": self._shut_down,
        }
        handler = handlers.get(name)
        if handler is not None:
            handler(message)

    def _registered(self, message: Message) -> None:
        self._agent_id = message["slave_id"]["value"]
        self._files.save_agent_id(self._agent_id)
        self._log(f"registered as {self._agent_id}")

    def _registered_again(self, message: Message) -> None:
        self._log(f"registered again as {message['slave_id']['value']}")
        for stream in self._streams.values():
            stream.resend()

    def _framework_returned(self, message: Message) -> None:
        """A framework has subscribed again: what it has not acknowledged is sent at once."""
        for key, stream in self._streams.items():
            if key[0] == message["framework_id"]["value"]:
                stream.resend()

    def _ping(self, message: Message) -> None:
        del message
        self._start(self._post("PongSlaveMessage", {}))

    def _run_task(self, message: Message) -> None:
        self._launch(message["framework"], message["task"])

    def _run_group(self, message: Message) -> None:
        group = message["executor"]["executor_id"]["value"]
        for task in message["task_group"].get("tasks", ()):
            self._launch(message["framework"], task, group)

    def _kill_task(self, message: Message) -> None:
        key = message["framework_id"]["value"], message["task_id"]["value"]
        run = self._runs.get(key)
        if run is not None:
            policy = message.get("kill_policy", {}).get("grace_period")
            run.kill(None if policy is None else policy["nanoseconds"] / 1e9)

    def _acknowledged(self, message: Message) -> None:
        key = message["framework_id"]["value"], message["task_id"]["value"]
        stream = self._streams.get(key)
        if stream is not None:
            stream.acknowledge(message["uuid"])

    def _store_resources(self, message: Message) -> None:
        self._files.save_resources(message.get("resources", []))

    def _end_framework(self, message: Message) -> None:
        self._kill_where(lambda record: record.framework_id == message["framework_id"]["value"])

    def _end_executor(self, message: Message) -> None:
        executor = message["executor_id"]["value"]
        self._kill_where(lambda record: executor in (record.group, record.task_id))

    def _drain(self, message: Message) -> None:
        grace = message["config"].get("max_grace_period", {}).get("nanoseconds")
        self._kill_where(lambda _: True, None if grace is None else grace / 1e9)

    def _shut_down(self, message: Message) -> None:
        """The master does not want this agent: its tasks end, and it starts as a new one."""
        self._log(f"shut down by the master: {message.get('message', '')}")
        self._kill_where(lambda _: True)
        self._agent_id = None
        self._files.forget_agent()

    def _launch(self, framework: Message, task: Message, group: str = "") -> None:
        key = framework["id"]["value"], task["task_id"]["value"]
        if key in self._records:
            return
        record = TaskRecord(key[0], framework, task, group)
        self._files.save(record)
        self._follow(record)
        if not group and "executor" in task:
            text = "This agent runs commands; it has no executor API"
            reason = "REASON_EXECUTOR_REGISTRATION_TIMEOUT"
            self._report(record, RunStatus("TASK_FAILED", text, reason))

    def _follow(self, record: TaskRecord) -> None:
        """Run a task, or follow one that runs, and send its updates."""
        key = record.framework_id, record.task_id
        self._records[key] = record
        self._streams[key] = UpdateStream(record, self._files, self._post)
        self._start(self._send_updates(key))
        if record.state not in TERMINAL and (record.group or "executor" not in record.task):
            self._runs[key] = TaskRun(record, self._files, self._report)
            self._start(self._run(key))

    async def _run(self, key: Key) -> None:
        await self._runs[key].run()
        del self._runs[key]
        record = self._records[key]
        if record.group and record.state != "TASK_FINISHED":
            self._kill_where(lambda each: each.group == record.group)
        left = [each for each in self._runs if self._records[each].group == record.group]
        if record.group and not left:
            await self._group_ended(record)

    async def _group_ended(self, record: TaskRecord) -> None:
        message = {
            "slave_id": {"value": self._agent_id},
            "framework_id": {"value": record.framework_id},
            "executor_id": {"value": record.group},
            "status": 0,
        }
        await self._post("ExitedExecutorMessage", message)

    async def _send_updates(self, key: Key) -> None:
        await self._streams[key].run()
        self._streams.pop(key, None)
        self._records.pop(key, None)

    def _report(self, record: TaskRecord, status: RunStatus) -> None:
        update = self._writer.update(record, self._agent_id or "", status)
        self._streams[record.framework_id, record.task_id].add(update)

    def _kill_where(self, chosen: Callable[[TaskRecord], bool], grace: float | None = None) -> None:
        for key, run in list(self._runs.items()):
            if chosen(self._records[key]):
                run.kill(grace)

    async def _post(self, name: str, message: dict[str, Any]) -> None:
        """Send a message; what the master cannot take now is sent again by its owner."""
        try:
            await self._client.post(name, message)
        except (OSError, MasterError, TimeoutError) as error:
            self._log(f"{name} was not sent: {error}")

    def _start(self, job: Any) -> None:
        task = asyncio.get_running_loop().create_task(job)
        self._jobs.add(task)
        task.add_done_callback(self._jobs.discard)


def _reported(record: TaskRecord) -> Message:
    """The Task message of a task that the agent has."""
    message = task_message(record.task, record.framework_id) | {"state": record.state}
    if record.updates:
        first = record.updates[0]
        message["status_update_state"] = first["status"]["state"]
        message["status_update_uuid"] = first["uuid"]
    if not record.group:
        message.pop("executor_id", None)
    return message
