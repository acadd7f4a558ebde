"""Protection of the dashboard: known host names, a session token, and strict headers.

A page of another site can neither read nor act: its requests have a foreign ``Origin`` and lack the
cookie (``SameSite=Strict``). Foreign names that resolve to the loopback address are not known
hosts.
"""

import hmac
from collections.abc import Collection, Mapping
from http.cookies import CookieError, SimpleCookie
from typing import Final, NamedTuple
from urllib.parse import parse_qs

from starlette.datastructures import MutableHeaders
from starlette.responses import PlainTextResponse, RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from stretto.web.hosts import LOOPBACK_HOSTS, host_of

COOKIE: Final = "stretto-session"
"""Name of the cookie with the token."""
POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
"""The Content-Security-Policy: only own files, no inline code and no inline styles."""
_HEADERS: Final = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
_SAFE: Final = frozenset({"GET", "HEAD"})
_OPEN_PATHS: Final = ("/static/", "/healthz")


class Access(NamedTuple):
    """Access restrictions of the dashboard."""

    #: Names, without port, by which browsers may reach the dashboard.
    hosts: Collection[str] = LOOPBACK_HOSTS
    #: Token that a browser must present once; empty if another layer authenticates.
    token: str = ""
    #: Path below which another application mounts the dashboard; empty for a separate server.
    base: str = ""


LOCAL: Final = Access()
"""Browsers of this machine, without a token."""


class Guard:
    """ASGI middleware of every page."""

    def __init__(self, app: ASGIApp, hosts: Collection[str], token: str = "") -> None:
        """Protect an application.

        Args:
            app: the pages.
            hosts: names, without port, by which browsers may reach it.
            token: a browser must present it once; empty if another layer authenticates.
        """
        self._app = app
        self._hosts = frozenset(hosts)
        self._token = token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check a request, and add the headers to its response."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = {k.decode("latin-1"): v.decode("latin-1") for k, v in scope["headers"]}
        refusal = self._refusal(scope, headers)
        if refusal:
            await PlainTextResponse(refusal, 403)(scope, receive, send)
            return
        presented = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        if self._token and presented and self._matches(presented):
            response = RedirectResponse(scope["path"] or "/", 303)
            path = scope.get("root_path") or "/"
            response.set_cookie(COOKIE, self._token, httponly=True, samesite="strict", path=path)
            await response(scope, receive, send)
            return
        if self._token and not self._has_session(scope, headers):
            text = "Open the address that the command printed: it contains the session token.\n"
            await PlainTextResponse(text, 401)(scope, receive, send)
            return
        await self._app(scope, receive, _with_headers(send))

    def _refusal(self, scope: Scope, headers: Mapping[str, str]) -> str:
        """Return why a request is refused; empty if it is not."""
        host = host_of(headers.get("host", ""))
        if host not in self._hosts:
            return f"host {host!r} is not served here: use {' or '.join(sorted(self._hosts))}\n"
        origin = headers.get("origin", "")
        if scope["method"] not in _SAFE and host_of(origin.partition("://")[2]) not in self._hosts:
            return "changes are accepted from the dashboard's own pages only\n"
        return ""

    def _has_session(self, scope: Scope, headers: Mapping[str, str]) -> bool:
        if scope["path"].removeprefix(scope.get("root_path", "")).startswith(_OPEN_PATHS):
            return True
        try:
            cookie = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
        except CookieError:
            return False
        return cookie is not None and self._matches(cookie.value)

    def _matches(self, presented: str) -> bool:
        return hmac.compare_digest(presented.encode(), self._token.encode())


def _with_headers(send: Send) -> Send:
    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in _HEADERS.items():
                headers.setdefault(name, value)
        await send(message)

    return sent
