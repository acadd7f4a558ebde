"""Connections of a real server: certificates of clients, and limits for their requests."""

import asyncio
import json
import ssl
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from stretto.serving import configuration
from stretto.serving.accepting import SocketServer
from stretto.serving.certificates import CertificateSubject, Use, write_pair
from stretto.serving.chunks import WRITER, chunk
from stretto.serving.configuration import PEER, TlsFiles, server_config
from stretto.serving.sockets import LOOPBACK, listening
from stretto.web.api.authn.users import certificate_user
from stretto.web.local.keys import PemPair, open_keys

REQUEST = b"GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"


async def named(scope: Any, receive: Any, send: Any) -> None:
    """An application that answers with the user of the client's certificate."""
    decoded = scope.get("extensions", {}).get(PEER)
    user = decoded and certificate_user(decoded)
    found = [user.name, *user.groups] if user else []
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": json.dumps(found).encode()})


async def chunked(scope: Any, receive: Any, send: Any) -> None:
    """An application that writes one chunk directly."""
    writer = scope["extensions"][WRITER]["writer"]
    await send({"type": "http.response.start", "status": 200, "headers": []})
    writer.write([chunk(b"shared")])
    await send({"type": "http.response.body"})


async def flooding(scope: Any, receive: Any, send: Any) -> None:
    """An application that writes until the client is behind, then says how many writes it took."""
    writer, writes = scope["extensions"][WRITER]["writer"], 0
    await send({"type": "http.response.start", "status": 200, "headers": []})
    while writer.is_ready:
        writer.write([chunk(bytes(1 << 20))])
        writes += 1
    await send({"type": "http.response.body", "body": b"writes: %d" % writes})


async def streaming(scope: Any, receive: Any, send: Any) -> None:
    """An application that streams until the server stops."""
    ending = asyncio.Event()
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"event", "more_body": True})
    scope["extensions"][WRITER]["writer"].on_shutdown(ending.set)
    await ending.wait()
    await send({"type": "http.response.body"})


def served(
    client: Callable[[int], Awaitable[bytes]], tls: TlsFiles | None = None, app: Any = named
) -> bytes:
    """Return the response that a client receives from a server."""

    async def run() -> bytes:
        server = SocketServer(server_config(app, tls))
        with listening(LOOPBACK, 0) as listener:
            serving = asyncio.create_task(server.serve(sockets=[listener]))
            found = await client(listener.getsockname()[1])
            server.should_exit = True
            await serving
        return found

    return asyncio.run(run())


def sending(data: bytes, context: ssl.SSLContext | None = None) -> Callable[[int], Any]:
    """A client that sends some bytes and reads until the end."""

    async def send(port: int) -> bytes:
        reader, writer = await asyncio.open_connection(LOOPBACK, port, ssl=context)
        writer.write(data)
        try:
            return await reader.read()
        except OSError:
            return b""
        finally:
            writer.close()

    return send


def test_a_client_certificate_names_the_user_and_its_groups(tmp_path: Path) -> None:
    keys = open_keys(tmp_path / "keys")
    own = PemPair(tmp_path / "alice.crt", tmp_path / "alice.key")
    subject = CertificateSubject(name="alice", groups=("dev", "ops"), use=Use.CLIENT)
    write_pair(own, subject, keys.authority)
    context = ssl.create_default_context(cafile=str(keys.authority.cert))
    context.load_cert_chain(own.cert, own.key)
    assert b'["alice", "dev", "ops"]' in served(sending(REQUEST, context), keys.tls)


def test_a_client_without_a_certificate_is_served(tmp_path: Path) -> None:
    keys = open_keys(tmp_path / "keys")
    context = ssl.create_default_context(cafile=str(keys.authority.cert))
    assert b"[]" in served(sending(REQUEST, context), keys.tls)


def test_a_client_certificate_of_another_authority_is_refused(tmp_path: Path) -> None:
    keys, other = open_keys(tmp_path / "keys"), open_keys(tmp_path / "other")
    context = ssl.create_default_context(cafile=str(keys.authority.cert))
    context.load_cert_chain(other.serving.cert, other.serving.key)
    assert served(sending(REQUEST, context), keys.tls) == b""


def test_chunks_that_are_written_directly_belong_to_the_response(tmp_path: Path) -> None:
    keys = open_keys(tmp_path / "keys")
    context = ssl.create_default_context(cafile=str(keys.authority.cert))
    answer = served(sending(REQUEST, context), keys.tls, chunked)
    assert answer.endswith(b"\r\n\r\n6\r\nshared\r\n0\r\n\r\n")


def test_a_client_that_is_behind_is_not_ready_for_chunks() -> None:
    assert int(served(sending(REQUEST), app=flooding).split()[-2]) < 64


def test_a_stream_ends_whole_when_the_server_stops() -> None:
    async def run() -> bytes:
        server = SocketServer(server_config(streaming))
        with listening(LOOPBACK, 0) as listener:
            serving = asyncio.create_task(server.serve(sockets=[listener]))
            reader, writer = await asyncio.open_connection(*listener.getsockname())
            writer.write(REQUEST)
            head = await reader.readuntil(b"event")
            server.should_exit = True
            await serving
            body = await reader.read()
            writer.close()
            return head + body

    assert asyncio.run(run()).endswith(b"5\r\nevent\r\n0\r\n\r\n")


def test_endless_headers_end_the_connection() -> None:
    endless = b"GET / HTTP/1.1\r\n" + b"x: " + b"y" * (2 << 20)
    assert b"200 OK" not in served(sending(endless))


def test_a_connection_without_a_request_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(configuration, "_HEAD_S", 0.05)
    assert served(sending(b"GET / HT")) == b""
