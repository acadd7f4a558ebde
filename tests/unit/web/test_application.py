"""The HTTP application: bodies, hosts, streams."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from stretto.base.clock import ManualClock
from stretto.base.rng import Rng
from stretto.stores.embedded.memory import MemoryStore
from stretto.stores.webhooks import WebhookAnswer, WebhookCall
from stretto.web.api.authn.users import TokenTable, User
from stretto.web.api.message import ApiRequest, ApiStream
from stretto.web.api.server import ApiServer, ApiSettings
from stretto.web.api.webhooks.reviews import PendingReviewsError, ReviewCall, ReviewMemory
from stretto.web.application import MAX_BODY, application

MAPS = "/api/v1/namespaces/default/configmaps"


def send(
    path: str, body: bytes = b"", *, stalls: bool = False, **headers: str
) -> tuple[int, bytes]:
    """One request to the application; returns status and body."""
    clock = ManualClock(1_790_000_000.0)
    tokens = TokenTable({"secret": User("admin", "admin", ("system:masters",))})
    server = ApiServer(MemoryStore(clock, Rng(1)), ApiSettings(clock, Rng(2), tokens))
    given = {"host": "127.0.0.1:80", "authorization": "Bearer secret"} | headers
    path, _, query = path.partition("?")
    scope: dict[str, Any] = {
        "type": "http",
        "method": "POST" if body else "GET",
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "headers": [(name.encode(), value.encode()) for name, value in given.items()],
    }
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        if stalls:
            await asyncio.sleep(0.2)
        return {"type": "http.request", "body": body, "more_body": False}

    async def keep(message: Any) -> None:
        sent.append(message)

    app: Any = application(server.handle)
    asyncio.run(app(scope, receive, keep))
    return sent[0]["status"], b"".join(each.get("body", b"") for each in sent)


def test_a_request_with_the_token_is_answered() -> None:
    assert b"ConfigMapList" in send(MAPS)[1]


def test_a_request_with_another_token_is_unauthorized() -> None:
    assert send(MAPS, authorization="Bearer guess")[0] == 401


def test_a_request_for_another_host_is_refused() -> None:
    assert send(MAPS, host="evil.example")[0] == 421


def test_a_body_beyond_the_limit_is_refused() -> None:
    assert send(MAPS, b" " * (MAX_BODY + 1))[0] == 413


def test_a_body_that_never_begins_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stretto.web.application._BODY_SECONDS", 0.01)
    assert send(MAPS, b"", stalls=True)[0] == 408


def test_a_stream_goes_on_once_its_webhooks_have_answered() -> None:
    memory = ReviewMemory()
    call = ReviewCall("key", WebhookCall("https://hooks.test/", b"", 1.0))
    polls = iter([PendingReviewsError([call]), [b"first"], None])
    sent: list[Any] = []

    def poll() -> list[bytes] | None:
        found = next(polls)
        if isinstance(found, PendingReviewsError):
            raise found
        return found

    def attempt(request: ApiRequest) -> ApiStream:
        memory.answers = request.memory.answers
        return ApiStream(200, "text/plain", poll, lambda _: None, lambda: None)

    async def review(calls: Sequence[WebhookCall]) -> list[WebhookAnswer]:
        return [WebhookAnswer(b"answer") for _ in calls]

    async def keep(message: Any) -> None:
        sent.append(message.get("body", b""))

    app: Any = application(attempt, review=review)
    asyncio.run(app({"type": "http", "method": "GET", "headers": []}, receive_once(), keep))
    assert (memory.answers["key"].body, b"".join(sent)) == (b"answer", b"first")


def test_a_chunk_without_bytes_is_not_sent() -> None:
    polls = iter([[b""], [b"first"], None])
    sent: list[Any] = []

    async def keep(message: Any) -> None:
        sent.append(message.get("body"))

    stream = ApiStream(200, "text/plain", lambda: next(polls), lambda _: None, lambda: None)
    app: Any = application(lambda _: stream)
    asyncio.run(app({"type": "http", "method": "GET", "headers": []}, receive_once(), keep))
    assert sent == [None, b"first", b""]


def receive_once() -> Any:
    """Messages of a client that sends an empty body and stays."""
    messages = iter([{"type": "http.request"}])

    async def receive() -> dict[str, Any]:
        found = next(messages, None)
        if found is None:
            await asyncio.Event().wait()
        return found or {}

    return receive


async def receive_nothing(message: Any) -> None:
    """Accept a message of a response."""
