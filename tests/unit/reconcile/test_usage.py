"""Requests for the use of pods whose answers arrive later."""

from concurrent.futures import Future

import pytest

from stretto.base.clock import ManualClock
from stretto.base.errors import NotAllowedError, UnreachableError
from stretto.reconcile.reconciler import RetryError
from stretto.reconcile.usage import FRESH_S, WITHIN_S, Answer, RequestedUse


class Server:
    """A server that answers when a test says so."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, Answer]] = []
        self.clock = ManualClock()
        self.use = RequestedUse(self.request, self.clock)

    def request(self, namespace: str) -> Answer:
        self.sent.append((namespace, Future()))
        return self.sent[-1][1]


@pytest.fixture
def server() -> Server:
    return Server()


def test_a_missing_answer_is_awaited_without_a_second_request(server: Server) -> None:
    for _ in range(2):
        with pytest.raises(RetryError, match="shop"):
            server.use.pods("shop")
    assert len(server.sent) == 1
    server.sent[0][1].set_result([])
    assert server.use.pods("shop") == []


def test_a_fresh_answer_serves_all_and_an_old_one_is_requested_again(server: Server) -> None:
    with pytest.raises(RetryError):
        server.use.pods("shop")
    server.sent[0][1].set_result([])
    server.clock.advance(FRESH_S)
    assert server.use.pods("shop") == []
    server.clock.advance(1)
    with pytest.raises(RetryError):
        server.use.pods("shop")


def test_a_silent_server_is_an_error_for_now(server: Server) -> None:
    with pytest.raises(RetryError):
        server.use.pods("shop")
    server.clock.advance(WITHIN_S)
    with pytest.raises(UnreachableError, match="5 seconds"):
        server.use.pods("shop")


def test_a_refusal_is_passed_on(server: Server) -> None:
    with pytest.raises(RetryError):
        server.use.pods("shop")
    server.sent[0][1].set_exception(NotAllowedError("list pods.metrics.k8s.io", "forbidden"))
    with pytest.raises(NotAllowedError, match="forbidden"):
        server.use.pods("shop")
