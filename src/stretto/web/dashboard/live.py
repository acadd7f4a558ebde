"""Streams for browsers: the layout and frames of nodes, and changes."""

import asyncio
from collections.abc import AsyncIterator
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from stretto.serving.broadcast.broadcaster import Broadcast, Broadcaster, Message
from stretto.serving.broadcast.response import BroadcastResponse
from stretto.web.dashboard.frames import INTERVAL, FrameHub
from stretto.web.dashboard.ticker import Ticker
from stretto.web.views.state import ViewSource

_QUIET: Final = 5.0
"""Seconds after which a comment is sent to idle readers of events."""
_IDLE: Final = Message(b": idle\n\n", is_state=False)


class Live:
    """Streams of a source; each is created once for all its readers."""

    def __init__(self, source: ViewSource) -> None:
        """Serve the changes of a source."""
        self._source = source
        self._ticker = Ticker(INTERVAL)
        self._hub = FrameHub(source, self._ticker)
        self._broadcaster = Broadcaster()

    def routes(self) -> list[Route]:
        """The routes of the streams."""
        return [
            Route("/live/layout", self._layout),
            Route("/live/frames", self._frames),
            Route("/live/changes", self._changes),
        ]

    def close(self) -> None:
        """End the streams."""
        self._broadcaster.close()

    async def _layout(self, request: Request) -> Response:
        del request
        return Response(await self._hub.layout(), media_type="application/json")

    async def _frames(self, request: Request) -> Response:
        column = request.query_params.get("column", "cpu")
        broadcast = Broadcast(
            ("frames", column), lambda: self._hub.frames(column), "application/octet-stream"
        )
        return BroadcastResponse(self._broadcaster, broadcast)

    async def _changes(self, request: Request) -> Response:
        del request
        broadcast = Broadcast("changes", self._events, "text/event-stream")
        return BroadcastResponse(self._broadcaster, broadcast)

    async def _events(self) -> AsyncIterator[Message]:
        """Yield an event ``version`` with the version of the state for each change."""
        clock = asyncio.get_running_loop().time
        version, sent_at = -1, 0.0
        while True:
            now = self._source.version
            if now != version:
                version, sent_at = now, clock()
                yield Message(b"event: version\ndata: %d\n\n" % version)
            elif clock() - sent_at > _QUIET:
                sent_at = clock()
                yield _IDLE
            await self._ticker.wait()
