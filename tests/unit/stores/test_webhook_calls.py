"""The HTTP client of webhooks against a server on loopback."""

import asyncio
from collections.abc import Iterator

import pytest
from aiohttp import web

from stretto.base.clock import ManualClock
from stretto.stores.kube.transport.event_loop import LoopThread
from stretto.stores.kube.webhooks import PAUSE, HttpWebhookClient
from stretto.stores.webhooks import WebhookCall


class HookServer:
    """Answers ``/good``, ``/bad`` and ``/slow``."""

    def __init__(self) -> None:
        self.loop = LoopThread("hook-server")
        self.requests: list[str] = []
        self.url = self.loop.run(self._start())

    async def _start(self) -> str:
        app = web.Application()
        app.router.add_post("/{path}", self._answer)
        self.runner = web.AppRunner(app)
        await self.runner.setup()
        site = web.TCPSite(self.runner, "127.0.0.1", 0)
        await site.start()
        return f"http://127.0.0.1:{self.runner.addresses[0][1]}"

    async def _answer(self, request: web.Request) -> web.Response:
        path = request.match_info["path"]
        self.requests.append(path)
        if path == "slow":
            await asyncio.sleep(5.0)
        return web.Response(status=500 if path == "bad" else 200, text=await request.text())


@pytest.fixture
def server() -> Iterator[HookServer]:
    made = HookServer()
    yield made
    made.loop.close(made.runner.cleanup)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(1_000.0)


@pytest.fixture
def client(clock: ManualClock) -> Iterator[HttpWebhookClient]:
    made = HttpWebhookClient(clock)
    yield made
    made.close()


def call(server: HookServer, path: str, timeout_s: float = 5.0) -> WebhookCall:
    return WebhookCall(f"{server.url}/{path}", b'{"a": 1}', timeout_s)


def test_answers_come_in_the_order_of_the_calls(
    client: HttpWebhookClient, server: HookServer
) -> None:
    found = client.send([call(server, "bad"), call(server, "good")])
    assert [(each.status, each.problem, each.body) for each in found] == [
        (500, 'HTTP status 500: {"a": 1}', b'{"a": 1}'),
        (0, "", b'{"a": 1}'),
    ]


def test_an_unresponsive_server_costs_the_timeout_only(
    client: HttpWebhookClient, server: HookServer
) -> None:
    found = client.send([call(server, "slow", 0.1)])[0]
    assert found.problem == "no answer within 0.1 s"


def test_a_server_that_failed_is_not_called_for_a_while(
    client: HttpWebhookClient, server: HookServer, clock: ManualClock
) -> None:
    server.loop.close(server.runner.cleanup)
    first = client.send([call(server, "good")])[0]
    second = client.send([call(server, "good")])[0]
    assert first.problem
    assert second.problem == f"{first.problem}; called again in {PAUSE:.0f} s"
