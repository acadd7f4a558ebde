"""Run of a task that the agent starts itself: its process, states, health and end."""

import asyncio
import math
from collections.abc import Callable
from contextlib import suppress
from typing import Final

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
from stretto.agent.tasks.probing import checks, health
from stretto.agent.tasks.probing.probes import ProbeSite
from stretto.agent.tasks.records import TaskFiles, TaskRecord
from stretto.agent.tasks.status import RunStatus, Source
from stretto.offers.messages.schema import Message

GRACE: Final = 3.0
"""Seconds between SIGTERM and SIGKILL if there is no kill policy, as in Mesos."""
NANO: Final = 1e9
LATE: Final = "REASON_MAX_COMPLETION_TIME_REACHED"
"""Reason of a task that ran too long."""

Report = Callable[[TaskRecord, RunStatus], None]
"""Called with each state of a task."""


class RunTools(msgspec.Struct, frozen=True):
    """Dependencies of the tasks of an agent."""

    #: Files of tasks.
    files: TaskFiles
    #: Tools of containers.
    containers: ContainerTools


class TaskRun:
    """Run of one task: it starts the process, or follows a running one."""

    def __init__(self, record: TaskRecord, tools: RunTools, report: Report) -> None:
        """Prepare a run; `run` starts it."""
        #: The task.
        self.record: Final = record
        self._files = tools.files
        self._tell = report
        self._unhealthy = False
        check = record.task.get("check")
        #: The CheckStatusInfo of each following state.
        self._checked = None if check is None else checks.empty_status(check)
        process = ContainerProcess(record.pid, record.started) if record.pid else None
        self._spec = _spec(record, tools.files)
        self._container = TaskContainer(self._spec, tools.containers, process)

    async def run(self) -> None:
        """Start the process unless it runs, wait for its end, and report all states."""
        if self.record.stopping is not None:
            self._container.stop(self._grace)
        if not self._container.is_running and not await self._start():
            return
        self._report_start()
        watches = (self._watch_health(), self._watch_check(), self._limit_time())
        end = await self._container.ended()
        for each in watches:
            if each is not None:
                each.cancel()
        self._report(self.record, self._end(end))

    def kill(self, grace: float | None = None, reason: str = "") -> None:
        """Stop the task: send SIGTERM, and SIGKILL after a grace period in seconds."""
        if self.record.stopping is not None:
            return
        self.record.stop(reason)
        with suppress(OSError):  # on a full disk a restarted agent sees a failed task
            self._files.records.save(self.record)
        if self._container.is_running and self.record.has("TASK_KILLING_STATE"):
            self._report(self.record, RunStatus("TASK_KILLING", reason=reason))
        self._container.stop(self._grace if grace is None else grace)

    def _report(self, record: TaskRecord, status: RunStatus) -> None:
        """Report a state, with the last result of the check."""
        self._tell(record, status._replace(check=self._checked))

    @property
    def _grace(self) -> float:
        """Grace period in seconds of the task's kill policy."""
        policy = self.record.task.get("kill_policy", {}).get("grace_period", {})
        return float(policy.get("nanoseconds", GRACE * NANO) / NANO)

    async def _start(self) -> bool:
        """Start the process; report a failure."""
        record = self.record
        try:
            process = await self._container.launch()
        except LaunchError as error:
            self._report(record, self._not_started(str(error)))
            return False
        try:
            record.run_as(process.pid, process.started)
            self._files.records.save(record)
        except OSError as error:
            self._container.stop(0.0)
            await self._container.ended()
            text = f"Failed to store the task: {error.strerror or error}"
            self._report(record, RunStatus("TASK_FAILED", text, LAUNCH_FAILED))
            return False
        return True

    def _report_start(self) -> None:
        """Report the start if the previous agent was killed before it reported it."""
        state = self.record.state
        if state == "TASK_STAGING":
            self._report(self.record, RunStatus("TASK_STARTING"))
        if state in ("TASK_STAGING", "TASK_STARTING"):
            self._report(self.record, RunStatus("TASK_RUNNING"))

    def _not_started(self, why: str) -> RunStatus:
        if self.record.stopping is not None:
            text, reason = "Killed before its start", "REASON_TASK_KILLED_DURING_LAUNCH"
            return RunStatus("TASK_KILLED", text, reason, source=Source.AGENT)
        text = f"Failed to launch container: {why}"
        return RunStatus("TASK_FAILED", text, LAUNCH_FAILED, source=Source.AGENT)

    def _limit_time(self) -> asyncio.TimerHandle | None:
        limit = self.record.task.get("max_completion_time", {}).get("nanoseconds", 0) / NANO
        if not limit:
            return None
        loop = asyncio.get_running_loop()
        return loop.call_later(limit, self.kill, 0.0, LATE)

    def _watch_health(self) -> asyncio.Task[None] | None:
        check = self.record.task.get("health_check")
        if check is None:
            return None

        def report(good: bool) -> None:
            text = "" if good else "The health check has failed"
            reason = "REASON_TASK_HEALTH_CHECK_STATUS_UPDATED"
            self._report(self.record, RunStatus("TASK_RUNNING", text, reason, good))

        async def watch() -> None:
            await health.watch(check, self._site(), report)
            self._unhealthy = True
            self.kill()

        return asyncio.get_running_loop().create_task(watch())

    def _watch_check(self) -> asyncio.Task[None] | None:
        check = self.record.task.get("check")
        if check is None:
            return None

        def report(status: Message) -> None:
            self._checked = status
            reason = "REASON_TASK_CHECK_STATUS_UPDATED"
            self._report(self.record, RunStatus("TASK_RUNNING", reason=reason))

        return asyncio.get_running_loop().create_task(checks.watch(check, self._site(), report))

    def _site(self) -> ProbeSite:
        """Environment of the checks' commands: the sandbox, and the user of the task."""
        spec = self._spec
        return ProbeSite(spec.sandbox, spec.variables, spec.command.get("user", ""))

    def _end(self, end: ContainerEnd) -> RunStatus:
        """The final state, from the exit status and the reason of the stop."""
        if end.memory is not None:
            exceeded = () if end.memory.limit is None else (("mem", end.memory.limit / (1 << 20)),)
            return RunStatus("TASK_FAILED", end.text, MEMORY, exceeded=exceeded)
        if self._unhealthy:
            return RunStatus("TASK_KILLED", "The task was unhealthy", healthy=False)
        if self.record.stopping == LATE:
            return RunStatus("TASK_FAILED", "The task ran too long", LATE)
        if self.record.stopping is not None:
            return RunStatus("TASK_KILLED", "The task was killed", self.record.stopping)
        text = f"Command {end.text}"
        if end.code == 0:
            return RunStatus("TASK_FINISHED", text)
        return RunStatus("TASK_FAILED", text, "REASON_COMMAND_EXECUTOR_FAILED")


def _spec(record: TaskRecord, files: TaskFiles) -> ContainerSpec:
    sandbox = str(files.sandbox(record))
    return ContainerSpec(
        f"{record.framework_id}.{record.task_id}",
        files.records.place(record),
        record.task.get("command", {}),
        {
            "MESOS_FRAMEWORK_ID": record.framework_id,
            "MESOS_EXECUTOR_ID": record.executor_id or record.task_id,
            "MESOS_TASK_ID": record.task_id,
            "MESOS_SANDBOX": sandbox,
            "MESOS_DIRECTORY": sandbox,
        },
        record.task.get("container", {}),
        tuple(record.task.get("resources", ())),
        task_limits(record.task),
    )


def task_limits(task: Message) -> dict[str, float]:
    """The limits of a task by resource; infinite: no limit."""
    return {
        name: float(each.get("value", math.inf)) for name, each in task.get("limits", {}).items()
    }
