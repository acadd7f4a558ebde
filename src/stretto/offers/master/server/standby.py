"""Requests to a process that does not lead: they are redirected to the leader."""

from collections.abc import Callable
from typing import Final

from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

_HEALTH: Final = frozenset({"/health", "/master/health"})


class StandbyApp:
    """Passes requests to the master of this process while it leads; redirects them otherwise."""

    def __init__(self, leader: Callable[[], str]) -> None:
        """Stand by; ``leader`` returns the address of the leader, or an empty text."""
        self._leader = leader
        self._app: ASGIApp | None = None

    def lead(self, app: ASGIApp) -> None:
        """Pass requests to a master."""
        self._app = app

    def stand_by(self) -> None:
        """Redirect requests."""
        self._app = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection of the ASGI protocol."""
        if self._app is not None:
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            await self._answer(scope)(scope, receive, send)

    def _answer(self, scope: Scope) -> Response:
        """The answer to a request while this process has no master."""
        path, query = scope["path"], scope.get("query_string", b"").decode("latin-1")
        if path in _HEALTH:
            return Response(status_code=200)
        leader = self._leader()
        if not leader:
            text = "No leader elected"
            return Response(text, 503, media_type="text/plain")
        where = f"//{leader}{path}" + (f"?{query}" if query else "")
        return Response(status_code=307, headers={"Location": where})
