"""A master in virtual time with builders of calls, agents and tasks."""

import json
from pathlib import Path
from typing import Any

from stretto.base.clock import ManualClock
from stretto.base.rng import Rng
from stretto.offers.allocator.build import make_allocator
from stretto.offers.allocator.subjects.settings import MESOS, AllocatorSettings
from stretto.offers.master.api.http import HttpAnswer, MasterRequest
from stretto.offers.master.core.settings import MasterSettings
from stretto.offers.master.master import CycleTime, Master
from stretto.offers.master.state.outbox import AgentMessage, StreamEvent
from stretto.offers.master.storage.contract import MasterJournal, StoredState
from stretto.offers.master.storage.journal import MasterFile
from stretto.offers.master.storage.recovery import recover

Body = dict[str, Any]


def scalar(name: str, value: float) -> Body:
    return {"name": name, "type": "SCALAR", "scalar": {"value": value}}


def task(task_id: str, agent_id: str, cpus: float = 1.0, mem: float = 32) -> Body:
    return {
        "name": task_id,
        "task_id": {"value": task_id},
        "agent_id": {"value": agent_id},
        "resources": [scalar("cpus", cpus), scalar("mem", mem)],
        "command": {"value": "true"},
    }


class MesosBench:
    """One master; events and messages to agents are collected."""

    def __init__(
        self,
        allocation: AllocatorSettings = MESOS,
        path: Path | None = None,
        stored: StoredState | None = None,
        clock: ManualClock | None = None,
        cycles: CycleTime = CycleTime.AT_ONCE,
        **settings: Any,
    ) -> None:
        self.clock = clock or ManualClock(1000.0)
        self.events: list[Body] = []
        self.sent: list[AgentMessage] = []
        self.streams: dict[str, HttpAnswer] = {}
        self._file = MasterFile(path) if path else stored
        known = self._file.identity() if self._file else None
        config = MasterSettings(id=known.id if known else "m", **settings)
        allocator = make_allocator(Rng(1), allocation)
        self.master = Master(config, allocator, self.clock, Rng(1), cycles)
        if self._file is not None:
            recover(self.master.state, self._file)

    def close(self) -> None:
        assert self._file is not None
        self._file.close()

    def post(self, body: Body, path: str = "/api/v1/scheduler", **headers: str) -> HttpAnswer:
        given = {"content-type": "application/json"} | {
            name.replace("_", "-"): value for name, value in headers.items()
        }
        answer = self.master.answer(MasterRequest("POST", path, given, json.dumps(body).encode()))
        self.collect()
        return answer

    def subscribe(self, **info: Any) -> str:
        framework_id = info.get("id", {})
        body = {
            "type": "SUBSCRIBE",
            "subscribe": {"framework_info": {"user": "u", "name": "f"} | info},
        }
        answer = self.post(body | ({"framework_id": framework_id} if framework_id else {}))
        assert answer.stream is not None
        named = next(
            e["subscribed"]["framework_id"]["value"]
            for e in reversed(self.events)
            if e["type"] == "SUBSCRIBED"
        )
        self.streams[named] = answer
        return str(named)

    def call(self, framework_id: str, kind: str, **body: Any) -> HttpAnswer:
        stream = self.streams[framework_id].headers["Mesos-Stream-Id"]
        call = {"type": kind, "framework_id": {"value": framework_id}, kind.lower(): body}
        return self.post(call, mesos_stream_id=stream)

    def agent(self, cpus: float = 4.0, mem: float = 1024.0, **fields: Any) -> str:
        known = fields.get("id", {}).get("value", "").rpartition("-S")[2]  # at its own address
        number = int(known) + 1 if known.isdigit() else len(self.master.state.agents) + 1
        resources = [scalar("cpus", cpus), scalar("mem", mem)]
        info = {"hostname": f"a{number}", "resources": resources} | fields
        message = {
            "slave": info,
            "agent_capabilities": [{"type": "MULTI_ROLE"}, {"type": "HIERARCHICAL_ROLE"}],
        }
        name = "ReregisterSlaveMessage" if "id" in info else "RegisterSlaveMessage"
        self.master.receive(f"slave({number})@127.0.0.1:5051", name, message)
        self.collect()
        return str(self.sent[-1].message["slave_id"]["value"])

    def launch(self, framework_id: str, *tasks: Body) -> None:
        offer = self.offers()[-1]
        operations = [{"type": "LAUNCH", "launch": {"task_infos": list(tasks)}}]
        self.call(framework_id, "ACCEPT", offer_ids=[offer["id"]], operations=operations)

    def report(self, framework_id: str, task_id: str, state: str) -> None:
        status = {"task_id": {"value": task_id}, "state": state, "uuid": "QUFBQUFBQUFBQUFBQUFBQQ=="}
        update = {"framework_id": {"value": framework_id}, "status": status}
        agent = next(iter(self.master.state.agents))
        message = {"update": update | {"slave_id": {"value": agent.id}}}
        self.master.receive(agent.pid, "StatusUpdateMessage", message)
        self.collect()

    def advance(self, seconds: float) -> None:
        self.clock.advance(seconds)
        self.master.run_timers()
        self.collect()

    def collect(self) -> None:
        if self._file is not None:
            MasterJournal(self._file, self.master.state).save()
        for effect in self.master.effects():
            if isinstance(effect, AgentMessage):
                self.sent.append(effect)
            elif isinstance(effect, StreamEvent):
                self.events.append(effect.event)

    def offers(self) -> list[Body]:
        return [
            offer
            for event in self.events
            if event["type"] == "OFFERS"
            for offer in event["offers"]["offers"]
        ]

    def statuses(self) -> list[tuple[str, str]]:
        return [
            (e["update"]["status"]["task_id"]["value"], e["update"]["status"]["state"])
            for e in self.events
            if e["type"] == "UPDATE"
        ]
