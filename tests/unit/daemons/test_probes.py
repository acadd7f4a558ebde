"""Probes and metrics: what is served, to whom, and what is not."""

import http.client
import socket
from collections.abc import Iterator

import pytest

from stretto.base.errors import InputError
from stretto.daemons import probes
from stretto.daemons.probes import Page, Probes, address_of

PAGES = {
    "/livez": lambda: Page(True, "ok\n"),
    "/readyz": lambda: Page(False, "not synced yet\n"),
    "/metrics": lambda: Page(True, "stretto_nodes 5\n"),
}


@pytest.fixture
def served() -> Iterator[Probes]:
    with Probes("127.0.0.1:0", PAGES, frozenset({"/metrics"})) as served:
        yield served


def ask(served: Probes, path: str, method: str = "GET") -> tuple[int, str]:
    line = http.client.HTTPConnection("127.0.0.1", served.port, timeout=5)
    line.request(method, path)
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
        ("/", 404, "no such page\n"),
        ("/metrics/../livez", 404, "no such page\n"),
        ("/debug/pprof/", 404, "no such page\n"),
    ],
)
def test_each_path_answers_what_it_should(served: Probes, path: str, code: int, text: str) -> None:
    assert ask(served, path) == (code, text)


def test_metrics_are_told_to_this_machine_only(
    served: Probes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probes, "LOOPBACK", ())  # as if the question came from elsewhere
    assert ask(served, "/metrics")[0] == 403
    assert ask(served, "/livez")[0] == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "HEAD", "OPTIONS"])
def test_nothing_but_get_is_answered(served: Probes, method: str) -> None:
    assert ask(served, "/livez", method)[0] == 501


def test_a_port_that_is_taken_is_bad_input(served: Probes) -> None:
    with pytest.raises(InputError, match="free"):
        Probes(f"127.0.0.1:{served.port}", PAGES, frozenset())


def test_a_client_that_says_nothing_holds_nobody_up(served: Probes) -> None:
    with socket.create_connection(("127.0.0.1", served.port)):
        assert ask(served, "/livez") == (200, "ok\n")


@pytest.mark.parametrize("text", ["10259", "host:", "host:x", "host:99999", ""])
def test_an_address_that_is_none_is_bad_input(text: str) -> None:
    with pytest.raises(InputError, match="HOST:PORT"):
        address_of(text)
