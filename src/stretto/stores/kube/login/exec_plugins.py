"""Credential plugins (``exec`` in a kubeconfig): a program prints who we are.

What it has said is good until the time that it named, or for as long as the server takes it.
"""

import asyncio
import contextlib
import os
from typing import Any, Final

import msgspec

from stretto.base.clock import Clock, WallClock, parse_timestamp
from stretto.base.errors import InputError
from stretto.stores.kube.login.kubeconfig import ExecPlugin, Kubeconfig, content_of

EARLY: Final = 60.0
"""Seconds before its end at which a credential counts as expired."""
WITHIN: Final = 60.0
"""Seconds for a program to answer."""
MOST_BYTES: Final = 1 << 20
"""No answer of a program is longer."""
_TOLD: Final = 1000
"""Bytes of what a program complains of, kept for the message."""
_GROUP: Final = "client.authentication.k8s.io/"


class PluginCredential(msgspec.Struct, frozen=True, rename="camel"):
    """What a plugin has said."""

    #: A token.
    token: str = ""
    #: A client certificate (PEM).
    client_certificate_data: str = ""
    #: Its key (PEM).
    client_key_data: str = ""
    #: Until when it is good; empty where nobody knows.
    expiration_timestamp: str = ""


class _PluginOutput(msgspec.Struct, frozen=True, rename="camel"):
    """What a plugin prints."""

    #: Version of the form.
    api_version: str
    #: ``ExecCredential``.
    kind: str
    #: The credential.
    status: PluginCredential


class ExecPluginRunner:
    """Asks the plugin of one kubeconfig's user, as seldom as it may."""

    def __init__(self, clock: Clock | None = None) -> None:
        """Nobody was asked yet."""
        self._clock = clock or WallClock()
        self._last: tuple[ExecPlugin, PluginCredential] | None = None

    async def credential(
        self, plugin: ExecPlugin, found: Kubeconfig, *, renew: bool
    ) -> PluginCredential:
        """What the plugin says now; ``renew`` because the server did not take the last one.

        Raises:
            InputError: it says nothing that can be used.
        """
        last = self._last
        if last is None or renew or last[0] != plugin or self._is_over(last[1]):
            self._last = last = plugin, await _asked(plugin, found)
        return last[1]

    def _is_over(self, credential: PluginCredential) -> bool:
        end = credential.expiration_timestamp
        return bool(end) and parse_timestamp(end) - EARLY <= self._clock.now()


async def _asked(plugin: ExecPlugin, found: Kubeconfig) -> PluginCredential:
    """Run the program."""
    if not plugin.api_version.startswith(_GROUP):
        raise _wrong(plugin, f"apiVersion {plugin.api_version!r} is none of {_GROUP}")
    spec: dict[str, Any] = {"interactive": False}
    if plugin.provide_cluster_info:
        spec["cluster"] = _about(found)
    asks = {"apiVersion": plugin.api_version, "kind": "ExecCredential", "spec": spec}
    more = {each.name: each.value for each in plugin.env}
    info = msgspec.json.encode(asks).decode()
    is_path = os.sep in plugin.command
    command = str(found.user_folder / plugin.command) if is_path else plugin.command
    try:
        running = await asyncio.create_subprocess_exec(
            command,
            *plugin.args,
            env={**os.environ, **more, "KUBERNETES_EXEC_INFO": info},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
    except (OSError, ValueError) as error:  # no such program, or words that none can be given
        raise _wrong(plugin, str(error)) from error
    try:
        async with asyncio.timeout(WITHIN):
            out, errors = await _said(running)
            await running.wait()
    except TimeoutError as error:
        raise _wrong(plugin, f"no answer within {WITHIN:g} s") from error
    if running.returncode:
        told = errors[:_TOLD].decode("utf-8", "replace").strip()
        raise _wrong(plugin, f"it ended with {running.returncode}: {told}")
    return _credential(plugin, out)


async def _said(running: asyncio.subprocess.Process) -> tuple[bytes, bytes]:
    """What a program prints until it ends; nobody who stops listening leaves it running."""
    try:
        assert running.stdout is not None
        assert running.stderr is not None
        return await asyncio.gather(_beginning(running.stdout), _beginning(running.stderr))
    except asyncio.CancelledError:
        with contextlib.suppress(ProcessLookupError):
            running.kill()
        raise


async def _beginning(stream: asyncio.StreamReader) -> bytes:
    """What comes on a stream until it ends, as far as anybody reads it."""
    kept = bytearray()
    while part := await stream.read(MOST_BYTES):
        kept += part[: MOST_BYTES - len(kept)]
    return bytes(kept)


def _credential(plugin: ExecPlugin, out: bytes) -> PluginCredential:
    """What a program has printed."""
    try:
        said = msgspec.json.decode(out, type=_PluginOutput)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise _wrong(plugin, f"it did not print an ExecCredential: {error}") from error
    if said.api_version != plugin.api_version:
        raise _wrong(plugin, f"it answers as {said.api_version}, asked was {plugin.api_version}")
    found = said.status
    if not found.token and not (found.client_certificate_data and found.client_key_data):
        raise _wrong(plugin, "it gives neither a token nor a client certificate with its key")
    if found.expiration_timestamp:
        parse_timestamp(found.expiration_timestamp)
    return found


def _about(found: Kubeconfig) -> dict[str, Any]:
    """The server, as a plugin is told of it."""
    cluster, folder = found.cluster, found.cluster_folder
    file, data = cluster.certificate_authority, cluster.certificate_authority_data
    authority = content_of(data, file, folder, "certificate-authority")
    told = {
        "server": cluster.server,
        "tls-server-name": cluster.tls_server_name,
        "insecure-skip-tls-verify": cluster.insecure_skip_tls_verify,
        "certificate-authority-data": authority,
        "proxy-url": cluster.proxy_url,
    }
    return {name: value for name, value in told.items() if value}


def _wrong(plugin: ExecPlugin, said: str) -> InputError:
    hint = "run it by hand, or log in again with the tool that wrote the kubeconfig"
    return InputError(f"kubeconfig: exec {plugin.command}", None, f"a credential: {said}", hint)
