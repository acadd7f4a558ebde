"""Tasks and executors of an agent, and the messages of the master about them."""

from collections.abc import Callable
from typing import Any

from stretto.agent.tasks.commands import CommandTasks
from stretto.agent.tasks.executors.table import Executors
from stretto.agent.tasks.ledger import TaskLedger
from stretto.agent.tasks.records import TaskFiles, TaskRecord
from stretto.offers.master.state.tasks import task_message
from stretto.offers.messages.schema import Message


class AgentWork:
    """All tasks and executors of an agent."""

    def __init__(
        self, files: TaskFiles, ledger: TaskLedger, commands: CommandTasks, executors: Executors
    ) -> None:
        """Combine the parts that run tasks."""
        self._files = files
        self._ledger = ledger
        self._commands = commands
        self._executors = executors

    def recover(self) -> None:
        """Follow all tasks and executors that an earlier run of the agent has stored."""
        for record in self._files.records.all():
            self._ledger.follow(record)
            if record.is_active and not record.is_custom:
                self._commands.run(record)
        self._executors.recover()

    def report(self) -> Message:
        """Frameworks, tasks and executors for the re-registration of an agent with an id."""
        frameworks = {each.framework_id: each.framework for each in self._ledger}
        frameworks |= {each.record.key[0]: each.record.framework for each in self._executors}
        executors = [each.record.info for each in self._executors]
        return {
            "frameworks": list(frameworks.values()),
            "tasks": [_reported(each) for each in self._ledger],
            "executor_infos": executors + list(self._commands.executors()),
        }

    def handle(self, name: str, message: Message) -> None:
        """Handle one message of the master; ignore unknown messages."""
        handlers: dict[str, Callable[[Message], None]] = {
            "RunTaskMessage": self._run_task,
            "RunTaskGroupMessage": self._run_group,
            "KillTaskMessage": self._kill_task,
            "StatusUpdateAcknowledgementMessage": self._acknowledged,
            "FrameworkToExecutorMessage": self._message,
            "ShutdownFrameworkMessage": self._end_framework,
            "ShutdownExecutorMessage": self._end_executor,
            "UpdateFrameworkMessage": self._framework_returned,
            "DrainSlaveMessage": self._drain,
        }
        handler = handlers.get(name)
        if handler is not None:
            handler(message)

    def resend(self) -> None:
        """Send all unacknowledged updates again."""
        self._ledger.resend()

    def end_all(self) -> None:
        """Kill all tasks and stop all executors."""
        self._commands.kill_where(lambda _: True)
        for each in self._executors:
            self._executors.shutdown(each)

    def _run_task(self, message: Message) -> None:
        self._launch(message, [message["task"]], ())

    def _run_group(self, message: Message) -> None:
        tasks = [
            {"executor": message["executor"]} | each
            for each in message["task_group"].get("tasks", ())
        ]
        self._launch(message, tasks, tuple(each["task_id"]["value"] for each in tasks))

    def _launch(self, message: Message, tasks: list[Message], group: tuple[str, ...]) -> None:
        framework = message["framework"]
        records = [TaskRecord(framework["id"]["value"], framework, each, group) for each in tasks]
        new = [each for each in records if self._ledger.get(each.key) is None]
        stored = [each for each in new if self._ledger.add(each)]
        for record in stored:
            if not record.is_custom:
                self._commands.run(record)
        custom = [each for each in stored if each.is_custom]
        if custom:
            self._executors.launch(custom, message.get("launch_executor", True))

    def _kill_task(self, message: Message) -> None:
        record = self._ledger.get((message["framework_id"]["value"], message["task_id"]["value"]))
        if record is None:
            return
        policy = message.get("kill_policy")
        if record.is_custom:
            self._executors.kill(record, policy)
            return
        grace = (policy or {}).get("grace_period")
        self._commands.kill(record.key, None if grace is None else grace["nanoseconds"] / 1e9)

    def _acknowledged(self, message: Message) -> None:
        key = message["framework_id"]["value"], message["task_id"]["value"]
        self._ledger.acknowledge(key, message["uuid"])

    def _message(self, message: Message) -> None:
        executor = self._executors.get(_executor(message))
        if executor is not None:
            executor.message(message["data"])

    def _framework_returned(self, message: Message) -> None:
        """Send all unacknowledged updates of a framework that has subscribed again."""
        self._ledger.resend(message["framework_id"]["value"])

    def _end_framework(self, message: Message) -> None:
        framework_id = message["framework_id"]["value"]
        self._commands.kill_where(lambda record: record.framework_id == framework_id)
        for each in self._executors:
            if each.record.key[0] == framework_id:
                self._executors.shutdown(each)

    def _end_executor(self, message: Message) -> None:
        framework_id, executor_id = key = _executor(message)
        executor = self._executors.get(key)
        if executor is not None:
            self._executors.shutdown(executor)
        self._commands.kill_where(
            lambda record: (
                record.framework_id == framework_id
                and executor_id in (record.executor_id, record.task_id)
            )
        )

    def _drain(self, message: Message) -> None:
        """Kill all tasks; the operator limits their grace period."""
        limit = message["config"].get("max_grace_period")
        grace = None if limit is None else limit["nanoseconds"] / 1e9
        self._commands.kill_where(lambda _: True, grace, "REASON_AGENT_DRAINING")
        policy = None if limit is None else {"grace_period": limit}
        for record in self._ledger:
            if record.is_custom and record.is_active:
                self._executors.kill(record, policy)


def _executor(message: dict[str, Any]) -> tuple[str, str]:
    return message["framework_id"]["value"], message["executor_id"]["value"]


def _reported(record: TaskRecord) -> Message:
    """The Task message of a task on this agent."""
    message = task_message(record.task, record.framework_id) | {"state": record.state}
    if record.updates:
        first = record.updates[0]
        message["status_update_state"] = first["status"]["state"]
        message["status_update_uuid"] = first["uuid"]
    return message
