"""Handling of a server's responses by a store, including malformed ones."""

import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from aiohttp import web

from stretto.api.wire.kinds import EVENT, POD, QUEUE
from stretto.base.errors import NotAllowedError, TooOldError, UnreachableError
from stretto.stores.store import (
    Bind,
    EventType,
    ListOptions,
    StatusReason,
    Watch,
    WatchEvent,
    WriteOutcome,
)
from tests.unit.stores.kube_server import IMPATIENT, QUICK, Server, at, lines, once, pod, status

BODY = b'{"metadata": {"name": "web", "namespace": "default"}, "spec": {"containers": []}}'
BIND = Bind("default", "web", "uid-web", "n1")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    server = Server(tmp_path)
    yield server
    server.close()


def polled(watch: Watch, count: int) -> list[WatchEvent]:
    """The next changes, within a few seconds."""
    events: list[WatchEvent] = []
    for _ in range(300):
        events += watch.poll()
        if len(events) >= count:
            break
        time.sleep(0.01)
    return events


# ---------------------------------------------------------------- outcomes of writes


def test_a_throttled_write_is_sent_again(server: Server) -> None:
    server.rules = [
        once(status(429, "TooManyRequests", after=0)),
        once(web.json_response(pod("web", 5))),
    ]
    assert server.store().create(POD, [BODY])[0].outcome is WriteOutcome.OK
    assert len(server.requests) == 2


def test_a_write_that_stays_throttled_is_refused_with_the_delay_of_the_server(
    server: Server,
) -> None:
    server.rules = [lambda _: status(429, "TooManyRequests", after=7)]
    reply = server.store(IMPATIENT).create(POD, [BODY])[0]
    assert (reply.outcome, reply.code) == (WriteOutcome.REFUSED, StatusReason.TOO_MANY_REQUESTS)
    assert reply.retry_after == 7


def test_a_write_that_failed_inside_is_unknown_and_not_sent_again(server: Server) -> None:
    server.rules = [lambda _: status(500, "InternalError", "etcdserver: request timed out")]
    assert server.store().create(POD, [BODY])[0].outcome is WriteOutcome.UNKNOWN
    assert len(server.requests) == 1


@pytest.mark.parametrize("body", [{"error": "bad gateway"}, {"message": None}, {}, []])
def test_a_failure_in_words_that_are_no_status_s_is_a_failure_too(
    server: Server, body: object
) -> None:
    """Proxies before a server answer in a JSON of their own."""
    server.rules = [lambda _: web.json_response(body, status=504)]
    assert server.store().create(POD, [BODY])[0].outcome is WriteOutcome.UNKNOWN
    assert len(server.requests) == 1
    reply = server.store(IMPATIENT).bind([BIND])[0]
    assert (reply.outcome, "(" in reply.message) == (WriteOutcome.UNKNOWN, True)


def test_a_bind_that_failed_inside_is_sent_again_and_found_done(server: Server) -> None:
    server.rules = [
        at("POST", "binding", once_then(status(500), status(409, "Conflict"))),
        at("GET", "web", lambda: web.json_response(pod("web", 9, nodeName="n1"))),
    ]
    reply = server.store().bind([BIND])[0]
    assert reply.outcome is WriteOutcome.OK


def test_a_bind_that_lost_to_another_node_is_a_conflict(server: Server) -> None:
    server.rules = [
        at("POST", "binding", lambda: status(409, "Conflict", "already assigned")),
        at("GET", "web", lambda: web.json_response(pod("web", 9, nodeName="n2"))),
    ]
    reply = server.store().bind([BIND])[0]
    assert reply.outcome is WriteOutcome.CONFLICT
    assert reply.record is not None
    assert reply.record.node == "n2"


def test_a_redirect_is_not_followed(server: Server) -> None:
    server.rules = [
        at("POST", "/elsewhere", lambda: web.json_response(pod("web", 5))),
        lambda _: web.Response(status=307, headers={"Location": "/elsewhere"}),
    ]
    reply = server.store().create(POD, [BODY])[0]
    assert reply.outcome is WriteOutcome.REFUSED
    assert "redirect" in reply.message
    assert len(server.requests) == 1


def test_an_answer_without_end_is_cut_off(server: Server) -> None:
    server.rules = [lambda _: web.Response(body=b"x" * (2 << 20))]
    store = server.store()
    assert store.create(POD, [BODY])[0].outcome is WriteOutcome.UNKNOWN
    with pytest.raises(UnreachableError, match="more than"):
        store.get(POD, "default", "web")


def test_events_that_are_throttled_do_not_hold_up_binds(server: Server) -> None:
    server.rules = [
        at("POST", "events", lambda: status(429, "TooManyRequests", after=1)),
        at("POST", "binding", lambda: web.json_response({"kind": "Status"}, status=201)),
    ]
    store = server.store(IMPATIENT)
    store.create(EVENT, [BODY.replace(b"web", f"e{n}".encode()) for n in range(20)])
    before = len(server.requests)
    assert {reply.outcome for reply in store.bind([BIND] * 50)} == {WriteOutcome.OK}
    assert all(request.endswith("binding") for request in server.requests[before:])


def test_a_kubeconfig_that_is_being_replaced_is_no_reason_to_stop(server: Server) -> None:
    server.rules = [at("POST", "pods", lambda: web.json_response(pod("web", 5)))]
    store = server.store(msgspec.structs.replace(QUICK, token_every=0.0))
    server.kubeconfig.write_text("{half a fi")
    assert store.create(POD, [BODY])[0].outcome is WriteOutcome.OK


# ---------------------------------------------------------------- lists


def test_a_list_is_a_stream_up_to_its_bookmark(server: Server) -> None:
    server.rules = [lines(added("b", 4), added("a", 3), listed(7), added("later", 8), hold=5)]
    listing = server.store().list(POD)
    assert [record.name for record in listing.records] == ["a", "b"]
    assert listing.version == 7


def test_a_list_of_a_server_without_streaming_is_read_in_pages(server: Server) -> None:
    pages = [page(["b"], 7, "more"), page(["a"], 7)]
    server.rules = [
        lambda request: status(422, "Invalid") if "watch" in request.query else None,
        at("GET", "pods", lambda: web.json_response(pages.pop(0))),
    ]
    listing = server.store().list(POD)
    assert [record.name for record in listing.records] == ["a", "b"]


def test_a_stream_that_breaks_in_the_middle_is_no_list(server: Server) -> None:
    server.rules = [
        lines(added("a", 3)),
        at("GET", "pods", lambda: web.json_response(page(["a", "b"], 9))),
    ]
    assert len(server.store().list(POD).records) == 2


def test_a_rejected_stream_is_retried_after_the_delay_of_the_server(
    server: Server,
) -> None:
    came: list[float] = []
    reported = lines(added("a", 3), listed(7), hold=5)

    def turn_away(request: web.Request) -> object:
        came.append(time.monotonic())
        return status(429, "TooManyRequests", after=1) if len(came) < 3 else reported(request)

    server.rules = [turn_away]
    options = msgspec.structs.replace(QUICK, longest_wait=0.2, read_timeout=20.0)
    assert len(server.store(options).list(POD).records)
    assert min(came[1] - came[0], came[2] - came[1]) >= 0.2  # the longest that is obeyed


def test_a_stream_that_stays_turned_away_is_an_error_and_not_a_list_in_pages(
    server: Server,
) -> None:
    kinds: set[bool] = set()

    def turn_away(request: web.Request) -> web.Response:
        kinds.add("watch" in request.query)
        return status(429, "TooManyRequests", "too many just now", after=0)

    server.rules = [turn_away]
    with pytest.raises(UnreachableError, match="too many just now"):
        server.store(IMPATIENT).list(POD)
    assert kinds == {True}


def test_a_kind_that_is_not_defined_has_an_empty_list(server: Server) -> None:
    server.rules = [at("GET", "pods", lambda: web.json_response(page([], 12)))]
    listing = server.store().list(QUEUE)
    assert (list(listing.records), listing.version) == ([], 12)


def test_a_kind_that_is_defined_but_not_served_yet_is_no_empty_list(server: Server) -> None:
    server.rules = [
        at("GET", "queues.scheduling.stretto.dev", lambda: web.json_response({})),
        at("GET", "pods", lambda: web.json_response(page([], 12))),
    ]
    with pytest.raises(UnreachableError, match="queues"):
        server.store().list(QUEUE)


def test_a_missing_right_names_verb_and_resource(server: Server) -> None:
    server.rules = [lambda _: status(403, "Forbidden", "user cannot")]
    with pytest.raises(NotAllowedError, match="list pods is not allowed: user cannot"):
        server.store().list(POD, ListOptions(namespace="default"))


# ---------------------------------------------------------------- watches


def test_a_watch_goes_on_from_its_bookmark(server: Server) -> None:
    first = lines(added("a", 3), bookmark(40))
    seen: list[str] = []

    def answer(request: web.Request) -> object:
        seen.append(request.query["resourceVersion"])
        return first(request) if len(seen) == 1 else lines(added("b", 41), hold=5)(request)

    server.rules = [answer]
    events = polled(server.store().watch(POD, 2), 2)
    assert [event.record.name for event in events] == ["a", "b"]
    assert seen[:2] == ["2", "40"]


def test_a_watch_sends_no_change_twice(server: Server) -> None:
    server.rules = [lines(added("a", 3), added("a", 3), added("b", 4))]
    watch = server.store().watch(POD, 2)
    events = polled(watch, 2)
    while len(server.requests) < 3:  # the same lines again, on further connections
        events += watch.poll()
    assert [event.record.version for event in events] == [3, 4]


def test_an_object_that_cannot_be_read_fails_alone(server: Server) -> None:
    poison = {"type": "ADDED", "object": {"metadata": {"name": 5, "resourceVersion": "3"}}}
    server.rules = [lines(poison, added("b", 4), hold=5)]
    events = polled(server.store().watch(POD, 2), 1)
    assert [event.record.name for event in events] == ["b"]


def test_an_expired_error_in_the_stream_is_too_old(server: Server) -> None:
    expired = {"type": "ERROR", "object": {"kind": "Status", "code": 410, "reason": "Expired"}}
    server.rules = [lines(added("a", 3), expired)]
    watch = server.store().watch(POD, 2)
    assert [event.type for event in polled(watch, 1)] == [EventType.ADDED]
    with pytest.raises(TooOldError):
        polled(watch, 1)


def test_a_line_without_end_ends_the_connection_and_not_the_watch(server: Server) -> None:
    long = {"type": "ADDED", "object": {"metadata": {"name": "x" * (1 << 20)}}}
    answers = [lines(long), lines(added("b", 4), hold=5)]

    def answer(request: web.Request) -> object:
        rule = answers.pop(0) if len(answers) > 1 else answers[0]
        return rule(request)

    server.rules = [answer]
    events = polled(server.store().watch(POD, 2), 1)
    assert [event.record.name for event in events] == ["b"]


def test_a_silent_watch_is_opened_again(server: Server) -> None:
    silent, reported = lines(hold=30), lines(added("b", 4), hold=30)

    def answer(request: web.Request) -> object:
        rule = silent if len(server.requests) == 1 else reported
        return rule(request)

    server.rules = [answer]
    options = msgspec.structs.replace(QUICK, watch_idle=0.3)
    events = polled(server.store(options).watch(POD, 2), 1)
    assert [event.record.name for event in events] == ["b"]


@pytest.mark.parametrize("inside", [False, True])
def test_a_version_that_the_server_has_never_reached_is_too_old(
    server: Server, inside: bool
) -> None:
    text = "Too large resource version: 999, current: 5"
    reported = {"type": "ERROR", "object": {"kind": "Status", "code": 504, "message": text}}
    server.rules = [lines(reported) if inside else lambda _: status(504, "Timeout", text)]
    with pytest.raises(TooOldError):
        polled(server.store().watch(POD, 999), 1)


# ---------------------------------------------------------------- words


def once_then(*answers: web.Response) -> object:
    """Answers one after the other."""
    left = list(answers)
    return lambda: left.pop(0)


def added(name: str, version: int) -> dict[str, object]:
    return {"type": "ADDED", "object": pod(name, version)}


def bookmark(version: int, **notes: str) -> dict[str, object]:
    meta = {"resourceVersion": str(version), "annotations": notes}
    return {"type": "BOOKMARK", "object": {"metadata": meta}}


def listed(version: int) -> dict[str, object]:
    return bookmark(version, **{"k8s.io/initial-events-end": "true"})


def page(names: list[str], version: int, more: str = "") -> dict[str, object]:
    items = [pod(name, version) for name in names]
    return {"metadata": {"resourceVersion": str(version), "continue": more}, "items": items}
