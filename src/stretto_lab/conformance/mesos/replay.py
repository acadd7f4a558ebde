"""A session replayed against a master in virtual time.

The session fixes the clock, the ids and the order in which a cycle visits agents. The master itself
computes every answer, event and message to an agent.
"""

import base64
import re
from typing import Any, Final
from urllib.parse import parse_qsl, unquote

import msgspec

from stretto.base.clock import ManualClock
from stretto.base.rng import Rng
from stretto.offers.master.api.http import HttpAnswer, MasterRequest
from stretto.offers.master.state.outbox import AgentMessage, ClientStream, StreamEnd, StreamEvent
from stretto.offers.master.wire import event_value
from stretto.offers.messages.schema import Message
from stretto_lab.conformance.mesos import agents, start
from stretto_lab.conformance.mesos.matching import MesosBindings
from stretto_lab.conformance.mesos.order import VisitOrder
from stretto_lab.conformance.mesos.sessions import WireRecord, WireRequest, WireSession

_REPORT: Final = re.compile(r"agent reports (TASK_\w+) for task (\S+)")
_EXIT: Final = re.compile(r"agent reports the exit of executor (\S+), status (\d+)")
_TEXT: Final = re.compile(r"executor (\S+) sends a message \((.*)\)")
_LEAVE: Final = re.compile(r"(agent\d+) unregisters")
_CLOSE: Final = re.compile(r"connection of (\S+) closed")


class StepOutcome(msgspec.Struct):
    """Results of the master in one step."""

    #: The answer; ``None`` without a request.
    answer: HttpAnswer | None
    #: Events by the name of the stream.
    events: dict[str, list[Any]]
    #: Messages to agents: address and name.
    agent_received: list[str]


class MasterReplay:
    """One session, step by step."""

    def __init__(self, session: WireSession) -> None:
        """Start a master with the ids of the session."""
        self._session = session
        identity = start.identity(session)
        #: Values of placeholders.
        self.bound = MesosBindings(
            {
                "MASTER_ID": identity.master_id,
                "MASTER_PORT": f"{identity.port}",
                "AGENT_PORT": f"{identity.agent_port}",
            }
        )
        #: True if the recording contains the messages to agents.
        self.notes_agents = not identity.is_named
        #: Number of events on all streams so far.
        self.records = 0
        self._order = VisitOrder()
        self._clock = ManualClock(start.TIME)
        self._agent_port = identity.agent_port
        self._master = start.recorded_master(identity, self._order, self._clock)
        self._streams: dict[str, ClientStream] = {}
        self._open: list[str] = []
        if identity.is_named:
            self._register("agent0.example", "slave(1)", f"{identity.master_id}-S0")
            self._collect("")

    def step(self, record: WireRecord) -> StepOutcome:
        """Run the step of a record."""
        self._order.expect(record, self.bound)
        answer: HttpAnswer | None = None
        if record.request is not None:
            answer = self._master.answer(self._request(record.request))
        else:
            self._happen(record)
        name = self._name_stream(record, answer)
        if record.advance_seconds:
            self._clock.advance(record.advance_seconds)
            self._master.run_timers()
        return self._collect(name, answer)

    def _request(self, request: WireRequest) -> MasterRequest:
        path, _, query = self.bound.fill(request.path).partition("?")
        body = base64.b64decode(request.body_base64) if request.body_base64 else b""
        if request.body is not None:
            body = self.bound.fill(request.body).encode()
        headers = {key.lower(): self.bound.fill(value) for key, value in request.headers.items()}
        if headers.get("mesos-stream-id") == "${STREAM_ID}":
            headers["mesos-stream-id"] = self._streams[self._open[-1]].id
        return MasterRequest(
            request.method, unquote(path), headers, body, dict(parse_qsl(query)), None
        )

    def _name_stream(self, record: WireRecord, answer: HttpAnswer | None) -> str:
        """Record the stream that a request opened, under its recorded name."""
        if answer is None or answer.stream is None:
            return ""
        known = self._streams.keys()
        name = next((each for each in record.events if each not in known), f"{record.n}")
        self._streams[name] = answer.stream
        self._open.append(name)
        self.bound.bind(f"STREAM_ID:{name}", answer.stream.id)
        self.bound.bind("STREAM_ID", answer.stream.id)
        return name

    def _collect(self, name: str, answer: HttpAnswer | None = None) -> StepOutcome:
        """Collect the effects of a step."""
        del name
        outcome = StepOutcome(answer, {}, [])
        names = {stream.id: each for each, stream in self._streams.items()}
        for effect in self._master.effects():
            if isinstance(effect, AgentMessage):
                address = effect.pid.partition("@")[0]
                outcome.agent_received.append(f"{address} {effect.name}")
                continue
            stream = names[effect.stream.id]
            events = outcome.events.setdefault(stream, [])
            if isinstance(effect, StreamEvent):
                self.records += 1
                events.append(event_value(effect.stream, effect.event))
            elif isinstance(effect, StreamEnd):
                events.append({"stream_end": True})
                self._open.remove(stream)
        return outcome

    def _happen(self, record: WireRecord) -> None:
        """Apply an action of an agent or a client that is not a request."""
        if record.agent is not None:
            agent_id = self.bound.fill(record.agent["id"])
            self._register(record.agent["hostname"], record.agent["pid"], agent_id)
        elif found := _REPORT.fullmatch(record.name):
            self._report(record, found.group(2))
        elif found := _EXIT.fullmatch(record.name):
            self._from_agent("ExitedExecutorMessage", found.group(1), status=int(found.group(2)))
        elif found := _TEXT.fullmatch(record.name):
            data = base64.b64encode(found.group(2).encode()).decode()
            self._from_agent("ExecutorToFrameworkMessage", found.group(1), data=data)
        elif found := _LEAVE.fullmatch(record.name):
            agent = next(
                each
                for each in self._master.state.agents
                if each.hostname.startswith(found.group(1))
            )
            body = {"slave_id": {"value": agent.id}}
            self._master.receive(agent.pid, "UnregisterSlaveMessage", body)
        elif "close" in record.name:
            named = _CLOSE.match(record.name)
            self._close(named.group(1) if named else self._open[-1])

    def _register(self, hostname: str, pid: str, agent_id: str) -> None:
        shown = agent_id
        if self.notes_agents:
            shown = agent_id.replace(self.bound.fill("${MASTER_ID}"), "${MASTER_ID}")
        message = agents.registration(self._session, hostname, (shown, agent_id))
        message["slave"]["port"] = self._agent_port
        address = f"{pid}@127.0.0.1:{self._agent_port}"
        self._master.receive(address, "RegisterSlaveMessage", message)

    def _report(self, record: WireRecord, task_id: str) -> None:
        """Report a status update in the form in which the framework received it."""
        want = next(
            event["update"]["status"]
            for events in record.events.values()
            for event in events
            if event["type"] == "UPDATE"
        )
        uuid = base64.b64encode(Rng(record.n).uid().replace("-", "").encode()[:16]).decode()
        self.bound.bind(want["uuid"][2:-1], uuid)
        task = next(
            framework.tasks[task_id]
            for framework in self._master.state.frameworks
            if task_id in framework.tasks
        )
        status = {key: value for key, value in want.items() if key not in ("timestamp", "agent_id")}
        agent = self._master.state.agents.get(task.agent_id)
        assert agent is not None
        update = {
            "framework_id": {"value": task.framework_id},
            "slave_id": {"value": agent.id},
            "status": status | {"uuid": uuid},
            "timestamp": self._clock.now(),
            "uuid": uuid,
        }
        self._master.receive(agent.pid, "StatusUpdateMessage", {"update": update, "pid": ""})

    def _from_agent(self, name: str, executor_id: str, **fields: Any) -> None:
        agent, framework_id = next(
            (agent, framework_id)
            for agent in self._master.state.agents
            for framework_id, executors in agent.executors.items()
            if executor_id in executors
        )
        message: Message = {
            "slave_id": {"value": agent.id},
            "framework_id": {"value": framework_id},
            "executor_id": {"value": executor_id},
            **fields,
        }
        self._master.receive(agent.pid, name, message)

    def _close(self, name: str) -> None:
        self._open.remove(name)
        self._master.closed(self._streams[name])
