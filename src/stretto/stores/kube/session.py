"""The connections and calls of one logged-in client, created on its event loop."""

from typing import NamedTuple

from stretto.base.rng import Rng
from stretto.stores.kube.login.access import LoginSource
from stretto.stores.kube.reads import ReadCalls
from stretto.stores.kube.transport.client import HttpClient
from stretto.stores.kube.transport.gates import WIDTH, RequestPurpose
from stretto.stores.kube.transport.options import KubeOptions
from stretto.stores.kube.transport.retry import RequestSender
from stretto.stores.kube.writes import WriteCalls


class KubeSession(NamedTuple):
    """Parts of a connected client that a store calls."""

    #: The connections.
    line: HttpClient
    #: Sends requests with retries.
    sender: RequestSender
    #: Read calls.
    reads: ReadCalls
    #: Write calls.
    writes: WriteCalls

    async def prepare(self) -> None:
        """Open the connections that binds will use."""
        await self.line.prepare(WIDTH[RequestPurpose.BIND])


async def open_session(access: LoginSource, options: KubeOptions, rng: Rng) -> KubeSession:
    """Log in. The first login takes about a second, so no write should wait for it.

    Args:
        access: server, trust and identity.
        options: timeouts and limits.
        rng: spreads the waits between attempts.
    """
    line = HttpClient(access, options)
    await line.login()
    sender = RequestSender(line, rng)
    reads = ReadCalls(sender)
    return KubeSession(line, sender, reads, WriteCalls(sender, reads))
