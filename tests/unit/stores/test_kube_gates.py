"""The way into a lane: as wide as the server has time for."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stretto.base.rng import Rng
from stretto.stores.kube.login.messages import HttpRequest, HttpResponse
from stretto.stores.kube.transport.gates import WIDTH, RequestGate, RequestPurpose
from stretto.stores.kube.transport.options import KubeOptions
from stretto.stores.kube.transport.retry import RequestSender, WriteBatch, WriteInFlight
from stretto.stores.store import Reply, WriteOutcome


class Server:
    """A server that serves this number of requests at once, and rejects the others."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.inside = self.widest = self.turned_away = self.done = 0

    async def pass_gate(self, gate: RequestGate, pause: float) -> None:
        """A request that is sent until it is answered."""
        while True:
            async with gate as entered:
                self.inside += 1
                self.widest = max(self.widest, self.inside)
                well = self.inside <= self.most
                await asyncio.sleep(0)
                self.inside -= 1
            if well:
                gate.answered()
                self.done += 1
                return
            self.turned_away += 1
            gate.hold(pause, entered)


class Busy:
    """A line to a server that takes a tenth of a second a request, and turns some away.

    The seconds are those of the loop's clock, which goes on by them alone and by its waits.
    """

    options = KubeOptions(write_timeout=1.0, first_wait=0.001, longest_wait=0.001)

    def __init__(self, has_time: Callable[[int], bool]) -> None:
        self.requested: list[str] = []
        self.well: set[str] = set()
        self._has_time = has_time
        self._late = 0.0
        loop = asyncio.get_running_loop()
        real = loop.time
        loop.time = lambda: real() + self._late  # type: ignore[method-assign]

    async def exchange(self, request: HttpRequest, _may_send: Callable[[], bool]) -> HttpResponse:
        """The answer to a request; a rejected client gets ``Retry-After: 0``."""
        self._late += 0.1
        self.requested.append(request.path)
        if self._has_time(len(self.requested)):
            self.well.add(request.path)
            return HttpResponse(201, b"{}")
        return HttpResponse(429, b"{}", retry_after=0.0)

    async def batch(self, count: int) -> list[Reply]:
        """The answers to this number of writes."""
        sender = RequestSender(self, Rng(0))  # type: ignore[arg-type]

        async def send(path: str, batch: WriteBatch) -> Reply:
            write = WriteInFlight(
                RequestPurpose.STATUS, HttpRequest("PATCH", path), "patch pods/status"
            )
            answer = await sender.write(write, batch)
            return answer if isinstance(answer, Reply) else Reply(WriteOutcome.OK)

        paths = [str(number) for number in range(count)]
        return list(await sender.all(paths, RequestPurpose.STATUS, str, send))


class Mute:
    """A connection without requests."""

    options = KubeOptions()


def run(work: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(work, 20))


async def flood(gate: RequestGate, server: Server, requests: int, pause: float = 0.001) -> None:
    await asyncio.gather(*(server.pass_gate(gate, pause) for _ in range(requests)))


def test_no_more_requests_are_inside_than_the_lane_permits() -> None:
    gate, server = RequestGate(4), Server(most=100)
    run(flood(gate, server, 50))
    assert (server.done, server.widest, gate.limit) == (50, 4, 4)


def test_what_is_turned_away_together_narrows_the_lane_once() -> None:
    async def work() -> None:
        gate = RequestGate(32)
        entered = [await gate.__aenter__() for _ in range(32)]
        for each in entered:
            gate.hold(0.0, each)
        assert gate.limit == 16

    run(work())


def test_a_lane_finds_what_a_busy_server_has_time_for() -> None:
    gate, server = RequestGate(32), Server(most=1)
    run(flood(gate, server, 200))
    assert server.done == 200
    assert server.turned_away < 100, "as many as at once again and again would be thousands"


def test_a_lane_is_wide_again_once_the_server_is_idle() -> None:
    gate, server = RequestGate(8), Server(most=1)
    run(flood(gate, server, 50))
    assert gate.limit < 8
    server.most = 100
    run(flood(gate, server, 400))
    assert gate.limit == 8


def test_a_request_that_gives_up_does_not_block_the_others() -> None:
    async def work() -> None:
        gate = RequestGate(1)
        await gate.__aenter__()
        waiting = [asyncio.ensure_future(gate.__aenter__()) for _ in range(3)]
        await asyncio.sleep(0)
        waiting[0].cancel()
        await gate.__aexit__()
        waiting[1].cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting[1]
        await waiting[2]

    run(work())


@given(
    width=st.integers(1, 12), most=st.integers(1, 12), pauses=st.sampled_from([0.0, 0.001]),
    requests=st.integers(1, 60),
)  # fmt: skip
def test_every_request_is_answered_in_the_end(
    width: int, most: int, pauses: float, requests: int
) -> None:
    gate, server = RequestGate(width), Server(most)
    run(flood(gate, server, requests, pauses))
    assert server.done == requests
    assert server.widest <= width
    assert 1 <= gate.limit <= width


def test_a_batch_begins_as_the_one_before_it_has_no_more_to_send() -> None:
    async def run() -> list[str]:
        sender, sent, left = RequestSender(Mute(), Rng(0)), list[str](), asyncio.Event()  # type: ignore[arg-type]

        async def send(item: str, _: WriteBatch) -> Reply:
            sent.append(item)
            await (left.wait() if item == "a0" else asyncio.sleep(0))
            return Reply(WriteOutcome.OK)

        width = WIDTH[RequestPurpose.LEASE]
        first = [f"a{number}" for number in range(3 * width)]
        batches = [
            sender.all(items, RequestPurpose.LEASE, str, send) for items in (first, ["b0", "b1"])
        ]
        work = asyncio.gather(*batches)
        for _ in range(1000):  # turns of the loop, not time
            await asyncio.sleep(0)
        assert set(sent) == {*first, "b0", "b1"}  # one slow answer blocks no later request
        assert sent.index("b0") > sent.index(first[-1])
        left.set()
        await work
        return sent

    asyncio.run(run())


def test_a_failed_batch_releases_its_slots() -> None:
    async def run() -> None:
        sender = RequestSender(Mute(), Rng(0))  # type: ignore[arg-type]

        async def break_down(_item: str, _: WriteBatch) -> Reply:
            raise ValueError("broken")

        async def send(_item: str, _: WriteBatch) -> Reply:
            return Reply(WriteOutcome.OK)

        for _ in range(WIDTH[RequestPurpose.LEASE]):
            with pytest.raises(ValueError, match="broken"):
                await sender.all(["a", "b"], RequestPurpose.LEASE, str, break_down)
        assert len(await sender.all(["c"], RequestPurpose.LEASE, str, send)) == 1

    asyncio.run(asyncio.wait_for(run(), 5))


def test_a_server_that_turns_everything_away_costs_a_lane_its_timeout_once() -> None:
    async def work() -> None:
        line = Busy(lambda _: False)
        replies = await line.batch(500)
        assert {reply.outcome for reply in replies} == {WriteOutcome.REFUSED}
        assert len(set(line.requested)) <= WIDTH[RequestPurpose.STATUS]
        assert sum("nothing was sent" in each.message for each in replies) >= 400

    asyncio.run(work())  # by a clock of its own, so that no bound of seconds means anything


def test_a_busy_server_that_answers_some_gets_all_requests() -> None:
    async def work() -> None:
        line = Busy(lambda requested: requested % 3 == 0)
        replies = await line.batch(100)
        assert len(set(line.requested)) == 100  # although that takes many times the timeout
        assert [each.outcome for each in replies].count(WriteOutcome.OK) == len(line.well) > 20

    asyncio.run(work())  # by a clock of its own, so that no bound of seconds means anything
