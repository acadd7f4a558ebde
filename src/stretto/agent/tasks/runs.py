"""One task: its process, its states, its health and its end."""

import asyncio
import signal
from collections.abc import Callable
from contextlib import suppress
from typing import Final, NamedTuple

from stretto.agent.tasks import health, processes
from stretto.agent.tasks.records import TaskFiles, TaskRecord
from stretto.offers.messages.schema import Message

GRACE: Final = 3.0
"""Seconds between SIGTERM and SIGKILL without a kill policy, as in Mesos."""
POLL: Final = 0.05
"""Seconds between two looks at a process."""
NANO: Final = 1e9


class RunStatus(NamedTuple):
    """A state that a task reaches."""

    #: The state.
    state: str
    #: Text for people.
    message: str = ""
    #: Reason, such as REASON_COMMAND_EXECUTOR_FAILED.
    reason: str = ""
    #: Health, if the task has a check.
    healthy: bool | None = None


Report = Callable[[TaskRecord, RunStatus], None]
"""Is called with each state of a task."""


class TaskRun:
    """Runs one command task, or follows one that runs already."""

    def __init__(self, record: TaskRecord, files: TaskFiles, report: Report) -> None:
        """Prepare a run; `run` starts it."""
        self._record = record
        self._files = files
        self._report = report
        self._killed = ""
        self._kill: asyncio.Task[None] | None = None
        self._unhealthy = False

    async def run(self) -> None:
        """Start the process unless it runs, wait for its end, and report all states."""
        record = self._record
        command = record.task.get("command", {})
        env = self._environment()
        if not record.pid:
            if not self._start(command, env):
                return
            self._report(record, RunStatus("TASK_STARTING"))
            self._report(record, RunStatus("TASK_RUNNING"))
        watch = self._watch_health(env)
        limit = record.task.get("max_completion_time", {}).get("nanoseconds", 0) / NANO
        late = asyncio.get_running_loop().time() + limit
        while record.started and processes.start_time(record.pid) == record.started:
            await asyncio.sleep(POLL)
            if limit and asyncio.get_running_loop().time() > late:
                limit = 0.0
                self.kill(0.0, "REASON_MAX_COMPLETION_TIME_REACHED")
        processes.reap(record.pid)
        for each in (watch, self._kill):
            if each is not None:
                each.cancel()
        processes.send(record.pid, signal.SIGKILL)
        self._report(record, self._end())

    def kill(self, grace: float | None = None, reason: str = "") -> None:
        """Stop the task: SIGTERM, and SIGKILL after a grace period in seconds."""
        if self._killed:
            return
        self._killed = reason or "REASON_TASK_KILLED_BY_REQUEST"
        capabilities = {each.get("type") for each in self._record.framework.get("capabilities", ())}
        if "TASK_KILLING_STATE" in capabilities:
            self._report(self._record, RunStatus("TASK_KILLING"))
        policy = self._record.task.get("kill_policy", {}).get("grace_period", {})
        own = policy.get("nanoseconds", GRACE * NANO) / NANO
        self._kill = asyncio.get_running_loop().create_task(
            self._escalate(own if grace is None else grace)
        )

    async def _escalate(self, grace: float) -> None:
        processes.send(self._record.pid, signal.SIGTERM)
        with suppress(asyncio.CancelledError):
            await asyncio.sleep(grace)
            processes.send(self._record.pid, signal.SIGKILL)

    def _start(self, command: Message, env: dict[str, str]) -> bool:
        """Start the process; a failure is reported."""
        record = self._record
        try:
            sandbox = self._files.sandbox(record)
            sandbox.mkdir(parents=True, exist_ok=True)
            line = processes.command_line(command)
            environment = processes.environment(command, env)
            pid = processes.start(line, environment, sandbox, self._files.exit_file(record))
            record.run_as(pid, processes.start_time(pid))
            self._files.save(record)
        except OSError as error:
            text = f"Failed to start the task: {error}"
            status = RunStatus("TASK_FAILED", text, "REASON_CONTAINER_LAUNCH_FAILED")
            self._report(record, status)
            return False
        return True

    def _environment(self) -> dict[str, str]:
        record = self._record
        return {
            "MESOS_FRAMEWORK_ID": record.framework_id,
            "MESOS_EXECUTOR_ID": record.task_id,
            "MESOS_TASK_ID": record.task_id,
            "MESOS_SANDBOX": str(self._files.sandbox(record)),
            "MESOS_DIRECTORY": str(self._files.sandbox(record)),
        }

    def _watch_health(self, env: dict[str, str]) -> asyncio.Task[None] | None:
        check = self._record.task.get("health_check")
        if check is None:
            return None

        def report(good: bool) -> None:
            text = "" if good else "The health check has failed"
            reason = "REASON_TASK_HEALTH_CHECK_STATUS_UPDATED"
            self._report(self._record, RunStatus("TASK_RUNNING", text, reason, good))

        async def watch() -> None:
            await health.watch(check, env, report)
            self._unhealthy = True
            self.kill()

        return asyncio.get_running_loop().create_task(watch())

    def _end(self) -> RunStatus:
        """The last state, from the exit status and from what stopped the task."""
        code = processes.exit_status(self._files.exit_file(self._record))
        if self._unhealthy:
            return RunStatus("TASK_KILLED", "The task was unhealthy", healthy=False)
        if self._killed == "REASON_MAX_COMPLETION_TIME_REACHED":
            return RunStatus("TASK_FAILED", "The task ran too long", self._killed)
        if self._killed:
            return RunStatus("TASK_KILLED", "The task was killed", self._killed)
        if code == 0:
            return RunStatus("TASK_FINISHED", "Command exited with status 0")
        text = (
            "Command ended without a status"
            if code is None
            else f"Command exited with status {code}"
        )
        return RunStatus("TASK_FAILED", text, "REASON_COMMAND_EXECUTOR_FAILED")
