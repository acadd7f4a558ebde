"""Bodies of requests, read within their limits."""

import asyncio

from starlette.requests import Request
from starlette.responses import Response

from stretto.offers.master.server.limits import RequestLimits


async def read_body(request: Request, limits: RequestLimits) -> bytes | Response:
    """The body within its limits, or the answer to a larger or slower one."""
    parts: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(limits.seconds):
            async for part in request.stream():
                size += len(part)
                if size > limits.body:
                    return plain_response(413, f"The body is larger than {limits.body:,} bytes")
                parts.append(part)
    except TimeoutError:
        return plain_response(408, f"The body is not complete after {limits.seconds:g} s")
    return b"".join(parts)


def plain_response(status: int, text: str, headers: dict[str, str] | None = None) -> Response:
    """An answer with a text."""
    return Response(text, status, headers, "text/plain; charset=utf-8")
