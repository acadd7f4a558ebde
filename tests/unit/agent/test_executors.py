"""Executors of frameworks: the v1 executor API, their lives, and what becomes of their tasks."""

import asyncio
import base64
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from stretto.agent.tasks.executors.environment import ExecutorTimes, duration
from stretto.agent.tasks.jobs import Jobs
from stretto.agent.tasks.parts import AgentParts, assemble
from stretto.agent.tasks.records import Key, TaskFiles, TaskRecord
from stretto.agent.tasks.settings import TaskAgentSettings
from stretto.base.rng import Rng
from stretto.offers.master.api.http import HttpAnswer, MasterRequest
from stretto.offers.messages import binary
from stretto.offers.messages.records import RecordReader

Body = dict[str, Any]
IDS: Body = {"framework_id": {"value": "f"}, "executor_id": {"value": "e"}}
TIMES = ExecutorTimes(registration=60.0, reregistration=60.0, shutdown=0.1)


class AgentBench:
    """The parts of an agent without a master; the test plays master and executor."""

    def __init__(self, directory: Path, times: ExecutorTimes = TIMES, **settings: Any) -> None:
        self.posts: list[tuple[str, Body]] = []
        self.logged: list[str] = []
        self.events: list[Body] = []
        self.authorization = ""
        made = TaskAgentSettings("", 0, directory, "host", executors=times, **settings)
        self._jobs = Jobs(self.logged.append)
        self._parts: AgentParts = assemble(made, self, Rng(1), self._jobs)
        self._parts.work.recover()

    def info(self) -> Body:
        return {"hostname": "host", "id": {"value": "a"}}

    def now(self) -> float:
        return 5.0

    def forward(self, executor: Key, data: str) -> None:
        self.posts.append(("message", {"executor": executor, "data": data}))

    async def executor_ended(self, executor: Key, status: int) -> None:
        self.posts.append(("exited", {"executor": executor, "status": status}))

    async def post(self, name: str, message: Body) -> None:
        self.posts.append((name, message))

    def statuses(self) -> list[Body]:
        return [body["update"]["status"] for name, body in self.posts if "Status" in name]

    def last(self) -> Body:
        return self.statuses()[-1]

    def acknowledge(self) -> None:
        status = self.last()
        message = {"framework_id": {"value": "f"}, "task_id": status["task_id"]}
        name = "StatusUpdateAcknowledgementMessage"
        self.handle(name, message | {"uuid": status["uuid"]})

    def handle(self, name: str, message: Body) -> None:
        self._parts.work.handle(name, message)

    def report(self) -> Body:
        return self._parts.work.report()

    def launch(self, *ids: str, command: str = "exec sleep 60", **fields: Any) -> None:
        for task_id in ids:
            message = {"framework": framework(), "task": task(task_id, command), **fields}
            self.handle("RunTaskMessage", message)

    def call(self, kind: str, media: str = "application/json", **body: Any) -> HttpAnswer:
        call = {"type": kind, kind.lower(): body} | IDS
        encoded = json.dumps(call).encode()
        if media != "application/json":
            encoded = binary.write("executor.Call", call)
        headers = {"content-type": media, "accept": media, "authorization": self.authorization}
        return self._parts.api.answer(MasterRequest("POST", "/api/v1/executor", headers, encoded))

    async def subscribe(self, media: str = "application/json", **body: Any) -> HttpAnswer:
        answer = self.call("SUBSCRIBE", media, **body)
        assert answer.stream is not None
        stream, reader = answer.stream, RecordReader()

        async def read() -> None:
            async for chunk in self._parts.api.records(stream):
                for each in reader.feed(chunk):
                    self.events.append(
                        binary.read("executor.Event", each) if stream.protobuf else json.loads(each)
                    )

        self._jobs.start(read())
        await asyncio.sleep(0.01)
        return answer

    def update(self, task_id: str, state: str, number: int = 1, **fields: Any) -> HttpAnswer:
        uuid = base64.b64encode(bytes([number]) * 16).decode()
        status = {"task_id": {"value": task_id}, "state": state, "uuid": uuid}
        return self.call("UPDATE", status=status | {"source": "SOURCE_EXECUTOR"} | fields)

    def kinds(self) -> list[str]:
        return [each["type"] for each in self.events]


def framework() -> Body:
    return {"id": {"value": "f"}, "user": "u", "name": "f", "checkpoint": True}


def task(task_id: str, command: str) -> Body:
    executor = {"executor_id": {"value": "e"}, "type": "CUSTOM", "command": {"value": command}}
    named = {"name": task_id, "task_id": {"value": task_id}, "agent_id": {"value": "a"}}
    return named | {"executor": executor}


async def until(condition: Callable[[], Any]) -> None:
    async with asyncio.timeout(10):
        while not condition():  # noqa: ASYNC110  (real processes)
            await asyncio.sleep(0.01)


def play(
    tmp_path: Path, act: Callable[[AgentBench], Awaitable[None]], **times: float
) -> AgentBench:
    """Run a scene on a fresh agent; its executors end with it."""

    async def main() -> AgentBench:
        bench = AgentBench(tmp_path, msgspec.structs.replace(TIMES, **times))
        async with ending(bench):
            await act(bench)
        return bench

    return asyncio.run(main())


@asynccontextmanager
async def ending(bench: AgentBench) -> AsyncIterator[None]:
    try:
        yield
    finally:
        bench.handle("ShutdownFrameworkMessage", {"framework_id": {"value": "f"}})
        await until(lambda: not bench.report()["executor_infos"])


async def started(bench: AgentBench, *ids: str) -> None:
    bench.launch(*ids)
    await bench.subscribe()


def test_a_task_waits_until_its_executor_has_subscribed(tmp_path: Path) -> None:
    async def act(bench: AgentBench) -> None:
        bench.launch("t1", "t2")
        assert bench.update("t1", "TASK_RUNNING").status == 403
        await bench.subscribe()

    seen = play(tmp_path, act)
    assert seen.kinds()[:3] == ["SUBSCRIBED", "LAUNCH", "LAUNCH"]
    assert seen.events[0]["subscribed"]["executor_info"]["executor_id"] == {"value": "e"}
    assert seen.events[1]["launch"]["task"]["task_id"] == {"value": "t1"}


def test_the_api_uses_protobuf(tmp_path: Path) -> None:
    async def act(bench: AgentBench) -> None:
        bench.launch("t")
        answer = await bench.subscribe("application/x-protobuf")
        assert answer.content_type == "application/x-protobuf"

    assert play(tmp_path, act).kinds()[:2] == ["SUBSCRIBED", "LAUNCH"]


def test_an_update_is_completed_acknowledged_and_forwarded_once(tmp_path: Path) -> None:
    async def act(bench: AgentBench) -> None:
        await started(bench, "t")
        assert bench.update("t", "TASK_RUNNING").status == 202
        bench.update("t", "TASK_RUNNING")
        await until(bench.statuses)
        bench.acknowledge()
        bench.update("t", "TASK_FINISHED", 2)
        await until(lambda: bench.last()["state"] == "TASK_FINISHED")

    seen = play(tmp_path, act)
    assert [each["state"] for each in seen.statuses()] == ["TASK_RUNNING", "TASK_FINISHED"]
    assert seen.kinds().count("ACKNOWLEDGED") == 3
    first = seen.statuses()[0]
    assert (first["executor_id"], first["agent_id"]) == ({"value": "e"}, {"value": "a"})
    assert first["container_status"]["executor_pid"] > 0


def test_a_group_is_launched_as_a_whole(tmp_path: Path) -> None:
    async def act(bench: AgentBench) -> None:
        one, two = task("t1", "exec sleep 60"), task("t2", "exec sleep 60")
        message = {"framework": framework(), "executor": one["executor"]}
        bench.handle("RunTaskGroupMessage", message | {"task_group": {"tasks": [one, two]}})
        await bench.subscribe()

    (event,) = [each for each in play(tmp_path, act).events if each["type"] == "LAUNCH_GROUP"]
    tasks = event["launch_group"]["task_group"]["tasks"]
    assert [each["task_id"]["value"] for each in tasks] == ["t1", "t2"]


def test_messages_pass_in_both_directions(tmp_path: Path) -> None:
    async def act(bench: AgentBench) -> None:
        await started(bench, "t")
        bench.handle("FrameworkToExecutorMessage", IDS | {"data": "aGk="})
        assert bench.call("MESSAGE", data="aG8=").status == 202

    seen = play(tmp_path, act)
    assert {"type": "MESSAGE", "message": {"data": "aGk="}} in seen.events
    assert ("message", {"executor": ("f", "e"), "data": "aG8="}) in seen.posts


def test_kill_reaches_the_executor_also_when_it_was_away(tmp_path: Path) -> None:
    async def act(bench: AgentBench) -> None:
        await started(bench, "t")
        bench.update("t", "TASK_RUNNING")
        bench.handle("KillTaskMessage", {"framework_id": {"value": "f"}, "task_id": {"value": "t"}})

    assert {"type": "KILL", "kill": {"task_id": {"value": "t"}}} in play(tmp_path, act).events


def test_a_task_that_waits_is_killed_without_its_executor(tmp_path: Path) -> None:
    async def act(bench: AgentBench) -> None:
        bench.launch("t")
        bench.handle("KillTaskMessage", {"framework_id": {"value": "f"}, "task_id": {"value": "t"}})
        await until(bench.statuses)
        await until(lambda: not bench.report()["executor_infos"])

    last = play(tmp_path, act).last()
    assert (last["state"], last["reason"]) == ("TASK_KILLED", "REASON_TASK_KILLED_DURING_LAUNCH")


@pytest.mark.parametrize(
    ("command", "reason", "text"),
    [
        ("exit 3", "REASON_EXECUTOR_TERMINATED", "Executor exited with status 3"),
        (
            "exec sleep 60",
            "REASON_EXECUTOR_REGISTRATION_TIMEOUT",
            "Executor did not register within 200ms",
        ),
    ],
)
def test_an_executor_that_never_registers_fails_its_tasks(
    tmp_path: Path, command: str, reason: str, text: str
) -> None:
    async def act(bench: AgentBench) -> None:
        bench.launch("t", command=command)
        await until(bench.statuses)
        await until(lambda: not bench.report()["executor_infos"])

    last = play(tmp_path, act, registration=0.2).last()
    assert (last["state"], last["source"]) == ("TASK_FAILED", "SOURCE_AGENT")
    assert (last["reason"], last["message"]) == (reason, text)


def test_an_executor_whose_uri_is_missing_is_not_started(tmp_path: Path) -> None:
    async def act(bench: AgentBench) -> None:
        made = task("t", "true")
        made["executor"]["command"]["uris"] = [{"value": "/no/such/file"}]
        bench.handle("RunTaskMessage", {"framework": framework(), "task": made})
        await until(bench.statuses)

    last = play(tmp_path, act).last()
    assert last["reason"] == "REASON_CONTAINER_LAUNCH_FAILED"
    assert "'/no/such/file': No such file" in last["message"]


def test_shutdown_ends_an_executor_and_is_reported(tmp_path: Path) -> None:
    async def act(bench: AgentBench) -> None:
        await started(bench, "t")
        bench.handle("ShutdownExecutorMessage", IDS)
        await until(lambda: [name for name, _ in bench.posts if name == "exited"])

    seen = play(tmp_path, act)
    assert seen.kinds()[-1] == "SHUTDOWN"
    assert seen.last()["reason"] == "REASON_EXECUTOR_TERMINATED"
    assert ("exited", {"executor": ("f", "e"), "status": 9}) in seen.posts


def test_a_task_for_an_executor_that_has_ended_is_dropped(tmp_path: Path) -> None:
    async def act(bench: AgentBench) -> None:
        bench.launch("t", launch_executor=False)
        await until(bench.statuses)

    last = play(tmp_path, act).last()
    assert (last["state"], last["reason"]) == ("TASK_LOST", "REASON_EXECUTOR_TERMINATED")


def test_an_executor_survives_its_agent_and_subscribes_again(tmp_path: Path) -> None:
    async def main() -> AgentBench:
        first = AgentBench(tmp_path)
        first.launch("t1", "t2")
        await first.subscribe()
        first.update("t1", "TASK_RUNNING")
        await until(first.statuses)
        again = AgentBench(tmp_path)
        async with ending(again):
            await again.subscribe(unacknowledged_tasks=[])
            await until(lambda: len(again.statuses()) == 2)
        return again

    seen = asyncio.run(main())
    states = {each["task_id"]["value"]: each["state"] for each in seen.statuses()}
    assert states["t1"] == "TASK_RUNNING"
    assert "TASK_LOST" in [e["state"] for e in seen.statuses() if e["task_id"]["value"] == "t2"]


def test_a_restarted_agent_starts_an_executor_that_it_had_not_stored(tmp_path: Path) -> None:
    TaskFiles(tmp_path).records.save(TaskRecord("f", framework(), task("t", "exec sleep 60")))

    async def act(bench: AgentBench) -> None:
        await bench.subscribe()

    assert play(tmp_path, act).kinds()[:2] == ["SUBSCRIBED", "LAUNCH"]


def test_a_restarted_agent_stops_an_executor_that_stays_away(tmp_path: Path) -> None:
    async def main() -> AgentBench:
        first = AgentBench(tmp_path)
        first.launch("t")
        await first.subscribe()
        await until(lambda: first.report()["executor_infos"])
        again = AgentBench(tmp_path, ExecutorTimes(reregistration=0.1))
        await until(again.statuses)
        return again

    last = asyncio.run(main()).last()
    assert last["reason"] == "REASON_EXECUTOR_REREGISTRATION_TIMEOUT"
    assert last["message"] == "Executor did not reregister within 100ms"


def test_the_executor_reads_its_agent_from_variables(tmp_path: Path) -> None:
    async def act(bench: AgentBench) -> None:
        bench.launch("t", command="env > env.txt; exec sleep 60")
        await until(lambda: list(tmp_path.glob("executors/f/e/*/sandbox/env.txt")))
        await asyncio.sleep(0.1)

    play(tmp_path, act)
    (file,) = tmp_path.glob("executors/f/e/*/sandbox/env.txt")
    given = dict(line.split("=", 1) for line in file.read_text().splitlines() if "=" in line)
    assert given["MESOS_AGENT_ENDPOINT"] == "127.0.0.1:5051"
    assert (given["MESOS_CHECKPOINT"], given["MESOS_RECOVERY_TIMEOUT"]) == ("1", "15mins")
    assert given["MESOS_SANDBOX"] == str(file.parent)


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"uuid": "QQ=="}, "Not a valid UUID"),
        ({"source": "SOURCE_AGENT"}, "invalid source"),
        ({"state": "TASK_STAGING"}, "TASK_STAGING"),
        ({"executor_id": {"value": "x"}}, "does not match ExecutorID in TaskStatus: x"),
    ],
)
def test_an_invalid_update_is_refused(tmp_path: Path, fields: Body, why: str) -> None:
    async def act(bench: AgentBench) -> None:
        await started(bench, "t")
        answer = bench.update("t", **({"state": "TASK_RUNNING"} | fields))
        assert (answer.status, why in answer.body.decode()) == (400, True)

    play(tmp_path, act)


def test_an_executor_without_its_token_is_refused(tmp_path: Path) -> None:
    async def main() -> None:
        bench = AgentBench(tmp_path, authenticate_executors=True)
        async with ending(bench):
            bench.launch("t", command="env > env.txt; exec sleep 60")
            assert bench.call("SUBSCRIBE").status == 401
            file = tmp_path / "executors"
            await until(lambda: list(file.glob("f/e/*/executor.json")))
            (stored,) = file.glob("f/e/*/executor.json")
            assert stored.stat().st_mode & 0o777 == 0o600
            bench.authorization = f"Bearer {json.loads(stored.read_text())['token']}"
            assert (await bench.subscribe()).status == 200

    asyncio.run(main())


def test_a_call_of_an_unknown_executor_is_refused(tmp_path: Path) -> None:
    async def act(bench: AgentBench) -> None:
        answer = bench.call("SUBSCRIBE")
        assert (answer.status, answer.body) == (400, b"Executor cannot be found")

    play(tmp_path, act)


@pytest.mark.parametrize(
    ("seconds", "text"), [(5, "5secs"), (900, "15mins"), (0.25, "250ms"), (86_400, "1days")]
)
def test_durations_are_written_as_mesos_does(seconds: float, text: str) -> None:
    assert duration(seconds) == text
