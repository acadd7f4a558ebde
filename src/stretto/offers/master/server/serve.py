"""Serve a master over HTTP or HTTPS until the process is stopped."""

import asyncio
import ipaddress
from contextlib import suppress
from pathlib import Path

import msgspec
from starlette.types import ASGIApp

from stretto.base.clock import Clock
from stretto.base.errors import InputError
from stretto.offers.master.server.app import MasterApp
from stretto.offers.master.server.credentials import Authenticator, Credential
from stretto.offers.master.server.host import MasterHost
from stretto.offers.master.server.limits import RateLimiter, RequestLimits
from stretto.serving.accepting import SocketServer
from stretto.serving.configuration import TlsFiles, server_config
from stretto.serving.sockets import listening


class ServerSettings(msgspec.Struct, frozen=True):
    """Address, certificate, credentials and limits of a server."""

    #: Address to listen on.
    ip: str = "127.0.0.1"
    #: Port to listen on.
    port: int = 5050
    #: Certificate chain; ``None`` for HTTP.
    certificate: Path | None = None
    #: Private key of the certificate.
    key: Path | None = None
    #: Accepted credentials; empty for no authentication.
    credentials: tuple[Credential, ...] = ()
    #: Limits of requests.
    limits: RequestLimits = RequestLimits()

    def check(self) -> None:
        """Check that only the loopback address is served without TLS and credentials.

        Raises:
            InputError: the address is not an IP address, or is reachable without protection.
        """
        try:
            address = ipaddress.ip_address(self.ip)
        except ValueError as error:
            raise InputError("--ip", self.ip, "an IP address") from error
        if address.is_loopback:
            return
        if self.certificate is None or not self.credentials:
            expected = "TLS and credentials for addresses that other machines reach"
            hint = "add --tls-cert, --tls-key and --credentials, or listen on 127.0.0.1"
            raise InputError("--ip", self.ip, expected, hint)


def application(host: MasterHost, settings: ServerSettings, clock: Clock) -> MasterApp:
    """The application that serves a master."""
    rates = RateLimiter(settings.limits, clock.monotonic)
    return MasterApp(host, Authenticator(settings.credentials), settings.limits, rates)


async def serve(host: MasterHost, settings: ServerSettings, clock: Clock) -> None:
    """Serve a master until SIGINT or SIGTERM.

    Raises:
        InputError: the address is reachable without protection.
    """
    settings.check()
    timers = asyncio.get_running_loop().create_task(host.run_timers())
    try:
        await serve_application(application(host, settings, clock), settings)
    finally:
        timers.cancel()
        with suppress(asyncio.CancelledError):
            await timers


async def serve_application(app: ASGIApp, settings: ServerSettings) -> None:
    """Serve an application until SIGINT or SIGTERM."""
    certificate = settings.certificate
    tls = None if certificate is None else TlsFiles(certificate, settings.key)
    with listening(settings.ip, settings.port, hint="choose another port") as listener:
        await SocketServer(server_config(app, tls)).serve(sockets=[listener])
