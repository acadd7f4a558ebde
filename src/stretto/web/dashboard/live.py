"""What browsers read continuously: the layout and frames of nodes, and changes."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Final

import msgspec
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from stretto.web.dashboard.frames import INTERVAL, FrameHub
from stretto.web.dashboard.ticker import Ticker
from stretto.web.views.sight import ViewSource

_QUIET: Final = 5.0
"""Seconds after which a comment is sent to an idle reader of events."""


class Live:
    """The streams of a source."""

    def __init__(self, source: ViewSource) -> None:
        """Serve the changes of a source."""
        self._source = source
        self._ticker = Ticker(INTERVAL)
        self._hub = FrameHub(source, self._ticker)

    def routes(self) -> list[Route]:
        """The routes of the streams."""
        return [
            Route("/live/layout", self._layout),
            Route("/live/frames", self._frames),
            Route("/live/changes", self._changes),
        ]

    async def _layout(self, request: Request) -> Response:
        del request
        layout = await self._hub.layout()
        return Response(msgspec.json.encode(layout), media_type="application/json")

    async def _frames(self, request: Request) -> Response:
        frames = self._hub.frames(request.query_params.get("column", "cpu"))
        return StreamingResponse(frames, media_type="application/octet-stream")

    async def _changes(self, request: Request) -> Response:
        del request
        return StreamingResponse(self._events(), media_type="text/event-stream")

    async def _events(self) -> AsyncIterator[bytes]:
        """A server-sent event per change, with the decisions since the last one."""
        clock = asyncio.get_running_loop().time
        version, position, sent_at = -1, 0, 0.0
        while True:
            now = self._source.version
            if now != version:
                position, found = self._source.decisions(position)
                version, sent_at = now, clock()
                event = {"version": version, "decisions": [msgspec.to_builtins(d) for d in found]}
                yield b"data: " + json.dumps(event).encode() + b"\n\n"
            elif clock() - sent_at > _QUIET:
                sent_at = clock()
                yield b": idle\n\n"
            await self._ticker.wait()
