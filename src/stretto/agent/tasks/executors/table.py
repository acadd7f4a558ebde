"""The executors of an agent: started for their first task, subscribed, stopped and ended.

A task waits until its executor has subscribed. An executor that does not subscribe in time is
stopped. When an executor ends, its unfinished tasks fail.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from typing import Final, NamedTuple

import msgspec

from stretto.agent.tasks.containers.container import (
    LAUNCH_FAILED,
    MEMORY,
    ContainerEnd,
    ContainerProcess,
    ContainerSpec,
    ContainerTools,
    LaunchError,
    TaskContainer,
)
from stretto.agent.tasks.containers.volumes import VolumeError
from stretto.agent.tasks.executors.environment import (
    AgentAddress,
    ExecutorTimes,
    duration,
    grace,
    variables,
)
from stretto.agent.tasks.executors.executor import Executor, ExecutorPhase
from stretto.agent.tasks.executors.records import ExecutorRecord, ExecutorRecords
from stretto.agent.tasks.jobs import Jobs
from stretto.agent.tasks.ledger import TaskLedger
from stretto.agent.tasks.records import Key, TaskRecord
from stretto.agent.tasks.status import RunStatus, Source
from stretto.base.rng import Rng
from stretto.base.tokens import new_token
from stretto.offers.messages.schema import Message

TERMINATED: Final = "REASON_EXECUTOR_TERMINATED"
"""Reason of tasks whose executor has ended."""

ExecutorEnded = Callable[[Key, int], Awaitable[None]]
"""Called with an executor that has ended, and its wait status."""


class SubscriptionWait(NamedTuple):
    """Time limit of an executor to subscribe."""

    #: Selects the limit in seconds.
    seconds: Callable[[ExecutorTimes], float]
    #: Reason of its tasks after the limit.
    reason: str
    #: Verb of the missing action, for the message.
    verb: str


REGISTRATION: Final = SubscriptionWait(
    lambda times: times.registration, "REASON_EXECUTOR_REGISTRATION_TIMEOUT", "register"
)
"""Limit after the start of the executor."""
REREGISTRATION: Final = SubscriptionWait(
    lambda times: times.reregistration, "REASON_EXECUTOR_REREGISTRATION_TIMEOUT", "reregister"
)
"""Limit after a restart of the agent."""


class ExecutorTools(msgspec.Struct, frozen=True):
    """Dependencies of executors."""

    #: Records of executors.
    records: ExecutorRecords
    #: Tools of containers.
    containers: ContainerTools
    #: Time limits.
    times: ExecutorTimes
    #: Address of the agent for executors.
    address: AgentAddress
    #: Source of container ids.
    rng: Rng
    #: True if an executor must send its token.
    authenticate: bool = False


class Executors:
    """All executors that have not ended."""

    def __init__(
        self, ledger: TaskLedger, tools: ExecutorTools, jobs: Jobs, ended: ExecutorEnded
    ) -> None:
        """Run the tasks of a ledger that have an executor."""
        self._ledger = ledger
        self._tools = tools
        self._jobs = jobs
        self._ended = ended
        self._executors: dict[Key, Executor] = {}

    def __iter__(self) -> Iterator[Executor]:
        return iter(list(self._executors.values()))

    def get(self, key: Key) -> Executor | None:
        """Return an executor; ``None`` if it is unknown."""
        return self._executors.get(key)

    def recover(self) -> None:
        """Follow the executors that an earlier run of the agent has started.

        An executor is stored before its process starts. If the executor of an undelivered task is
        not stored, it never started and is started now.
        """
        for record in self._tools.records.all():
            process = ContainerProcess(record.pid, record.started) if record.pid else None
            tasks = self._ledger.of_executor(record.key)
            self._follow(record, tasks[0].agent_id if tasks else "", process)
        for task in self._ledger:
            key = task.framework_id, task.executor_id
            if not task.is_custom or not task.is_active or key in self._executors:
                continue
            if task.delivered:
                text = "The executor has ended while the agent was not running"
                self._fail(task, "TASK_FAILED", TERMINATED, text)
            else:
                self._start(task)

    def launch(self, tasks: list[TaskRecord], may_start: bool) -> None:
        """Run stored tasks of one executor; several tasks are a group."""
        first = tasks[0]
        key = first.framework_id, first.executor_id
        executor = self._executors.get(key)
        why = ""
        if executor is not None and executor.phase is ExecutorPhase.TERMINATING:
            why = "The executor is terminating"
        elif executor is None and not may_start:
            why = "No executor is expected to launch and there is no executor running"
        if why:
            for task in tasks:
                self._fail(task, _dropped(task), TERMINATED, why)
            return
        if executor is None:
            executor = self._start(first)
        self._resize(executor)
        self._deliver(executor)

    def kill(self, task: TaskRecord, policy: Message | None) -> None:
        """Kill a task; a task that its executor has not received ends at once, with its group."""
        executor = self._executors.get((task.framework_id, task.executor_id))
        if executor is None:
            return
        if task.delivered:
            executor.kill(task, policy)
            return
        group = task.group or (task.task_id,)
        for each in self._ledger.of_executor(executor.record.key):
            if each.task_id in group:
                text, reason = "Killed before delivery", "REASON_TASK_KILLED_DURING_LAUNCH"
                self._fail(each, "TASK_KILLED", reason, text)
        if executor.phase is ExecutorPhase.REGISTERING and not self._tasks(executor):
            self.shutdown(executor)

    def shutdown(self, executor: Executor, after: float | None = None) -> None:
        """Stop an executor: send SHUTDOWN, and SIGKILL after its grace period in seconds."""
        if executor.shutdown():
            own = grace(executor.record, self._tools.times)
            executor.container.kill_after(own if after is None else after)

    def subscribed(self, executor: Executor, known: frozenset[str]) -> None:
        """Handle the subscription of an executor; ``known``: its tasks without an update."""
        for task in self._tasks(executor):
            if task.delivered and task.state == "TASK_STAGING" and task.task_id not in known:
                text = "The executor did not receive the task"
                self._fail(task, _dropped(task), "REASON_AGENT_RESTARTED", text)
        executor.send_kills(self._tasks(executor))
        self._deliver(executor)

    def _tasks(self, executor: Executor) -> list[TaskRecord]:
        return self._ledger.of_executor(executor.record.key)

    def _start(self, task: TaskRecord) -> Executor:
        info = {"framework_id": {"value": task.framework_id}} | task.task["executor"]
        token = new_token() if self._tools.authenticate else ""
        record = ExecutorRecord(task.framework, info, self._tools.rng.uid(), token)
        return self._follow(record, task.agent_id, None)

    def _follow(
        self, record: ExecutorRecord, agent_id: str, process: ContainerProcess | None
    ) -> Executor:
        tools = self._tools
        place = tools.records.place(record)
        spec = ContainerSpec(
            record.container_id,
            place,
            record.info.get("command", {}),
            variables(record, agent_id, place / "sandbox", tools.address, tools.times),
            record.info.get("container", {}),
            tuple(record.info.get("resources", ())),
        )
        executor = Executor(record, TaskContainer(spec, tools.containers, process))
        self._executors[record.key] = executor
        self._jobs.start(self._run(executor))
        return executor

    def _deliver(self, executor: Executor) -> None:
        """Send the tasks that wait for an executor, if it has a stream."""
        if not executor.is_connected or executor.phase is not ExecutorPhase.RUNNING:
            return
        waiting: dict[tuple[str, ...], list[TaskRecord]] = {}
        for task in self._tasks(executor):
            if not task.delivered:
                waiting.setdefault(task.group or (task.task_id,), []).append(task)
        for tasks in waiting.values():
            try:
                self._ledger.deliver(tasks)
            except OSError as error:
                text = f"Failed to store the task: {error.strerror or error}"
                for task in tasks:
                    self._fail(task, "TASK_FAILED", LAUNCH_FAILED, text)
                continue
            executor.launch(tasks)

    def _resize(self, executor: Executor) -> None:
        """Set the limits of the container to the resources of the executor and its tasks."""
        tasks = self._tasks(executor)
        resources = list(executor.record.info.get("resources", ()))
        for task in tasks:
            resources += task.task.get("resources", ())
        try:
            executor.container.resize(tuple(resources))
        except (OSError, VolumeError) as error:
            for task in tasks:
                if not task.delivered:
                    text = f"Failed to add the task's resources to the executor: {error}"
                    self._fail(task, "TASK_FAILED", "REASON_CONTAINER_UPDATE_FAILED", text)

    async def _run(self, executor: Executor) -> None:
        wait, end = REREGISTRATION, ContainerEnd(None)
        try:
            if not executor.container.is_running:
                wait = REGISTRATION
                await self._launch(executor)
            self._resize(executor)
            seconds = wait.seconds(self._tools.times)
            timer = asyncio.get_running_loop().call_later(seconds, self._expire, executor, wait)
            end = await executor.container.ended()
            timer.cancel()
        except (LaunchError, OSError) as error:
            executor.shutdown(LAUNCH_FAILED, f"Failed to launch container: {error}")
        await self._finish(executor, end)

    async def _launch(self, executor: Executor) -> None:
        """Start the process of an executor.

        Raises:
            LaunchError: the process cannot be started.
            OSError: the executor cannot be stored; its files are removed.
        """
        self._tools.records.save(executor.record)
        process = await executor.container.launch()
        executor.record.run_as(process.pid, process.started)
        try:
            self._tools.records.save(executor.record)
        except OSError:
            executor.container.kill_after(0.0)
            await executor.container.ended()
            raise

    def _expire(self, executor: Executor, wait: SubscriptionWait) -> None:
        """Stop an executor that has not subscribed in time."""
        if executor.phase is not ExecutorPhase.REGISTERING:
            return
        limit = duration(wait.seconds(self._tools.times))
        executor.shutdown(wait.reason, f"Executor did not {wait.verb} within {limit}")
        executor.container.kill_after(0.0)

    async def _finish(self, executor: Executor, end: ContainerEnd) -> None:
        """Fail the tasks of an executor that has ended, and report its end."""
        reason, text = executor.stopped
        if end.memory is not None:
            reason = MEMORY
        text = text or (end.text if end.memory is not None else f"Executor {end.text}")
        for task in self._tasks(executor):
            self._fail(task, "TASK_FAILED", reason or TERMINATED, text)
        executor.close()
        self._executors.pop(executor.record.key, None)
        self._tools.records.forget(executor.record)
        await self._ended(executor.record.key, end.wait_status)

    def _fail(self, task: TaskRecord, state: str, reason: str, text: str) -> None:
        self._ledger.report(task, RunStatus(state, text, reason, source=Source.AGENT))


def _dropped(task: TaskRecord) -> str:
    """The final state of a task that was never started."""
    return "TASK_DROPPED" if task.has("PARTITION_AWARE") else "TASK_LOST"
