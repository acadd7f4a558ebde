"""Bodies of requests: too large, or without an end."""

import asyncio
from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import Response

from stretto.offers.master.server.connections import read_body
from stretto.offers.master.server.limits import RequestLimits


def read(parts: list[bytes], stated: bytes = b"", **limits: Any) -> bytes | tuple[int, bytes]:
    """The body of a request whose parts have no end, or the status and text of the answer."""

    async def receive() -> dict[str, Any]:
        if not parts:
            await asyncio.sleep(60)
        return {"type": "http.request", "body": parts.pop(0), "more_body": True}

    headers = [(b"content-length", stated)] if stated else []
    request = Request({"type": "http", "method": "POST", "headers": headers}, receive)
    answer = asyncio.run(read_body(request, RequestLimits(**limits)))
    return (answer.status_code, bytes(answer.body)) if isinstance(answer, Response) else answer


@pytest.mark.parametrize(
    ("parts", "limits", "status", "text"),
    [
        ([b"x"], {"seconds": 0.05}, 408, b"The body is not complete after 0.05 s"),
        ([b"xxx", b"xxx"], {"body": 5}, 413, b"The body is larger than 5 bytes"),
    ],
)
def test_a_body_that_never_ends_is_refused(
    parts: list[bytes], limits: dict[str, Any], status: int, text: bytes
) -> None:
    assert read(parts, **limits) == (status, text)


def test_a_body_that_is_stated_to_be_too_large_is_not_read() -> None:
    parts = [b"xxx"]
    assert read(parts, b"9" * 40, body=5) == (413, b"The body is larger than 5 bytes")
    assert parts == [b"xxx"]
