"""An agent at a master over real connections: a command, and an executor that speaks HTTP."""

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from starlette.types import ASGIApp

from stretto.agent.tasks.agent import RETRY, TaskAgent
from stretto.agent.tasks.settings import TaskAgentSettings
from stretto.base.clock import WallClock
from stretto.base.rng import Rng
from stretto.offers.allocator.build import make_allocator
from stretto.offers.allocator.subjects.settings import MESOS
from stretto.offers.master.api.http import MasterRequest
from stretto.offers.master.core.settings import MasterSettings
from stretto.offers.master.master import Master
from stretto.offers.master.server.host import MasterHost
from stretto.offers.master.server.serve import ServerSettings, application
from stretto.offers.messages.records import RecordReader
from stretto.serving.accepting import SocketServer
from stretto.serving.configuration import server_config
from stretto.serving.sockets import listening
from tests.support.mesos import scalar

Body = dict[str, Any]
#: Subscribes, and answers LAUNCH with two updates and a message.
EXECUTOR = """
import base64, http.client, json, os
names = ("framework_id", "executor_id")
ids = {name: {"value": os.environ["MESOS_" + name.upper()]} for name in names}
def call(kind, **body):
    link = http.client.HTTPConnection(os.environ["MESOS_AGENT_ENDPOINT"])
    text = json.dumps({"type": kind, kind.lower(): body} | ids)
    link.request("POST", "/api/v1/executor", text, {"Content-Type": "application/json"})
    return link.getresponse()
stream = call("SUBSCRIBE")
while length := stream.fp and stream.readline():
    event = json.loads(stream.read(int(length)))
    if event["type"] == "LAUNCH":
        for number, state in enumerate(("TASK_RUNNING", "TASK_FINISHED")):
            uuid = base64.b64encode(bytes([number]) * 16).decode()
            task = event["launch"]["task"]["task_id"]
            status = {"task_id": task, "state": state, "uuid": uuid, "source": "SOURCE_EXECUTOR"}
            assert call("UPDATE", status=status).status == 202
        call("MESSAGE", data="aGk=")
    if event["type"] == "SHUTDOWN":
        break
"""


class Site:
    """A master in this process, and a framework that calls it directly."""

    def __init__(self) -> None:
        self.clock = WallClock()
        state = Master(MasterSettings(id="m"), make_allocator(Rng(1), MESOS), self.clock, Rng(1))
        self.host = MasterHost(state, self.clock)
        self.events: list[Body] = []
        self._stream = ""

    async def subscribe(self) -> None:
        info = {"user": "u", "name": "f", "failover_timeout": 60.0}
        answer = await self._post({"type": "SUBSCRIBE", "subscribe": {"framework_info": info}})
        self._stream = answer.headers["Mesos-Stream-Id"]
        reader = RecordReader()
        async for chunk in self.host.records(answer.stream):
            for record in reader.feed(chunk):
                await self._take(json.loads(record))

    async def call(self, kind: str, **body: Any) -> None:
        call = {"type": kind, "framework_id": {"value": "m-0000"}, kind.lower(): body}
        assert (await self._post(call)).status == 202

    async def launch(self, **task: Any) -> None:
        (offer,) = self._of("OFFERS")[-1]["offers"]["offers"]
        resources = [scalar("cpus", 0.1), scalar("mem", 32)]
        made = {"name": "t", "task_id": {"value": "t"}, "agent_id": offer["agent_id"]}
        infos = [made | {"resources": resources} | task]
        operations = [{"type": "LAUNCH", "launch": {"task_infos": infos}}]
        await self.call("ACCEPT", offer_ids=[offer["id"]], operations=operations)

    def states(self) -> list[str]:
        return [each["update"]["status"]["state"] for each in self._of("UPDATE")]

    def kinds(self) -> list[str]:
        return [each["type"] for each in self.events]

    def _of(self, kind: str) -> list[Body]:
        return [each for each in self.events if each["type"] == kind]

    async def _take(self, event: Body) -> None:
        self.events.append(event)
        status = event.get("update", {}).get("status", {})
        if "uuid" in status:
            await self.call(
                "ACKNOWLEDGE", **{k: status[k] for k in ("agent_id", "task_id", "uuid")}
            )

    async def _post(self, call: Body) -> Any:
        headers = {"content-type": "application/json", "mesos-stream-id": self._stream}
        if not self._stream:
            del headers["mesos-stream-id"]
        body = json.dumps(call).encode()
        return await self.host.answer(MasterRequest("POST", "/api/v1/scheduler", headers, body))


@asynccontextmanager
async def served(app: Callable[[int], ASGIApp]) -> AsyncIterator[int]:
    """An application on a free port."""
    with listening("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
        server = SocketServer(server_config(app(port)))
        job = asyncio.get_running_loop().create_task(server.serve(sockets=[listener]))
        yield port
        server.should_exit = True
        await job


async def until(condition: Callable[[], Any]) -> None:
    async with asyncio.timeout(15):
        while not condition():  # noqa: ASYNC110  (real processes)
            await asyncio.sleep(0.01)


def play(tmp_path: Path, last: Callable[[Site], bool], **task: Any) -> Site:
    """Launch a task on an agent, and wait for an event; then its executor is shut down."""

    async def main() -> Site:
        site, loop = Site(), asyncio.get_running_loop()
        jobs = [loop.create_task(site.host.run_timers())]
        settings = ServerSettings()
        async with served(lambda _: application(site.host, settings, site.clock)) as port:

            def agent(own: int) -> ASGIApp:
                resources = (scalar("cpus", 1), scalar("mem", 256))
                made = TaskAgentSettings(
                    "127.0.0.1", port, tmp_path, "h", port=own, resources=resources
                )
                agent = TaskAgent(made, site.clock, Rng(2), lambda _: None)
                jobs.append(loop.create_task(agent.run()))
                return agent.app

            async with served(agent):
                jobs.append(loop.create_task(site.subscribe()))
                await until(lambda: "OFFERS" in site.kinds())
                await site.launch(**task)
                await until(lambda: last(site))
                agent_id = {"value": "m-S0"}
                await site.call("SHUTDOWN", executor_id={"value": "e"}, agent_id=agent_id)
                await until(lambda: "executor" not in task or "FAILURE" in site.kinds())
                for each in jobs:
                    each.cancel()
                await asyncio.wait(jobs)
                site.host.close()
        return site

    return asyncio.run(main())


def test_a_command_runs_from_an_offer_to_its_end(tmp_path: Path) -> None:
    seen = play(tmp_path, lambda site: "TASK_FINISHED" in site.states(), command={"value": "true"})
    assert seen.states() == ["TASK_STARTING", "TASK_RUNNING", "TASK_FINISHED"]


def test_an_executor_of_a_framework_runs_a_task_and_sends_a_message(tmp_path: Path) -> None:
    command = {"shell": False, "value": sys.executable, "arguments": ["x", "-c", EXECUTOR]}
    executor = {"executor_id": {"value": "e"}, "type": "CUSTOM", "command": command}
    ended = lambda site: {"TASK_FINISHED", "MESSAGE"} <= {*site.states(), *site.kinds()}
    seen = play(tmp_path, ended, executor=executor)
    assert seen.states() == ["TASK_RUNNING", "TASK_FINISHED"]
    assert seen.kinds()[-1] == "FAILURE"


def test_an_agent_without_a_master_reports_it_once_and_stops_without_a_trace(
    tmp_path: Path,
) -> None:
    with listening("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
    line = ["agent", "--tasks", "--limits", "none", "--master", "http://127.0.0.1:1"]
    line += ["--port", str(port), "--work-dir", str(tmp_path)]
    code = "from stretto.cli.start import main; main()"
    with subprocess.Popen([sys.executable, "-c", code, *line], stderr=-1, text=True) as agent:
        first = agent.stderr.readline()
        time.sleep(2 * RETRY)
        agent.terminate()
        assert ("no connection" in first, agent.stderr.read()) == (True, "stretto: terminated\n")
