"""A part of a cycle waits for a turn of the event loop in which no request comes."""

import asyncio
import json
from typing import Any

from stretto.base.clock import ManualClock
from stretto.base.rng import Rng
from stretto.offers.allocator.build import make_allocator
from stretto.offers.allocator.subjects.settings import MESOS
from stretto.offers.master.api.http import MasterRequest
from stretto.offers.master.core.settings import MasterSettings
from stretto.offers.master.master import CycleTime, Master
from stretto.offers.master.server.host import LONGEST_YIELD, MasterHost
from tests.support.mesos import scalar

AGENT = "slave(1)@127.0.0.1:1"


class Turns:
    """A host with one agent, whose requests come in chosen turns."""

    def __init__(self) -> None:
        self.clock = ManualClock(1000.0)
        rng = Rng(1)
        allocator, on_call = make_allocator(rng, MESOS), CycleTime.ON_CALL
        self.master = Master(MasterSettings(id="m"), allocator, self.clock, rng, on_call)
        self.host = MasterHost(self.master, self.clock)
        slave = {"hostname": "h", "resources": [scalar("cpus", 1), scalar("mem", 64)]}
        capabilities = [{"type": "MULTI_ROLE"}]
        message = {"slave": slave, "agent_capabilities": capabilities, "version": "1.11.0"}
        self.host.links.open(AGENT)
        self.host.receive(AGENT, "RegisterSlaveMessage", message)

    async def subscribe(self) -> None:
        info = {"user": "u", "name": "f", "roles": ["a"]}
        info |= {"capabilities": [{"type": "MULTI_ROLE"}]}
        call: Any = {"type": "SUBSCRIBE", "subscribe": {"framework_info": info}}
        headers, body = {"content-type": "application/json"}, json.dumps(call).encode()
        await self.host.answer(MasterRequest("POST", "/api/v1/scheduler", headers, body))

    async def health(self) -> None:
        await self.host.answer(MasterRequest("GET", "/health"))

    @property
    def offered(self) -> int:
        return len(self.master.state.offers)


def test_a_part_of_a_cycle_runs_after_a_turn_without_requests() -> None:
    async def scene() -> list[int]:
        turns = Turns()
        await turns.subscribe()
        found = []
        for _ in range(3):
            await turns.health()
            await asyncio.sleep(0)
            found.append(turns.offered)
        await asyncio.sleep(0)
        return [*found, turns.offered]

    assert asyncio.run(scene()) == [0, 0, 0, 1]


def test_requests_in_every_turn_do_not_stop_the_cycles() -> None:
    async def scene() -> int:
        turns = Turns()
        await turns.subscribe()
        turns.clock.advance(LONGEST_YIELD)
        await turns.health()
        await asyncio.sleep(0)
        return turns.offered

    assert asyncio.run(scene()) == 1
