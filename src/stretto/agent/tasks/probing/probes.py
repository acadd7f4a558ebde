"""One probe of a task: a command, an HTTP request or a TCP connection."""

import asyncio
import signal
import ssl
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from stretto.agent.tasks.containers import processes
from stretto.agent.tasks.containers.users import UserError, command_user
from stretto.offers.messages.schema import Message

HOSTS: Final = {"IPV4": "127.0.0.1", "IPV6": "::1"}
"""Address of the task by network protocol."""


class ProbeSite(NamedTuple):
    """Environment of the commands of probes."""

    #: Working directory: the sandbox of the task.
    directory: Path
    #: Variables of the agent.
    variables: Mapping[str, str] = {}
    #: User; empty for the user of the agent.
    user: str = ""


class ProbeResult(NamedTuple):
    """Result of a probe; all fields are ``None`` if there is none, as after a timeout."""

    #: Exit status of a command.
    exit_code: int | None = None
    #: Status of an HTTP answer.
    status_code: int | None = None
    #: True if a TCP connection was accepted.
    succeeded: bool | None = None


NO_RESULT: Final = ProbeResult()
"""Result of a probe that did not end."""


async def run_command(command: Message, site: ProbeSite, seconds: float) -> ProbeResult:
    """Run a command until its end or the time limit in seconds."""
    try:
        async with asyncio.timeout(seconds or None):
            return ProbeResult(exit_code=await _exit_code(command, site))
    except (OSError, TimeoutError, ValueError, UserError):
        return NO_RESULT


async def get_http(http: Message, seconds: float) -> ProbeResult:
    """Send a GET request to the task; certificates are not verified."""
    try:
        async with asyncio.timeout(seconds or None):
            return ProbeResult(status_code=await _status_code(http))
    except (OSError, TimeoutError, ValueError, IndexError, OverflowError):
        return NO_RESULT


async def connect_tcp(tcp: Message, seconds: float) -> ProbeResult:
    """Connect to the task."""
    try:
        async with asyncio.timeout(seconds or None):
            _, writer = await asyncio.open_connection(_host(tcp), tcp["port"])
            writer.close()
            return ProbeResult(succeeded=True)
    except TimeoutError:
        return NO_RESULT
    except (OSError, OverflowError):  # also for a number that is not a port
        return ProbeResult(succeeded=False)


class _Exit(asyncio.SubprocessProtocol):
    """Waits for the end of a process."""

    def __init__(self) -> None:
        self.ended = asyncio.Event()

    def process_exited(self) -> None:
        """Wake the waiting probe."""
        self.ended.set()


async def _exit_code(command: Message, site: ProbeSite) -> int:
    user = command_user(site.user)
    transport, process = await asyncio.get_running_loop().subprocess_exec(
        _Exit,
        *(user.prefix if user is not None else ()),
        *processes.command_line(command),
        cwd=site.directory,
        env=processes.environment(command, site.variables),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        await process.ended.wait()
        return transport.get_returncode() or 0
    finally:
        if not process.ended.is_set():
            processes.send(transport.get_pid(), signal.SIGKILL)
        while not process.ended.is_set():  # also if the probe is cancelled again
            with suppress(asyncio.CancelledError):
                await process.ended.wait()
        transport.close()


async def _status_code(http: Message) -> int:
    host, port, path = _host(http), http["port"], http.get("path", "/")
    context = _unverified() if http.get("scheme") == "https" else None
    reader, writer = await asyncio.open_connection(host, port, ssl=context)
    try:
        named = f"[{host}]" if ":" in host else host
        head = f"GET {path} HTTP/1.1\r\nHost: {named}:{port}\r\nConnection: close\r\n\r\n"
        writer.write(head.encode())
        await writer.drain()
        return int((await reader.readline()).split()[1])
    finally:
        writer.close()


def _host(probe: Message) -> str:
    return HOSTS[probe.get("protocol", "IPV4")]


def _unverified() -> ssl.SSLContext:
    """TLS context that accepts any certificate, for connections to this machine."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context
