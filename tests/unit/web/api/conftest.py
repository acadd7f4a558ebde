"""A server that tests send requests to, and what it answered."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from stretto.base.clock import ManualClock
from stretto.base.rng import Rng
from stretto.stores.embedded.memory import MemoryStore
from stretto.web.api.message import ApiRequest, ApiResponse
from stretto.web.api.server import ApiServer, ApiSettings


@dataclass(frozen=True)
class Reply:
    """An answer."""

    #: HTTP status.
    status: int
    #: Body.
    item: Any
    #: Texts of warnings, as in the headers.
    warnings: list[str]

    @property
    def message(self) -> str:
        """Message of a failure; empty for a success."""
        return str(self.item.get("message", ""))


Send = Callable[..., Reply]
"""Sends a request: method, path, body, and the media type of the body."""


@pytest.fixture
def server() -> ApiServer:
    """A server over an empty store, whose requests are those of an administrator."""
    clock = ManualClock(1_790_000_000.0)
    return ApiServer(MemoryStore(clock, Rng(1)), ApiSettings(clock, Rng(2)))


@pytest.fixture
def send(server: ApiServer) -> Send:
    """Sends a request to the server."""

    def sent(method: str, path: str, body: Any = None, media: str = "json") -> Reply:
        data = b"" if body is None else json.dumps(body).encode()
        headers = {"content-type": f"application/{media}", "user-agent": "test/1"}
        answer = server.handle(ApiRequest(method, path, headers, data))
        assert isinstance(answer, ApiResponse)
        item = json.loads(answer.body) if answer.body.startswith(b"{") else {}
        return Reply(answer.status, item, list(answer.headers.get("Warning", ())))

    return sent
