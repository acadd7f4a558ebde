"""Groups of tasks under the default executor, which the agent plays itself."""

import asyncio
from pathlib import Path
from typing import Any

from stretto.agent.tasks.commands import CommandTasks
from stretto.agent.tasks.containers.container import ContainerTools
from stretto.agent.tasks.containers.fetcher import Fetcher
from stretto.agent.tasks.containers.volumes import Volumes
from stretto.agent.tasks.jobs import Jobs
from stretto.agent.tasks.ledger import TaskLedger
from stretto.agent.tasks.records import Key, TaskFiles, TaskRecord
from stretto.agent.tasks.runs import RunTools
from stretto.agent.tasks.updates import UpdateWriter
from stretto.base.clock import ManualClock
from stretto.base.rng import Rng


def record(name: str, command: str, *group: str) -> TaskRecord:
    """A task of a group under the executor ``e``."""
    task = {"name": name, "task_id": {"value": name}, "agent_id": {"value": "a"}}
    task |= {"command": {"value": command}, "executor": {"executor_id": {"value": "e"}}}
    return TaskRecord("f", {"id": {"value": "f"}, "capabilities": []}, task, group)


def play(tmp_path: Path, *records: TaskRecord, kill: str = "") -> tuple[dict[str, str], list[Key]]:
    """Run tasks to their ends; their last states, and the executors that have ended."""
    ended: list[Key] = []

    async def post(_name: str, _message: dict[str, Any]) -> None:
        """No master acknowledges."""

    async def note(executor: Key, _status: int) -> None:
        ended.append(executor)

    async def main() -> None:
        jobs, files = Jobs(print), TaskFiles(tmp_path)
        ledger = TaskLedger(files, UpdateWriter(ManualClock().now, Rng(1)), post, jobs)
        tools = RunTools(files, ContainerTools(Fetcher(), Volumes(tmp_path)))
        tasks = CommandTasks(ledger, tools, jobs, note)
        for each in records:
            ledger.add(each)
            tasks.run(each)
        await asyncio.sleep(0.2)
        tasks.kill(("f", kill), 0.1)
        async with asyncio.timeout(10):
            while not ended:  # noqa: ASYNC110  (real processes)
                await asyncio.sleep(0.01)

    asyncio.run(main())
    return {each.task_id: each.state for each in records}, ended


def test_a_failed_task_ends_its_group_and_no_other_one_of_its_executor(tmp_path: Path) -> None:
    group, other = ("a", "b"), ("c",)
    tasks = record("a", "exit 1", *group), record("b", "exec sleep 60", *group)
    states, ended = play(tmp_path, *tasks, record("c", "sleep 1", *other))
    assert states == {"a": "TASK_FAILED", "b": "TASK_KILLED", "c": "TASK_FINISHED"}
    assert ended == [("f", "e")]


def test_a_killed_task_ends_its_group(tmp_path: Path) -> None:
    tasks = record("a", "exec sleep 60", "a", "b"), record("b", "exec sleep 60", "a", "b")
    states, _ = play(tmp_path, *tasks, kill="b")
    assert states == {"a": "TASK_KILLED", "b": "TASK_KILLED"}


def test_a_finished_task_leaves_its_group_running(tmp_path: Path) -> None:
    tasks = record("a", "true", "a", "b"), record("b", "sleep 0.5", "a", "b")
    states, _ = play(tmp_path, *tasks)
    assert states == {"a": "TASK_FINISHED", "b": "TASK_FINISHED"}
