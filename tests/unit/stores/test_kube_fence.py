"""Requests and replies of a store with late turns or late answers."""

import asyncio
import json
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import pytest
from aiohttp import web

from stretto.api.wire.kinds import LEASE, POD
from stretto.stores.store import (
    Bind,
    Eviction,
    Patch,
    StatusReason,
    Update,
    Write,
    WriteOutcome,
    WriteVerb,
)
from tests.unit.stores.kube_server import QUICK, Server, at, once, pod, status

BIND = Bind("default", "web", "uid-web", "n1")
BOUND = {"kind": "Status", "status": "Success"}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    server = Server(tmp_path)
    yield server
    server.close()


# ---------------------------------------------------------------- fences


def test_a_follower_sends_leases_and_nothing_else(server: Server) -> None:
    server.rules = [at("PATCH", "leases/l", lambda: web.json_response(pod("l", 2)))]
    store = server.store()
    store.fence(lambda: False)
    reply = store.bind([BIND])[0]
    assert (reply.outcome, reply.code) == (WriteOutcome.REFUSED, StatusReason.UNAVAILABLE)
    assert "this process does not lead" in reply.message
    assert store.patch(LEASE, [Patch("default", "l", {"spec": {}})])[0].outcome is WriteOutcome.OK
    assert server.requests == ["PATCH /apis/coordination.k8s.io/v1/namespaces/default/leases/l"]


def test_a_write_whose_turn_comes_after_the_lead_was_lost_is_not_sent(server: Server) -> None:
    """The way in is closed for a while after a 429; the lease may be lost meanwhile."""
    leads, turned_away = [True], threading.Event()

    def turn_away() -> web.Response:
        turned_away.set()
        return status(429, "TooManyRequests", after=1)

    server.rules = [at("POST", "binding", turn_away)]
    store = server.store(msgspec.structs.replace(QUICK, longest_wait=1.0, write_timeout=5.0))
    store.fence(lambda: leads[0])
    first = store.begin(Write(WriteVerb.BIND, POD, [BIND]))
    assert turned_away.wait(30)
    while not store.is_quiet():  # until the answer has arrived and closed the gate
        time.sleep(0.001)
    second = store.begin(Write(WriteVerb.BIND, POD, [Bind("default", "other", "uid-other", "n1")]))
    leads[0] = False
    replies = [*first.result(30), *second.result(30)]
    assert [reply.code for reply in replies] == [StatusReason.UNAVAILABLE, StatusReason.UNAVAILABLE]
    assert len(server.requests) == 1


def test_a_write_of_an_earlier_term_is_not_sent_in_a_later_term(server: Server) -> None:
    """The lease may be lost and won again while a write waits; the new leader then lists afresh."""
    server.rules = [once(status(429, "TooManyRequests", after=1))]
    store = server.store(msgspec.structs.replace(QUICK, longest_wait=1.0, write_timeout=5.0))
    waits = store.begin(Write(WriteVerb.BIND, POD, [BIND]))
    while not server.requests or not store.is_quiet():
        time.sleep(0.001)
    queue = store.begin(
        Write(WriteVerb.BIND, POD, [Bind("default", f"web-{n}", "uid", "n1") for n in range(200)])
    )
    store.abandon()
    replies = [*waits.result(30), *queue.result(30)]
    assert {reply.code for reply in replies} == {StatusReason.UNAVAILABLE}
    assert len(server.requests) == 1
    server.rules = [at("POST", "binding", lambda: web.json_response(BOUND, status=201))]
    assert store.bind([BIND])[0].outcome is WriteOutcome.OK


def test_a_write_is_not_sent_again_under_a_new_token_when_the_lead_is_lost(server: Server) -> None:
    leads = [True]

    def expire() -> web.Response:
        server.kubeconfig.write_text(server.kubeconfig.read_text().replace("secret", "fresh"))
        leads[0] = False
        return status(401, "Unauthorized")

    server.rules = [at("POST", "binding", expire)]
    store = server.store()
    store.fence(lambda: leads[0])
    assert store.bind([BIND])[0].code is StatusReason.UNAVAILABLE
    assert len(server.requests) == 1


def test_a_store_is_quiet_once_its_writes_have_been_answered(server: Server) -> None:
    answers = threading.Event()

    async def late() -> web.Response:
        while not answers.is_set():  # noqa: ASYNC110  (another thread's)
            await asyncio.sleep(0.01)
        return web.json_response(BOUND, status=201)

    server.rules = [at("POST", "binding", late)]
    store = server.store(msgspec.structs.replace(QUICK, answer=5.0))
    assert store.is_quiet()
    sent = store.begin(Write(WriteVerb.BIND, POD, [BIND]))
    while not server.requests:
        time.sleep(0.01)
    assert not store.is_quiet()
    answers.set()
    assert sent.result(5)[0].outcome is WriteOutcome.OK
    assert store.is_quiet()


# ---------------------------------------------------------------- lanes


def test_the_lease_is_read_at_once_while_other_reads_hang(server: Server) -> None:
    free = threading.Event()

    async def hang() -> web.Response:
        while not free.is_set():  # noqa: ASYNC110  (another thread's)
            await asyncio.sleep(0.01)
        return web.json_response(pod("web", 5))

    server.rules = [
        at("GET", "leases/l", lambda: web.json_response(pod("l", 2))),
        lambda request: hang() if "pods" in request.path else None,
    ]
    store = server.store(msgspec.structs.replace(QUICK, answer=30.0, read_timeout=30.0))
    with ThreadPoolExecutor(24) as pool:
        try:
            reads = [pool.submit(store.get, POD, "default", "web") for _ in range(24)]
            while not server.requests:
                time.sleep(0.01)
            assert store.get(LEASE, "default", "l") is not None
            assert not any(each.done() for each in reads)
        finally:
            free.set()
        assert all(each.result(30) for each in reads)


# ---------------------------------------------------------------- what is said of it


@pytest.mark.parametrize("code", [401, 403])
def test_a_bind_that_may_have_landed_is_not_refused_by_a_right_that_is_missing_now(
    server: Server, code: int
) -> None:
    server.rules = [
        once(status(500, "InternalError")),
        at("POST", "binding", lambda: status(code, "Forbidden")),
    ]
    assert server.store().bind([BIND])[0].outcome is WriteOutcome.UNKNOWN


def test_an_update_that_cannot_read_its_object_fails_alone(server: Server) -> None:
    def replace(request: web.Request) -> web.Response | None:
        if request.method != "PUT":
            return None
        if request.path.endswith("good"):
            return web.json_response(pod("good", 6))
        return status(422, "Invalid", "metadata.resourceVersion: must be specified")

    server.rules = [replace, at("GET", "bad", lambda: status(503, "ServiceUnavailable"))]
    bodies = [json.dumps(pod(name, 1)).encode() for name in ("bad", "good")]
    updates = [Update("default", n, b) for n, b in zip(("bad", "good"), bodies, strict=True)]
    replies = server.store().update(POD, updates)
    assert [reply.code for reply in replies] == [StatusReason.UNAVAILABLE, StatusReason.NONE]
    assert replies[1].outcome is WriteOutcome.OK


# ---------------------------------------------------------------- evictions


def test_an_eviction_that_is_answered_costs_no_second_request(server: Server) -> None:
    server.rules = [at("POST", "eviction", lambda: web.json_response(BOUND, status=201))]
    assert (
        server.store().evict([Eviction("default", "web", "uid-web")])[0].outcome is WriteOutcome.OK
    )
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("now", "code"),
    [
        (lambda: web.json_response(pod("web", 5)), StatusReason.CONFLICT),
        (lambda: status(404, "NotFound"), StatusReason.NOT_FOUND),
    ],
)
def test_an_eviction_whose_answer_is_late_is_not_waited_for_when_its_pod_has_gone(
    server: Server,
    monkeypatch: pytest.MonkeyPatch,
    now: Callable[[], web.Response],
    code: StatusReason,
) -> None:
    monkeypatch.setattr("stretto.stores.kube.writes._LATE", 0.05)
    server.rules = [at("POST", "eviction", never), at("GET", "pods/web", now)]
    store = server.store(msgspec.structs.replace(QUICK, answer=30.0))
    assert store.evict([Eviction("default", "web", "uid-before")])[0].code is code
    assert store.is_quiet()


def test_an_eviction_whose_answer_is_late_is_waited_for_while_its_pod_is_there(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def late() -> web.Response:
        await asyncio.sleep(0.3)
        return web.json_response(BOUND, status=201)

    monkeypatch.setattr("stretto.stores.kube.writes._LATE", 0.05)
    there = at("GET", "pods/web", lambda: web.json_response(pod("web", 5)))
    server.rules = [at("POST", "eviction", late), there]
    assert (
        server.store().evict([Eviction("default", "web", "uid-web")])[0].outcome is WriteOutcome.OK
    )


def victims_of(server: Server, phase: str) -> None:
    """Let the server hold a pod in this phase, and accept all writes of it."""
    there = {**pod("web", 5), "status": {"phase": phase}}
    server.rules = [
        *server.rules,
        at("GET", "pods/web", lambda: web.json_response(there)),
        at("PATCH", "pods/web/status", lambda: web.json_response(there)),
        at("DELETE", "pods/web", lambda: web.json_response(there)),
        at("POST", "eviction", lambda: web.json_response(BOUND, status=201)),
    ]


@pytest.mark.parametrize(
    ("phase", "sent"),
    [("Pending", ["GET", "PATCH", "POST"]), ("Running", ["GET", "POST"])],
)
def test_a_pod_that_has_not_started_gets_the_condition_of_a_victim(
    server: Server, phase: str, sent: list[str]
) -> None:
    victims_of(server, phase)
    (reply,) = server.store().evict([Eviction("default", "web", "uid-web", starting=True)])
    assert reply.outcome is WriteOutcome.OK
    assert [each.split()[0] for each in server.requests] == sent


def test_a_victim_that_changes_meanwhile_is_read_again(server: Server) -> None:
    changed = iter([status(409, "Conflict")])
    server.rules = [at("PATCH", "pods/web/status", lambda: next(changed, None))]
    victims_of(server, "Pending")
    server.store().evict([Eviction("default", "web", "uid-web", starting=True)])
    verbs = [each.split()[0] for each in server.requests]
    assert verbs == ["GET", "PATCH", "GET", "PATCH", "POST"]


def test_a_victim_beyond_its_budget_has_the_condition_and_is_deleted(server: Server) -> None:
    victims_of(server, "Running")
    server.store().evict([Eviction("default", "web", "uid-web", beyond_budget=True)])
    assert [each.split()[0] for each in server.requests] == ["GET", "PATCH", "DELETE"]


def test_a_namesake_of_a_victim_is_left_as_it_is(server: Server) -> None:
    victims_of(server, "Pending")
    (reply,) = server.store().evict([Eviction("default", "web", "uid-before", starting=True)])
    assert reply.code is StatusReason.CONFLICT
    assert len(server.requests) == 1


async def never() -> web.Response:
    await asyncio.sleep(60)
    return status(500)
