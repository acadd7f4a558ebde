"""HTTP client of webhooks: concurrent calls, bounded in time, size and number of failures.

A server that failed is not called for a while, so that many objects do not wait for it one after
the other.
"""

import asyncio
import base64
import binascii
import ssl
from collections.abc import Sequence
from concurrent.futures import Future
from typing import Final

import aiohttp

from stretto.api.types.federation.objects import WebhookTLSConfig
from stretto.base.clock import Clock, WallClock
from stretto.base.errors import InputError
from stretto.stores.kube.login.messages import JSON, LostError, body_of
from stretto.stores.kube.login.trust import trusting_context
from stretto.stores.kube.transport.event_loop import LoopThread
from stretto.stores.webhooks import WebhookAnswer, WebhookCall, WebhookFault

PAUSE: Final = 5.0
"""Seconds that a failed server is not called."""
_UNTRUSTED: Final = (18, 19, 20, 21)
"""Codes of OpenSSL for certificates whose authority is unknown."""
_SAID: Final = 300
"""Number of characters of an error response in a message."""


class HttpWebhookClient:
    """Caller of webhooks, in a separate thread."""

    def __init__(self, clock: Clock | None = None, pause: float = PAUSE) -> None:
        """Create a client.

        Args:
            clock: measures the pauses after failures.
            pause: seconds that a failed server is not called.
        """
        self._clock = clock or WallClock()
        self._loop = LoopThread("webhooks")
        self._session: aiohttp.ClientSession | None = None
        self._pause = pause
        self._paused: dict[str, tuple[float, str]] = {}

    def send(self, calls: Sequence[WebhookCall]) -> Sequence[WebhookAnswer]:
        """Send calls at the same time; return one answer for each, in the same order."""
        return self._loop.run(self._all(calls))

    def start(self, calls: Sequence[WebhookCall]) -> "Future[Sequence[WebhookAnswer]]":
        """Send calls as ``send`` does, without waiting for the answers."""
        return self._loop.start(self._all(calls))

    def close(self) -> None:
        """Close all connections and end the thread."""
        self._loop.close(self._end)

    # ---------------------------------------------------------------- on the event loop

    async def _end(self) -> None:
        if self._session is not None:
            await self._session.close()

    async def _all(self, calls: Sequence[WebhookCall]) -> Sequence[WebhookAnswer]:
        if self._session is None:
            self._session = aiohttp.ClientSession(trust_env=False)
        session, now = self._session, self._clock.monotonic()
        return await asyncio.gather(*(self._one(session, each, now) for each in calls))

    async def _one(
        self, session: aiohttp.ClientSession, call: WebhookCall, now: float
    ) -> WebhookAnswer:
        until, problem = self._paused.get(call.url, (0.0, ""))
        if now < until:
            return WebhookAnswer(problem=f"{problem}; called again in {until - now:.0f} s")
        try:
            return await self._posted(session, call)
        except TimeoutError:
            problem, fault = f"no answer within {call.timeout_s:g} s", WebhookFault.TIMEOUT
        except (aiohttp.ClientError, LostError, OSError, InputError) as error:
            problem, fault = str(error) or type(error).__name__, _fault(error)
        if self._pause:
            self._paused[call.url] = self._clock.monotonic() + self._pause, problem
        return WebhookAnswer(problem=problem, fault=fault)

    @staticmethod
    async def _posted(session: aiohttp.ClientSession, call: WebhookCall) -> WebhookAnswer:
        """Return the answer of the server; redirects are not followed.

        Raises:
            TimeoutError, OSError, aiohttp.ClientError, LostError: there is no answer.
            InputError: the certificates of the configuration cannot be used.
        """
        tls = call.tls
        async with session.post(
            call.url,
            data=call.body,
            headers={"Content-Type": JSON, "Accept": JSON},
            timeout=aiohttp.ClientTimeout(total=call.timeout_s),
            allow_redirects=False,
            ssl=_context(tls) if tls is not None else True,
            server_hostname=(tls.server_name or None) if tls is not None else None,
        ) as response:
            body = await body_of(response, call.most_bytes)
            if response.status == 200:
                return WebhookAnswer(body)
            said = body[:_SAID].decode("utf-8", "replace").strip()
            problem = f"HTTP status {response.status}: {said}"
            is_text = response.content_type.startswith("text/")
            return WebhookAnswer(body, problem, response.status, is_text=is_text)


def _fault(error: Exception) -> WebhookFault:
    """Classify an error of a connection."""
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return WebhookFault.UNKNOWN_HOST
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        inner = error.certificate_error
        code = getattr(inner, "verify_code", 0)
        return WebhookFault.UNTRUSTED if code in _UNTRUSTED else WebhookFault.OTHER
    inner = getattr(error, "os_error", error)
    return WebhookFault.REFUSED if isinstance(inner, ConnectionRefusedError) else WebhookFault.OTHER


def _context(tls: WebhookTLSConfig) -> ssl.SSLContext:
    """Return the TLS context of a configuration.

    Raises:
        InputError: its certificates cannot be used.
    """
    try:
        authority, cert, key = (
            base64.b64decode(each, validate=True)
            for each in (tls.ca_data, tls.cert_data, tls.key_data)
        )
        return trusting_context(authority, cert, key, is_blind=tls.insecure)
    except (binascii.Error, OSError, ValueError) as error:
        expected = f"certificates as base64 of PEM: {error}"
        raise InputError("spec.tlsConfig", None, expected) from error
