"""HTTP/1.1 of single requests: answers however the network cuts them, and answers that are none."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stretto.base.errors import InputError
from stretto.stores.kube.login.access import Login
from stretto.stores.kube.login.messages import HttpRequest, HttpResponse, LostError
from stretto.stores.kube.transport.http1 import ResponseReader, bytes_of, target_of

_MOST = 1000


def _plain(body: bytes) -> bytes:
    return b"HTTP/1.1 201 Created\r\ncontent-length: %d\r\n\r\n%s" % (len(body), body)


def _chunked(body: bytes, size: int) -> bytes:
    parts = [body[start : start + size] for start in range(0, len(body), size)]
    chunks = b"".join(b"%x;note=1\r\n%s\r\n" % (len(part), part) for part in parts)
    head = b"HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n"
    return head + chunks + b"0\r\n\r\n"


@given(st.binary(max_size=60), st.integers(1, 20), st.lists(st.integers(0, 200), max_size=6))
def test_an_answer_is_the_same_however_it_is_cut(body: bytes, size: int, cuts: list[int]) -> None:
    for data in (_plain(body), b"HTTP/1.1 100 Continue\r\n\r\n" + _chunked(body, size)):
        reader, places = ResponseReader(_MOST), sorted(min(cut, len(data)) for cut in cuts)
        ends = [0, *places, len(data)]
        found = [reader.feed(data[a:b]) for a, b in itertools.pairwise(ends) if a < b]
        assert found[:-1] == [None] * (len(found) - 1)
        assert found[-1] == (HttpResponse(201, body), True)
        assert reader.feed(_plain(b"next")) == (HttpResponse(201, b"next"), True)


@pytest.mark.parametrize(
    "data",
    [
        b"SSH-2.0-OpenSSH\r\n\r\n",
        b"HTTP/1.1 abc\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1001\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: minus one\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nab",
        b"HTTP/1.1 200 OK\r\nContent-Length: " + b"1" * 5000 + b"\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 1\r\n\r\na",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3e9\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + b"1" * 70_000,
        b"HTTP/1.1 200 OK\r\n" + b"a" * 70_000,
        b"HTTP/1.1 200 OK\r\n\r\n" + b"a" * 1001,
    ],
)
def test_what_is_no_answer_is_a_lost_one(data: bytes) -> None:
    with pytest.raises(LostError):
        ResponseReader(_MOST).feed(data)


def test_an_answer_without_a_length_lasts_until_the_end() -> None:
    reader = ResponseReader(_MOST)
    assert reader.feed(b"HTTP/1.0 200 OK\r\n\r\nall of it") is None
    assert reader.end() == HttpResponse(200, b"all of it")


def test_an_end_before_the_length_is_no_answer() -> None:
    reader = ResponseReader(_MOST)
    assert reader.feed(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf") is None
    assert reader.end() is None


def test_a_connection_that_the_server_closes_is_not_used_again() -> None:
    data = (
        b"HTTP/1.1 429 Too Many\r\nConnection: close\r\nRetry-After: 3\r\nContent-Length: 0\r\n\r\n"
    )
    assert ResponseReader(_MOST).feed(data) == (HttpResponse(429, b"", 3.0), False)


def test_an_answer_that_has_no_body_ends_with_its_head() -> None:
    assert ResponseReader(_MOST).feed(b"HTTP/1.1 204 No Content\r\n\r\n") == (
        HttpResponse(204, b""),
        True,
    )


def test_a_request_has_the_path_behind_the_servers_own_and_its_length() -> None:
    target = target_of(Login("https://[::1]:6443/clusters/c-1", None, "Bearer t"))
    assert (target.host, target.port) == ("::1", 6443)
    sent = bytes_of(HttpRequest("POST", "/api/v1/pods?timeout=3s", b"{}"), target)
    head, _, body = sent.partition(b"\r\n\r\n")
    assert body == b"{}"
    assert head.split(b"\r\n") == [
        b"POST /clusters/c-1/api/v1/pods?timeout=3s HTTP/1.1",
        b"Host: [::1]:6443",
        b"Accept: application/json",
        b"User-Agent: stretto",
        b"Authorization: Bearer t",
        b"Content-Type: application/json",
        b"Content-Length: 2",
    ]


def test_a_token_with_a_line_break_never_becomes_a_header() -> None:
    with pytest.raises(InputError, match="token"):
        target_of(Login("https://host", None, "Bearer a\r\nX-Other: b"))
