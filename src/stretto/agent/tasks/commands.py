"""Commands and default executors: tasks whose processes the agent starts itself.

A task group ends when one of its tasks fails or is killed; other groups of the executor run on. The
executor ends with its last task.
"""

from collections.abc import Awaitable, Callable, Iterator

from stretto.agent.tasks.jobs import Jobs
from stretto.agent.tasks.ledger import TaskLedger
from stretto.agent.tasks.records import Key, TaskRecord
from stretto.agent.tasks.runs import RunTools, TaskRun
from stretto.offers.messages.schema import Message

ExecutorEnded = Callable[[Key, int], Awaitable[None]]
"""Called with an executor that has ended, and its status."""


class CommandTasks:
    """The processes of tasks without an executor of their framework."""

    def __init__(
        self, ledger: TaskLedger, tools: RunTools, jobs: Jobs, ended: ExecutorEnded
    ) -> None:
        """Run tasks of a ledger; ``ended`` is called when a default executor ends."""
        self._ledger = ledger
        self._tools = tools
        self._jobs = jobs
        self._ended = ended
        self._runs: dict[Key, TaskRun] = {}

    def executors(self) -> Iterator[Message]:
        """ExecutorInfo of each running default executor."""
        found = {}
        for run in self._runs.values():
            if run.record.executor_id:
                found[_executor(run.record)] = run.record.task["executor"]
        yield from found.values()

    def run(self, record: TaskRecord) -> None:
        """Start a task, or follow a running one."""
        run = TaskRun(record, self._tools, self._ledger.report)
        self._runs[record.key] = run
        self._jobs.start(self._run(record.key, run))

    def kill(self, key: Key, grace: float | None) -> None:
        """Stop a task."""
        run = self._runs.get(key)
        if run is not None:
            run.kill(grace)

    def kill_where(
        self,
        chosen: Callable[[TaskRecord], bool],
        grace: float | None = None,
        reason: str = "",
    ) -> None:
        """Stop the tasks that ``chosen`` selects; ``reason`` is the reason of their statuses."""
        for run in list(self._runs.values()):
            if chosen(run.record):
                run.kill(grace, reason)

    async def _run(self, key: Key, run: TaskRun) -> None:
        try:
            await run.run()
        finally:
            del self._runs[key]
        record = run.record
        if not record.executor_id:
            return
        executor = _executor(record)
        if record.state != "TASK_FINISHED":
            self.kill_where(lambda each: _group(each) == _group(record))
        if all(_executor(each.record) != executor for each in self._runs.values()):
            await self._ended(executor, 0)


def _group(record: TaskRecord) -> tuple[str, tuple[str, ...]]:
    return record.framework_id, record.group or (record.task_id,)


def _executor(record: TaskRecord) -> Key:
    return record.framework_id, record.executor_id
