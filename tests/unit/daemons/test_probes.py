"""Probes and metrics: what is served, to which clients, and what is not."""

import http.client
import os
import socket
import ssl
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from stretto.base.errors import InputError
from stretto.daemons.access_check import AccessDecision
from stretto.daemons.probes import (
    MOST_AT_ONCE,
    ProbePage,
    ProbeServer,
    ServedPages,
    ServingCertificate,
    address_of,
)
from tests.support.certificates import self_signed

PAGES = {
    "/livez": lambda: ProbePage(True, "ok\n"),
    "/readyz": lambda: ProbePage(False, "not synced yet\n"),
    "/metrics": lambda: ProbePage(True, "stretto_nodes 5\n"),
}
GUARDED = frozenset({"/metrics"})


class Served:
    """Read permissions by token."""

    tokens = {  # noqa: RUF012
        "right": AccessDecision.ADMITTED,
        "low": AccessDecision.FORBIDDEN,
        "while-the-server-is-away": AccessDecision.UNCLEAR,
    }

    def admits(self, token: str, path: str) -> AccessDecision:
        return self.tokens.get(token, AccessDecision.UNKNOWN)


@pytest.fixture(scope="module")
def served() -> Iterator[ProbeServer]:
    with ProbeServer("127.0.0.1:0", ServedPages(PAGES, GUARDED)) as served:
        yield served


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> ServingCertificate:
    return self_signed(tmp_path_factory.mktemp("tls"), "one")


@pytest.fixture(scope="module")
def secure(certificate: ServingCertificate) -> Iterator[ProbeServer]:
    with ProbeServer("0.0.0.0:0", ServedPages(PAGES, GUARDED, certificate, Served())) as served:
        yield served


def status_of(served: ProbeServer, path: str, method: str = "GET") -> tuple[int, str]:
    line = http.client.HTTPConnection("127.0.0.1", served.port, timeout=5)
    line.request(method, path)
    said = line.getresponse()
    text = said.read().decode()
    line.close()
    return said.status, text


def get_over_tls(served: ProbeServer, path: str, authorization: str = "") -> tuple[int, str]:
    trust = ssl.create_default_context()
    trust.check_hostname, trust.verify_mode = False, ssl.CERT_NONE
    line = http.client.HTTPSConnection("127.0.0.1", served.port, timeout=5, context=trust)
    line.request("GET", path, headers={"Authorization": authorization} if authorization else {})
    said = line.getresponse()
    text = said.read().decode()
    line.close()
    return said.status, text


@pytest.mark.parametrize(
    ("path", "code", "text"),
    [
        ("/livez", 200, "ok\n"),
        ("/livez?verbose", 200, "ok\n"),
        ("/readyz", 503, "not synced yet\n"),
        ("/metrics", 200, "stretto_nodes 5\n"),
        ("/", 404, "not found\n"),
        ("/metrics/../livez", 404, "not found\n"),
        ("/debug/pprof/", 404, "not found\n"),
    ],
)
def test_each_path_answers_what_it_should(
    served: ProbeServer, path: str, code: int, text: str
) -> None:
    assert status_of(served, path) == (code, text)


@pytest.mark.parametrize(
    ("authorization", "metrics"),
    [
        ("", 401),
        ("Bearer nobodys", 401),
        ("Basic cmlnaHQ6cmlnaHQ=", 401),
        ("right", 401),
        ("Bearer low", 403),
        ("Bearer while-the-server-is-away", 503),
        ("Bearer right", 200),
    ],
)
def test_remote_requests_are_authenticated_on_every_path(
    secure: ProbeServer, authorization: str, metrics: int
) -> None:
    is_known = metrics == 200
    assert get_over_tls(secure, "/metrics", authorization)[0] == metrics
    assert get_over_tls(secure, "/livez", authorization) == (200, "ok\n")
    said = get_over_tls(secure, "/readyz", authorization)
    assert said == (503, "not synced yet\n" if is_known else "not ok\n")
    assert get_over_tls(secure, "/debug", authorization)[0] == 404


def test_metrics_are_refused_without_an_authorizer(certificate: ServingCertificate) -> None:
    with ProbeServer("127.0.0.1:0", ServedPages(PAGES, GUARDED, certificate)) as served:
        assert get_over_tls(served, "/metrics", "Bearer right")[0] == 401


@pytest.mark.parametrize("host", ["0.0.0.0", "", "192.0.2.1", "example.org"])
def test_an_address_that_others_reach_needs_tls(host: str) -> None:
    with pytest.raises(InputError, match="--tls-cert-file"):
        ProbeServer(f"{host}:0", ServedPages(PAGES, GUARDED))


def test_a_certificate_that_is_none_is_bad_input(certificate: ServingCertificate) -> None:
    wrong = ServingCertificate(certificate.key, certificate.key)
    with pytest.raises(InputError, match="certificate and its key"):
        ProbeServer("127.0.0.1:0", ServedPages(PAGES, GUARDED, wrong))


def test_a_certificate_that_was_renewed_is_taken_up(tmp_path: Path) -> None:
    first, second = self_signed(tmp_path, "first"), self_signed(tmp_path, "second")
    with ProbeServer("127.0.0.1:0", ServedPages(PAGES, GUARDED, first)) as served:
        before = ssl.get_server_certificate(("127.0.0.1", served.port))
        for old, new in zip(first, second, strict=True):
            os.utime(new, (0, 0))  # times of files may be coarser than the two are apart
            new.replace(old)
        after = ssl.get_server_certificate(("127.0.0.1", served.port))
    assert before != after


@pytest.mark.filterwarnings("ignore:ssl.TLSVersion")
def test_old_tls_is_refused(secure: ProbeServer) -> None:
    old = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    old.check_hostname, old.verify_mode = False, ssl.CERT_NONE
    old.minimum_version = ssl.TLSVersion.TLSv1_1
    old.maximum_version = ssl.TLSVersion.TLSv1_1
    with socket.create_connection(("127.0.0.1", secure.port)) as line, pytest.raises(ssl.SSLError):
        old.wrap_socket(line)


def test_plain_http_is_not_spoken_where_tls_is(secure: ProbeServer) -> None:
    with pytest.raises((OSError, http.client.HTTPException)):
        status_of(secure, "/livez")


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "HEAD", "OPTIONS"])
def test_nothing_but_get_is_answered(served: ProbeServer, method: str) -> None:
    assert status_of(served, "/livez", method)[0] == 501


def test_a_body_is_not_read_whatever_length_it_states(served: ProbeServer) -> None:
    with socket.create_connection(("127.0.0.1", served.port)) as line:
        line.sendall(b"GET /livez HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n")
        assert line.recv(99).startswith(b"HTTP/1.0 200")


@pytest.mark.parametrize(
    ("head", "code"),
    [
        (b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\n\r\n", b"414"),
        (b"GET /livez HTTP/1.1\r\nX: " + b"a" * 70_000 + b"\r\n\r\n", b"431"),
        (b"GET /livez HTTP/1.1\r\n" + b"A: b\r\n" * 200 + b"\r\n", b"431"),
    ],
)
def test_a_head_has_its_bounds(served: ProbeServer, head: bytes, code: bytes) -> None:
    with socket.create_connection(("127.0.0.1", served.port)) as line:
        line.sendall(head)
        assert code in line.recv(99)


def test_a_port_that_is_taken_is_bad_input(served: ProbeServer) -> None:
    with pytest.raises(InputError, match="free"):
        ProbeServer(f"127.0.0.1:{served.port}", ServedPages(PAGES))


def test_a_silent_client_blocks_no_other_client(served: ProbeServer, secure: ProbeServer) -> None:
    for each in (served, secure):
        with socket.create_connection(("127.0.0.1", each.port)):
            getter = status_of if each is served else get_over_tls
            assert getter(each, "/livez") == (200, "ok\n")


def test_a_client_that_sends_its_request_byte_by_byte_is_disconnected(
    served: ProbeServer, secure: ProbeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As many connections as are served at once would block every probe."""
    monkeypatch.setattr("stretto.daemons.probes._WITHIN", 0.3)
    for each in (served, secure):
        with socket.create_connection(("127.0.0.1", each.port), timeout=0.05) as line:
            line.sendall(HELLO if each is secure else b"GET /")
            assert any(drop(line) for _ in range(100))


HELLO = bytes.fromhex("16030120000100 1ffc0303")
"""The beginning of a TLS record of 8 KiB: a client hello."""


def drop(line: socket.socket) -> bool:
    """Send one byte more of what was begun; whether the line has been cut."""
    try:
        line.sendall(b"x")
        return line.recv(1) == b""
    except TimeoutError:
        return False
    except OSError:
        return True


def test_more_clients_than_are_served_at_once_are_disconnected(served: ProbeServer) -> None:
    here = ("127.0.0.1", served.port)
    with ExitStack() as lines:
        for _ in range(MOST_AT_ONCE):
            lines.enter_context(socket.create_connection(here))
        late = lines.enter_context(socket.create_connection(here, timeout=5))
        assert late.recv(1) == b""


@pytest.mark.parametrize("text", ["10259", "host:", "host:x", "host:99999", ""])
def test_an_address_that_is_none_is_bad_input(text: str) -> None:
    with pytest.raises(InputError, match="HOST:PORT"):
        address_of(text)
