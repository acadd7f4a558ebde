"""The response whose body the broadcasting process sends."""

from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from stretto.serving.broadcast.broadcaster import Broadcast, Broadcaster
from stretto.serving.configuration import RELEASE


class BroadcastResponse(StreamingResponse):
    """A response that is a broadcast.

    The server sends the head, so that access control and headers are those of all responses. Then
    it passes the connection to the broadcasting process. If that is not possible (TLS, or another
    server runs the application), this process sends the broadcast itself.
    """

    def __init__(self, broadcaster: Broadcaster, broadcast: Broadcast) -> None:
        """Respond with a broadcast.

        Args:
            broadcaster: sender of the broadcast.
            broadcast: the messages.
        """
        super().__init__(
            (each.data async for each in broadcast.messages()), media_type=broadcast.media_type
        )
        self._broadcaster = broadcaster
        self._broadcast = broadcast

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the head and pass the connection to the broadcasting process."""
        offered = (scope.get("extensions") or {}).get(RELEASE)
        if offered is None or scope["method"] != "GET":
            await super().__call__(scope, receive, send)
            return
        head = {"type": "http.response.start", "status": self.status_code}
        await send({**head, "headers": self.raw_headers})
        connection = await offered["call"]()
        if connection is not None:
            self._broadcaster.hand_over(connection, self._broadcast)
        while (await receive())["type"] != "http.disconnect":
            pass
