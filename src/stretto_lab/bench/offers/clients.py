"""Frameworks that launch a task on each offer, and agents whose tasks end at once."""

import asyncio
import base64
from collections.abc import Callable
from typing import Any, Final
from uuid import UUID

import msgspec

from stretto.base.rng import Rng
from stretto_lab.bench.offers.wire import MasterConnection

Body = dict[str, Any]
SCHEDULER: Final = "/api/v1/scheduler"
AGENT: Final = "/api/v1/agent"
CAPABILITIES: Final = ("MULTI_ROLE", "HIERARCHICAL_ROLE", "RESERVATION_REFINEMENT")
ACCEPTED: Final = 202


class Tally(msgspec.Struct):
    """Answers since the start of the measurement."""

    #: Calls that were accepted.
    calls: int = 0
    #: Calls with another answer.
    refused: int = 0
    #: Seconds of each ACCEPT from its request to its answer.
    accepts: list[float] = []
    #: Offers that were received.
    offers: int = 0
    #: Tasks by their last state.
    ends: dict[str, int] = {}

    def answered(self, status: int) -> None:
        """Count the answer to a call."""
        if status == ACCEPTED:
            self.calls += 1
        else:
            self.refused += 1

    def ended(self, state: str) -> None:
        """Count the end of a task."""
        self.ends[state] = self.ends.get(state, 0) + 1

    def restart(self) -> None:
        """Reset all counts."""
        self.calls = self.refused = self.offers = 0
        self.accepts = []
        self.ends = {}


class LoadFramework:
    """One framework: one call at a time, one task for each event with offers."""

    def __init__(self, port: int, number: int, tally: Tally, now: Callable[[], float]) -> None:
        """Create a framework that has not subscribed; ``now`` returns seconds."""
        self._stream, self._calls = MasterConnection(port), MasterConnection(port)
        self._number = number
        self._tally = tally
        self._now = now
        self._events: asyncio.Queue[Body] = asyncio.Queue()
        self._answered: dict[str, str] = {}
        self._id = ""
        self._launched = 0

    async def run(self) -> None:
        """Subscribe, and answer events until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._read())
            group.create_task(self._work())

    def close(self) -> None:
        """Close both connections."""
        self._stream.close()
        self._calls.close()

    async def _read(self) -> None:
        info = {
            "user": "bench",
            "name": f"framework {self._number}",
            "roles": [f"r{self._number % 10}"],
            "capabilities": [{"type": "MULTI_ROLE"}],
        }
        call = {"type": "SUBSCRIBE", "subscribe": {"framework_info": info}}
        headers = {"Accept": "application/json"}
        async for event in self._stream.records(SCHEDULER, call, headers, self._answered):
            self._events.put_nowait(event)

    async def _work(self) -> None:
        while True:
            event = await self._events.get()
            kind = event["type"]
            if kind == "SUBSCRIBED":
                self._id = event["subscribed"]["framework_id"]["value"]
            elif kind == "OFFERS":
                await self._accept(event["offers"]["offers"])
            elif kind == "UPDATE":
                await self._acknowledge(event["update"]["status"])

    async def _accept(self, offers: list[Body]) -> None:
        """Launch a task on the first offer, and decline the others."""
        self._tally.offers += len(offers)
        first, *others = offers
        self._launched += 1
        name = f"{self._id}-{self._launched}"
        amounts = {"cpus": 0.1, "mem": 32.0}
        resources = [
            {"name": key, "type": "SCALAR", "scalar": {"value": n}} for key, n in amounts.items()
        ]
        task = {"name": name, "task_id": {"value": name}, "agent_id": first["agent_id"]}
        task |= {"resources": resources, "command": {"value": "true"}}
        launch = {"type": "LAUNCH", "launch": {"task_infos": [task]}}
        accept = {
            "offer_ids": [first["id"]],
            "operations": [launch],
            "filters": {"refuse_seconds": 0.5},
        }
        began = self._now()
        await self._call("ACCEPT", accept)
        self._tally.accepts.append(self._now() - began)
        if others:
            ids = [each["id"] for each in others]
            await self._call("DECLINE", {"offer_ids": ids, "filters": {"refuse_seconds": 0.5}})

    async def _acknowledge(self, status: Body) -> None:
        self._tally.ended(status["state"])
        if "uuid" in status:
            wanted = ("agent_id", "task_id", "uuid")
            await self._call("ACKNOWLEDGE", {key: status[key] for key in wanted})

    async def _call(self, kind: str, body: Body) -> None:
        call = {"type": kind, "framework_id": {"value": self._id}, kind.lower(): body}
        headers = {"Mesos-Stream-Id": self._answered["mesos-stream-id"]}
        self._tally.answered(await self._calls.post(SCHEDULER, call, headers))


class LoadAgent:
    """One agent with 64 CPUs."""

    def __init__(self, port: int, number: int, rng: Rng) -> None:
        """Create an agent that has not registered; ``rng`` is the source of update ids."""
        self._stream, self._posts = MasterConnection(port), MasterConnection(port)
        self._number = number
        self._rng = rng
        self._pid = f"slave({number})@127.0.0.1:{10_000 + number}"

    async def run(self) -> None:
        """Register, and end tasks until cancelled."""
        amounts = {"cpus": 64.0, "mem": 262_144.0}
        resources = [
            {"name": key, "type": "SCALAR", "scalar": {"value": n}} for key, n in amounts.items()
        ]
        message = {
            "slave": {"hostname": f"agent{self._number}", "resources": resources},
            "agent_capabilities": [{"type": each} for each in CAPABILITIES],
            "version": "1.11.0",
        }
        body = {"name": "RegisterSlaveMessage", "message": message}
        headers = {"Libprocess-From": self._pid}
        async for record in self._stream.records(AGENT, body, headers, {}):
            name, received = record["name"], record["message"]
            if name == "PingSlaveMessage":
                await self._post("PongSlaveMessage", {})
            elif name == "RunTaskMessage":
                await self._end(received)

    def close(self) -> None:
        """Close both connections."""
        self._stream.close()
        self._posts.close()

    async def _end(self, received: Body) -> None:
        """Report a launched task as finished."""
        task, framework = received["task"], received["framework"]["id"]
        uuid = base64.b64encode(UUID(self._rng.uid()).bytes).decode()
        state = "TASK_FINISHED"
        status = {"task_id": task["task_id"], "state": state, "source": "SOURCE_AGENT"}
        status |= {"agent_id": task["agent_id"], "uuid": uuid, "timestamp": 0.0}
        update = {"framework_id": framework, "slave_id": task["agent_id"], "status": status}
        update |= {"timestamp": 0.0, "uuid": uuid, "latest_state": state}
        await self._post("StatusUpdateMessage", {"update": update, "pid": self._pid})

    async def _post(self, name: str, body: Body) -> None:
        headers = {"Libprocess-From": self._pid}
        await self._posts.post(f"/master/mesos.internal.{name}", body, headers)
