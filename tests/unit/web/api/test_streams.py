"""Watches of a selection that begin at a version."""

import json
from typing import Any

import pytest

from stretto.base.clock import ManualClock
from stretto.base.rng import Rng
from stretto.stores.embedded.memory import MemoryStore
from stretto.web.api.message import ApiRequest, ApiResponse, ApiStream
from stretto.web.api.server import ApiServer, ApiSettings

MAPS = "/api/v1/namespaces/default/configmaps"
Events = list[tuple[str, str, str]]


class Site:
    def __init__(self) -> None:
        clock = ManualClock(1_790_000_000.0)
        self.server = ApiServer(MemoryStore(clock, Rng(1)), ApiSettings(clock, Rng(2)))

    def send(self, method: str, target: str, body: Any = None, kind: str = "json") -> Any:
        data = b"" if body is None else json.dumps(body).encode()
        request = ApiRequest(method, target, {"content-type": f"application/{kind}"}, data)
        answer = self.server.handle(request)
        assert isinstance(answer, ApiResponse)
        return json.loads(answer.body)

    def label(self, name: str, value: str) -> None:
        change = {"metadata": {"labels": {"tier": value}}}
        self.send("PATCH", f"{MAPS}/{name}", change, "merge-patch+json")

    def watch(self, version: str) -> ApiStream:
        target = f"{MAPS}?watch=1&labelSelector=tier%3Dweb&resourceVersion={version}"
        answer = self.server.handle(ApiRequest("GET", target))
        assert isinstance(answer, ApiStream)
        return answer


def read(stream: ApiStream) -> Events:
    found = [json.loads(each) for each in stream.poll() or ()]
    return [
        (
            each["type"],
            each["object"]["metadata"]["name"],
            each["object"]["metadata"]["labels"]["tier"],
        )
        for each in found
    ]


@pytest.fixture
def site() -> Site:
    site = Site()
    for name, tier in (("a", "web"), ("b", "db")):
        site.send("POST", MAPS, {"metadata": {"name": name, "labels": {"tier": tier}}})
    return site


def test_an_object_that_was_selected_before_is_modified_and_leaves(site: Site) -> None:
    stream = site.watch(site.send("GET", MAPS)["metadata"]["resourceVersion"])
    site.send("PATCH", f"{MAPS}/a", {"data": {"x": "1"}}, "merge-patch+json")
    site.label("a", "db")
    assert read(stream) == [("MODIFIED", "a", "web"), ("DELETED", "a", "web")]


def test_an_object_that_enters_the_selection_is_added(site: Site) -> None:
    stream = site.watch(site.send("GET", MAPS)["metadata"]["resourceVersion"])
    site.label("b", "web")
    assert read(stream) == [("ADDED", "b", "web")]


def test_a_change_outside_the_selection_is_not_seen(site: Site) -> None:
    stream = site.watch(site.send("GET", MAPS)["metadata"]["resourceVersion"])
    site.label("b", "cache")
    assert read(stream) == []


def test_two_watches_share_the_encoding_of_an_event(site: Site) -> None:
    version = site.send("GET", MAPS)["metadata"]["resourceVersion"]
    one, two = site.watch(version), site.watch(version)
    site.label("b", "web")
    first, second = (list(each.poll() or ()) for each in (one, two))
    assert first[0] is second[0]


@pytest.mark.parametrize("value", ["True", "t", "1", "yes", ""])
def test_a_watch_is_requested_by_any_value_that_is_not_false(site: Site, value: str) -> None:
    assert isinstance(site.server.handle(ApiRequest("GET", f"{MAPS}?watch={value}")), ApiStream)


@pytest.mark.parametrize("value", ["False", "0"])
def test_a_list_is_no_watch(site: Site, value: str) -> None:
    assert isinstance(site.server.handle(ApiRequest("GET", f"{MAPS}?watch={value}")), ApiResponse)


def config_map(name: str) -> dict[str, Any]:
    return {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": name}}


def opened(site: Site, namespace: str) -> ApiStream:
    target = f"/api/v1/namespaces/{namespace}/configmaps?watch=1&resourceVersion=0"
    stream = site.server.handle(ApiRequest("GET", target))
    assert isinstance(stream, ApiStream)
    stream.poll()
    return stream


def test_watches_of_the_same_objects_share_the_bytes_of_a_batch() -> None:
    site = Site()
    streams = [opened(site, "default") for _ in range(2)]
    for name in ("a", "b"):
        site.send("POST", MAPS, config_map(name))
    one, two = (stream.poll() or [b""] for stream in streams)
    assert one[0] is two[0]
    assert one[0].count(b'"ADDED"') == 2


@pytest.mark.parametrize(
    ("resource", "item"),
    [
        ("pods", {"spec": {"containers": [{"name": "main", "image": "nginx"}]}}),
        ("services", {"spec": {"ports": [{"port": 80}]}}),
        ("secrets", {"stringData": {"key": "value"}, "metadata": {"annotations": {}}}),
        ("configmaps", {"data": {"key": "value"}}),
    ],
)
def test_a_watch_sends_a_new_object_as_a_read_returns_it(resource: str, item: Any) -> None:
    site, path = Site(), f"/api/v1/namespaces/default/{resource}"
    stream = site.server.handle(ApiRequest("GET", f"{path}?watch=1&resourceVersion=0"))
    assert isinstance(stream, ApiStream)
    stream.poll()
    site.send("POST", path, {**item, "metadata": {**item.get("metadata", {}), "name": "new"}})
    sent = [json.loads(line)["object"] for line in b"".join(stream.poll() or ()).splitlines()]
    assert site.send("GET", f"{path}/new") in sent


def test_a_new_object_that_has_changed_is_sent_in_both_states() -> None:
    site = Site()
    stream = opened(site, "default")
    site.send("POST", MAPS, config_map("a"))
    site.send("PATCH", f"{MAPS}/a", {"data": {"x": "1"}}, "merge-patch+json")
    lines = b"".join(stream.poll() or ()).splitlines()
    assert [json.loads(each)["object"].get("data") for each in lines] == [None, {"x": "1"}]


def test_a_watch_of_a_namespace_yields_nothing_about_others() -> None:
    site = Site()
    stream = opened(site, "kube-public")
    site.send("POST", MAPS, config_map("a"))
    assert stream.poll() == []


def due_after_polls(polls: int) -> bool:
    """Return whether a watch of three new objects has more events after some polls."""
    site = Site()
    stream = opened(site, "default")
    for name in ("a", "b", "c"):
        site.send("POST", MAPS, config_map(name))
    for _ in range(polls):
        stream.poll()
    return stream.is_due()


def test_a_poll_of_all_changes_leaves_none_due() -> None:
    assert not due_after_polls(1)


@pytest.mark.parametrize(("polls", "due"), [(1, True), (2, False)])
def test_changes_beyond_a_batch_are_due(
    monkeypatch: pytest.MonkeyPatch, polls: int, due: bool
) -> None:
    monkeypatch.setattr("stretto.web.api.streams.events.BATCH", 2)
    assert due_after_polls(polls) == due


def test_changes_after_the_initial_objects_are_due(site: Site) -> None:
    stream = site.server.handle(ApiRequest("GET", f"{MAPS}?watch=1"))
    assert isinstance(stream, ApiStream)
    stream.poll()
    assert stream.is_due()


def test_the_end_of_a_stream_is_due() -> None:
    stream = opened(Site(), "default")
    stream.close()
    assert stream.is_due()


def names(chunks: Any) -> list[str]:
    """Return the names of the objects in events."""
    lines = b"".join(chunks or ()).splitlines()
    return [json.loads(each)["object"]["metadata"]["name"] for each in lines]


def started(site: Site, count: int = 2) -> list[ApiStream]:
    """Watches of one namespace that have sent the same changes."""
    streams = [opened(site, "default") for _ in range(count)]
    for each in streams:
        each.poll()
    return streams


def test_watches_that_have_sent_the_same_changes_share_a_feed(site: Site) -> None:
    one, two = started(site)
    assert one.join() is two.join() is not None


def test_a_watch_that_has_not_sent_the_changes_of_a_feed_does_not_join_it(site: Site) -> None:
    one, late = started(site)
    site.send("POST", MAPS, config_map("c"))
    one.poll()
    one.join()
    assert late.join() is None


def test_a_watch_with_changes_that_are_due_joins_no_feed(site: Site) -> None:
    stream = site.server.handle(ApiRequest("GET", f"{MAPS}?watch=1"))
    assert isinstance(stream, ApiStream)
    stream.poll()
    assert stream.join() is None


def test_a_watch_of_a_selection_joins_no_feed(site: Site) -> None:
    stream = site.watch(site.send("GET", MAPS)["metadata"]["resourceVersion"])
    stream.poll()
    assert stream.join() is None


def test_a_feed_has_the_changes_of_its_watches(site: Site) -> None:
    one, two = started(site)
    feed = one.join()
    two.join()
    site.send("POST", MAPS, config_map("c"))
    assert feed is not None
    assert (one.poll(), two.poll(), names(feed.poll())) == ([], [], ["c"])


@pytest.mark.parametrize(("sent", "rest"), [(True, ["d"]), (False, ["c", "d"])])
def test_a_watch_that_leaves_a_feed_goes_on_after_what_was_sent(
    site: Site, sent: bool, rest: list[str]
) -> None:
    (stream,) = started(site, 1)
    feed = stream.join()
    site.send("POST", MAPS, config_map("c"))
    assert feed is not None
    feed.poll()
    site.send("POST", MAPS, config_map("d"))
    stream.leave(sent)
    assert names(stream.poll()) == rest


def test_a_feed_goes_on_when_its_first_watch_closes(site: Site) -> None:
    one, two = started(site)
    one.join()
    feed = two.join()
    one.close()
    site.send("POST", MAPS, config_map("c"))
    assert feed is not None
    assert names(feed.poll()) == ["c"]


def test_a_feed_ends_with_its_last_watch(site: Site) -> None:
    one, two = started(site)
    feed = one.join()
    one.close()
    assert two.join() not in (feed, None)


def test_a_feed_that_has_ended_is_not_called_at_the_next_change(site: Site) -> None:
    calls: list[str] = []
    (stream,) = started(site, 1)
    feed = stream.join()
    assert feed is not None
    feed.call_once(lambda: calls.append("called"))
    stream.close()
    site.send("POST", MAPS, config_map("c"))
    assert calls == []
