"""Tasks on this machine: processes, ends, recovery, updates, and the lists of the command line."""

import asyncio
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from stretto.agent.tasks import amounts
from stretto.agent.tasks.containers.container import ContainerTools
from stretto.agent.tasks.containers.fetcher import Fetcher
from stretto.agent.tasks.containers.volumes import Volumes
from stretto.agent.tasks.jobs import Jobs
from stretto.agent.tasks.ledger import TaskLedger
from stretto.agent.tasks.records import TaskFiles, TaskRecord
from stretto.agent.tasks.runs import RunTools, TaskRun
from stretto.agent.tasks.status import RunStatus
from stretto.agent.tasks.updates import UpdateStream, UpdateWriter
from stretto.base.clock import ManualClock
from stretto.base.errors import InputError
from stretto.base.rng import Rng

needs_root = pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("setpriv") is None, reason="needs root and setpriv"
)


def record(command: str, **fields: Any) -> TaskRecord:
    task = {"name": "t", "task_id": {"value": "t"}, "agent_id": {"value": "a"}}
    framework = {"id": {"value": "f"}, "capabilities": [{"type": "TASK_KILLING_STATE"}]}
    return TaskRecord("f", framework, task | {"command": {"value": command}} | fields)


def tools(tmp_path: Path) -> RunTools:
    return RunTools(TaskFiles(tmp_path), ContainerTools(Fetcher(), Volumes(tmp_path)))


def run(
    tmp_path: Path, made: TaskRecord, act: Callable[[TaskRun], None] = lambda _: None
) -> list[RunStatus]:
    seen: list[RunStatus] = []

    async def main() -> None:
        running = TaskRun(made, tools(tmp_path), lambda _, status: seen.append(status))
        job = asyncio.get_running_loop().create_task(running.run())
        await asyncio.sleep(0.1)
        act(running)
        await asyncio.wait_for(job, 10)

    asyncio.run(main())
    return seen


@pytest.mark.parametrize(
    ("command", "end"),
    [("echo hi", "TASK_FINISHED"), ("exit 3", "TASK_FAILED"), ("no-such-program", "TASK_FAILED")],
)
def test_a_command_ends_by_its_status(tmp_path: Path, command: str, end: str) -> None:
    seen = run(tmp_path, record(command))
    assert [each.state for each in seen] == ["TASK_STARTING", "TASK_RUNNING", end]


def test_a_command_runs_in_its_sandbox_with_its_environment(tmp_path: Path) -> None:
    made = record("pwd; echo $MESOS_TASK_ID $X")
    made.task["command"]["environment"] = {"variables": [{"name": "X", "value": "y"}]}
    run(tmp_path, made)
    sandbox = TaskFiles(tmp_path).sandbox(made)
    assert (sandbox / "stdout").read_text() == f"{sandbox}\nt y\n"


def test_arguments_are_passed_without_a_shell(tmp_path: Path) -> None:
    made = record("")
    command = {"shell": False, "value": "/bin/echo", "arguments": ["echo", "a  b", "$HOME"]}
    made.task["command"] = command
    run(tmp_path, made)
    assert (TaskFiles(tmp_path).sandbox(made) / "stdout").read_text() == "a  b $HOME\n"


def test_a_task_that_ignores_sigterm_is_killed_after_its_grace_period(tmp_path: Path) -> None:
    made = record("trap '' TERM; sleep 60 & wait; sleep 60")
    seen = run(tmp_path, made, lambda running: running.kill(0.1))
    assert [each.state for each in seen][2:] == ["TASK_KILLING", "TASK_KILLED"]


def test_a_restarted_agent_reads_how_a_task_ended_in_between(tmp_path: Path) -> None:
    made = record("sleep 0.3; exit 7")

    async def start_only() -> None:
        job = asyncio.get_running_loop().create_task(
            TaskRun(made, tools(tmp_path), lambda *_: None).run()
        )
        await asyncio.sleep(0.1)
        job.cancel()

    asyncio.run(start_only())
    (stored,) = TaskFiles(tmp_path).records.all()
    assert run(tmp_path, stored)[-1].message == "Command exited with status 7"


def test_an_unhealthy_task_is_killed(tmp_path: Path) -> None:
    check = {
        "type": "COMMAND",
        "command": {"value": "exit 1"},
        "delay_seconds": 0.0,
        "interval_seconds": 0.0,
        "grace_period_seconds": 0.0,
        "consecutive_failures": 2,
    }
    seen = run(tmp_path, record("sleep 60", health_check=check))
    assert [each.healthy for each in seen if each.healthy is not None] == [False, False, False]
    assert seen[-1].state == "TASK_KILLED"


def test_a_check_reports_each_result_that_differs_and_changes_nothing_else(tmp_path: Path) -> None:
    command = {"command": {"value": "test -e seen && exit 3; touch seen"}}
    check = {"type": "COMMAND", "command": command, "delay_seconds": 0.0, "interval_seconds": 0.05}
    seen = run(tmp_path, record("sleep 0.5", check=check))
    codes = [(each.check or {})["command"].get("exit_code") for each in seen]
    assert codes == [None, None, 0, 3, 3]
    assert [each.reason for each in seen[2:4]] == ["REASON_TASK_CHECK_STATUS_UPDATED"] * 2
    assert seen[-1].state == "TASK_FINISHED"


@needs_root
def test_a_command_and_its_checks_run_as_the_user_of_the_command(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    check = {"type": "COMMAND", "command": {"command": {"value": "exit $(id -u | cut -c1)"}}}
    made = record("id -un; touch mine", check=check | {"delay_seconds": 0.0})
    made.task["command"]["user"] = "daemon"
    run(tmp_path, made)
    sandbox = TaskFiles(tmp_path).sandbox(made)
    assert (sandbox / "stdout").read_text() == "daemon\n"
    assert (sandbox / "mine").owner() == "daemon"


def test_a_command_of_a_user_that_does_not_exist_is_not_started(tmp_path: Path) -> None:
    made = record("true")
    made.task["command"]["user"] = "no-such-user"
    (end,) = run(tmp_path, made)
    assert (end.state, end.reason) == ("TASK_FAILED", "REASON_CONTAINER_LAUNCH_FAILED")
    assert "there is no user 'no-such-user'" in end.message


def test_updates_are_sent_in_order_until_each_is_acknowledged(tmp_path: Path) -> None:
    made, files, sent = record("true"), TaskFiles(tmp_path), []
    writer = UpdateWriter(ManualClock().now, Rng(1))

    async def main() -> None:
        async def post(name: str, message: dict[str, Any]) -> None:
            sent.append(message["update"]["status"]["state"])
            stream.acknowledge(message["update"]["uuid"])

        stream = UpdateStream(made, files, post)
        for state in ("TASK_RUNNING", "TASK_FINISHED"):
            stream.add(writer.update(made, writer.status(made, RunStatus(state))))
        await asyncio.wait_for(stream.run(), 5)

    asyncio.run(main())
    assert sent == ["TASK_RUNNING", "TASK_FINISHED"]
    assert list(files.records.all()) == []


def test_a_jump_of_the_clock_neither_loses_nor_reorders_updates(tmp_path: Path) -> None:
    made, sent, clock = record("true"), [], ManualClock(1_000_000.0)
    writer = UpdateWriter(clock.now, Rng(1))

    async def main() -> None:
        async def post(name: str, message: dict[str, Any]) -> None:
            sent.append(message["update"]["timestamp"])
            stream.acknowledge(message["update"]["uuid"])

        stream = UpdateStream(made, TaskFiles(tmp_path), post)
        for state, jump in (("TASK_RUNNING", -86_400), ("TASK_FINISHED", 86_400)):
            clock.jump_wall(jump)
            stream.add(writer.update(made, writer.status(made, RunStatus(state))))
        await asyncio.wait_for(stream.run(), 5)

    asyncio.run(main())
    assert sent == [913_600.0, 1_000_000.0]


def test_a_task_that_cannot_be_stored_on_a_full_disk_fails(tmp_path: Path) -> None:
    made, sent = record("true"), []
    place = TaskFiles(tmp_path).records.place(made)
    place.mkdir(parents=True)
    (place / "task.new").symlink_to("/dev/full")

    async def main() -> None:
        async def post(name: str, message: dict[str, Any]) -> None:
            sent.append(message["update"]["status"])
            ledger.acknowledge(made.key, message["update"]["uuid"])

        writer = UpdateWriter(ManualClock().now, Rng(1))
        ledger = TaskLedger(TaskFiles(tmp_path), writer, post, Jobs(print))
        assert not ledger.add(made)
        await asyncio.sleep(0.05)

    asyncio.run(main())
    assert (sent[0]["state"], "No space left" in sent[0]["message"]) == ("TASK_FAILED", True)


def test_a_task_whose_agent_dies_while_it_is_killed_is_killed(tmp_path: Path) -> None:
    made = record("trap '' TERM; sleep 60 & wait; sleep 60")

    async def kill_only() -> None:
        running = TaskRun(made, tools(tmp_path), lambda *_: None)
        job = asyncio.get_running_loop().create_task(running.run())
        await asyncio.sleep(0.1)
        running.kill()
        job.cancel()

    made.task["kill_policy"] = {"grace_period": {"nanoseconds": 100_000_000}}
    asyncio.run(kill_only())
    (stored,) = TaskFiles(tmp_path).records.all()
    assert run(tmp_path, stored)[-1].state == "TASK_KILLED"


def test_a_task_whose_agent_died_before_it_reported_the_start_is_running(tmp_path: Path) -> None:
    made = record("sleep 0.2")

    async def start_only() -> None:
        job = asyncio.get_running_loop().create_task(
            TaskRun(made, tools(tmp_path), lambda *_: None).run()
        )
        await asyncio.sleep(0.1)
        job.cancel()

    asyncio.run(start_only())
    (stored,) = TaskFiles(tmp_path).records.all()
    stored.queue({"status": {"state": "TASK_STARTING"}, "uuid": "u"})
    assert [each.state for each in run(tmp_path, stored)] == ["TASK_RUNNING", "TASK_FINISHED"]


def test_the_statuses_of_a_task_on_a_drained_agent_have_the_reason(tmp_path: Path) -> None:
    made = record("exec sleep 60")
    seen = run(tmp_path, made, lambda running: running.kill(1.0, "REASON_AGENT_DRAINING"))
    assert [each.reason for each in seen[2:]] == ["REASON_AGENT_DRAINING"] * 2


def test_a_stored_record_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    files, made = TaskFiles(tmp_path), record("true")
    files.records.save(made)
    (files.records.place(made) / "task.json").write_text("{")
    with pytest.raises(InputError, match=r"task\.json.*remove the file"):
        list(files.records.all())


def test_lists_of_resources_and_attributes_are_read() -> None:
    cpus, ports = amounts.resources("cpus:1.5; ports:[1-2, 5-9]")
    assert cpus == amounts.scalar("cpus", 1.5)
    assert ports["ranges"]["range"] == [{"begin": 1, "end": 2}, {"begin": 5, "end": 9}]
    assert [each["type"] for each in amounts.attributes("rack:k1;gen:2")] == ["TEXT", "SCALAR"]


@pytest.mark.parametrize("text", ["cpus", "cpus:x", "ports:[1-]", ":4"])
def test_a_malformed_resource_is_named(text: str) -> None:
    with pytest.raises(InputError, match=r"cpus|ports|:4"):
        amounts.resources(text)
