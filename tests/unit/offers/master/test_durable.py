"""A master whose store is silent: heartbeats and answers go on, promises wait."""

import asyncio
import json
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from stretto.base.clock import ManualClock
from stretto.base.errors import UnreachableError
from stretto.base.rng import Rng
from stretto.offers.allocator.build import make_allocator
from stretto.offers.allocator.subjects.settings import MESOS
from stretto.offers.master.api.http import HttpAnswer, MasterRequest
from stretto.offers.master.core.settings import MasterSettings
from stretto.offers.master.master import Master
from stretto.offers.master.server.host import HostThreads, MasterHost
from stretto.offers.master.storage.contract import MasterJournal, StateChanges
from stretto.offers.master.storage.journal import MasterFile

MOMENT = 5.0
"""Maximum seconds on a busy machine."""


class SilentState(MasterFile):
    """A state that is stored only once it is allowed to."""

    def __init__(self) -> None:
        super().__init__(Path(":memory:"))
        self.answers = threading.Event()
        self.written: list[StateChanges] = []
        self.error: UnreachableError | None = None

    def write(self, changes: StateChanges) -> None:
        assert self.answers.wait(MOMENT)
        if self.error is not None:
            raise self.error
        self.written.append(changes)


class Bench:
    """A host whose state is silent."""

    def __init__(self, writer: ThreadPoolExecutor) -> None:
        self.clock = ManualClock(1000.0)
        self.state = SilentState()
        rng = Rng(1)
        master = Master(MasterSettings(id="m"), make_allocator(rng, MESOS), self.clock, rng)
        journal = MasterJournal(self.state, master.state)
        self.host = MasterHost(master, self.clock, journal, threads=HostThreads(writer=writer))

    async def call(self, body: dict[str, Any], stream: str = "") -> HttpAnswer:
        headers = {"content-type": "application/json"}
        headers |= {"mesos-stream-id": stream} if stream else {}
        text = json.dumps(body).encode()
        return await self.host.answer(MasterRequest("POST", "/api/v1/scheduler", headers, text))

    async def subscribe(self) -> HttpAnswer:
        info = {"user": "u", "name": "f", "roles": ["a"], "failover_timeout": 1e6}
        info["capabilities"] = [{"type": "MULTI_ROLE"}]
        return await self.call({"type": "SUBSCRIBE", "subscribe": {"framework_info": info}})


Scene = Callable[[Bench], Awaitable[None]]


def play(scene: Scene) -> None:
    async def whole(bench: Bench) -> None:
        try:
            await scene(bench)
        finally:
            bench.state.answers.set()
            await asyncio.sleep(0.02)  # the last write ends

    with ThreadPoolExecutor(1) as writer:
        bench = Bench(writer)
        with closing(bench.state):
            asyncio.run(whole(bench))


async def records(bench: Bench, answer: HttpAnswer, count: int) -> list[str]:
    """Types of the next events of a stream."""
    assert answer.stream is not None
    found = []
    async for record in bench.host.records(answer.stream):
        found.append(json.loads(record.partition(b"\n")[2])["type"])
        if len(found) == count:
            break
    return found


async def opened(bench: Bench) -> HttpAnswer:
    """A subscribed framework; the state is silent again."""
    bench.state.answers.set()
    answer = await bench.subscribe()
    bench.state.answers.clear()
    return answer


def test_a_subscription_waits_until_it_is_stored() -> None:
    async def scene(bench: Bench) -> None:
        calls = asyncio.create_task(bench.subscribe())
        await asyncio.sleep(0.02)
        assert not calls.done()
        bench.state.answers.set()
        answer = await asyncio.wait_for(calls, MOMENT)
        assert await records(bench, answer, 2) == ["SUBSCRIBED", "HEARTBEAT"]

    play(scene)


def test_calls_that_change_nothing_are_answered_while_the_state_is_silent() -> None:
    async def scene(bench: Bench) -> None:
        answer = await opened(bench)
        waiting = asyncio.create_task(bench.subscribe())
        await asyncio.sleep(0.02)
        stream = answer.headers["Mesos-Stream-Id"]
        framework = {"framework_id": {"value": "m-0000"}}
        call = {"type": "RECONCILE", "reconcile": {"tasks": []}} | framework
        found = await asyncio.wait_for(bench.call(call, stream), MOMENT)
        assert (found.status, waiting.done()) == (202, False)
        bench.state.answers.set()
        await waiting

    play(scene)


def test_heartbeats_go_on_while_the_state_is_silent() -> None:
    async def scene(bench: Bench) -> None:
        answer = await opened(bench)
        waiting = asyncio.create_task(bench.subscribe())
        await asyncio.sleep(0.02)
        bench.clock.advance(15.0)
        timers = asyncio.create_task(bench.host.run_timers())
        found = await asyncio.wait_for(records(bench, answer, 3), MOMENT)
        assert (found, waiting.done()) == (["SUBSCRIBED", "HEARTBEAT", "HEARTBEAT"], False)
        timers.cancel()
        bench.state.answers.set()
        await waiting

    play(scene)


def test_steps_that_come_during_a_write_are_stored_together() -> None:
    async def scene(bench: Bench) -> None:
        calls = [asyncio.create_task(bench.subscribe())]
        await asyncio.sleep(0.02)
        calls += [asyncio.create_task(bench.subscribe()) for _ in range(3)]
        await asyncio.sleep(0.02)
        bench.state.answers.set()
        await asyncio.gather(*calls)
        assert [len(each.rows) for each in bench.state.written] == [1, 3]

    play(scene)


def test_a_failed_write_fails_the_request_and_every_later_step() -> None:
    async def scene(bench: Bench) -> None:
        bench.state.error = UnreachableError("the state", "silent")
        bench.state.answers.set()
        with pytest.raises(UnreachableError):
            await bench.subscribe()
        with pytest.raises(UnreachableError):
            bench.host.step()

    play(scene)
