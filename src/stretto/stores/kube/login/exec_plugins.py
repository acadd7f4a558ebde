"""Credential plugins (``exec`` in a kubeconfig): programs that print credentials.

Credentials are valid until they expire, or as long as the server accepts them.
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
"""Seconds before the expiry at which a credential counts as expired."""
WITHIN: Final = 60.0
"""Time limit of a program, in seconds."""
MOST_BYTES: Final = 1 << 20
"""Maximum bytes of a program's output."""
_SHOWN_CHARACTERS: Final = 1000
"""Maximum number of bytes of a program's stderr in the message."""
_GROUP: Final = "client.authentication.k8s.io/"


class PluginCredential(msgspec.Struct, frozen=True, rename="camel"):
    """Credentials printed by a plugin."""

    #: A token.
    token: str = ""
    #: A client certificate (PEM).
    client_certificate_data: str = ""
    #: Its key (PEM).
    client_key_data: str = ""
    #: Expiry; empty if unknown.
    expiration_timestamp: str = ""


class _PluginOutput(msgspec.Struct, frozen=True, rename="camel"):
    """Output of a plugin."""

    #: Version of the format.
    api_version: str
    #: ``ExecCredential``.
    kind: str
    #: The credentials.
    status: PluginCredential


class ExecPluginRunner:
    """Runner of the plugin of one user of a kubeconfig; it runs as rarely as possible."""

    def __init__(self, clock: Clock | None = None) -> None:
        """Create the runner; the plugin has not run yet."""
        self._clock = clock or WallClock()
        self._last: tuple[ExecPlugin, PluginCredential] | None = None

    async def credential(
        self, plugin: ExecPlugin, found: Kubeconfig, *, renew: bool
    ) -> PluginCredential:
        """Return the current credentials; ``renew`` if the server rejected the last ones.

        Raises:
            InputError: the plugin prints nothing usable.
        """
        last = self._last
        if last is None or renew or last[0] != plugin or self._is_over(last[1]):
            self._last = last = plugin, await _run_plugin(plugin, found)
        return last[1]

    def _is_over(self, credential: PluginCredential) -> bool:
        end = credential.expiration_timestamp
        return bool(end) and parse_timestamp(end) - EARLY <= self._clock.now()


async def _run_plugin(plugin: ExecPlugin, found: Kubeconfig) -> PluginCredential:
    """Run the program."""
    if not plugin.api_version.startswith(_GROUP):
        raise _wrong(plugin, f"apiVersion {plugin.api_version!r} is not in the group {_GROUP}")
    spec: dict[str, Any] = {"interactive": False}
    if plugin.provide_cluster_info:
        spec["cluster"] = _about(found)
    requests = {"apiVersion": plugin.api_version, "kind": "ExecCredential", "spec": spec}
    more = {each.name: each.value for each in plugin.env}
    info = msgspec.json.encode(requests).decode()
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
    except (OSError, ValueError) as error:  # no such program, or invalid arguments
        raise _wrong(plugin, str(error)) from error
    try:
        async with asyncio.timeout(WITHIN):
            out, errors = await _said(running)
            await running.wait()
    except TimeoutError as error:
        raise _wrong(plugin, f"no answer within {WITHIN:g} s") from error
    if running.returncode:
        text = errors[:_SHOWN_CHARACTERS].decode("utf-8", "replace").strip()
        raise _wrong(plugin, f"it ended with exit code {running.returncode}: {text}")
    return _credential(plugin, out)


async def _said(running: asyncio.subprocess.Process) -> tuple[bytes, bytes]:
    """Return the output of a program; kill the program if the caller stops waiting."""
    try:
        assert running.stdout is not None
        assert running.stderr is not None
        return await asyncio.gather(_beginning(running.stdout), _beginning(running.stderr))
    except asyncio.CancelledError:
        with contextlib.suppress(ProcessLookupError):
            running.kill()
        raise


async def _beginning(stream: asyncio.StreamReader) -> bytes:
    """Return the output of a stream, up to the maximum."""
    kept = bytearray()
    while part := await stream.read(MOST_BYTES):
        kept += part[: MOST_BYTES - len(kept)]
    return bytes(kept)


def _credential(plugin: ExecPlugin, out: bytes) -> PluginCredential:
    """Parse the credentials that a program has printed."""
    try:
        output = msgspec.json.decode(out, type=_PluginOutput)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise _wrong(plugin, f"it did not print an ExecCredential: {error}") from error
    if output.api_version != plugin.api_version:
        raise _wrong(
            plugin, f"its answer has apiVersion {output.api_version}, expected {plugin.api_version}"
        )
    found = output.status
    if not found.token and not (found.client_certificate_data and found.client_key_data):
        raise _wrong(plugin, "it returns neither a token nor a client certificate with its key")
    if found.expiration_timestamp:
        parse_timestamp(found.expiration_timestamp)
    return found


def _about(found: Kubeconfig) -> dict[str, Any]:
    """Description of the server, in the form for plugins."""
    cluster, folder = found.cluster, found.cluster_folder
    file, data = cluster.certificate_authority, cluster.certificate_authority_data
    authority = content_of(data, file, folder, "certificate-authority")
    fields = {
        "server": cluster.server,
        "tls-server-name": cluster.tls_server_name,
        "insecure-skip-tls-verify": cluster.insecure_skip_tls_verify,
        "certificate-authority-data": authority,
        "proxy-url": cluster.proxy_url,
    }
    return {name: value for name, value in fields.items() if value}


def _wrong(plugin: ExecPlugin, problem: str) -> InputError:
    hint = "run it by hand, or log in again with the tool that wrote the kubeconfig"
    return InputError(f"kubeconfig: exec {plugin.command}", None, f"a credential: {problem}", hint)
