"""etcd's nine checks on watches: the server passes them, and each finds what it is for."""

import json
import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from stretto.base.clock import ManualClock
from stretto.base.rng import Rng
from stretto.stores.embedded.memory import MemoryStore
from stretto.stores.embedded.sqlite import SqliteStore
from stretto.stores.store import Store
from stretto.web.api.message import ApiRequest, ApiResponse, ApiStream
from stretto.web.api.server import ApiServer, ApiSettings
from tests.support.watch_checks import (
    CHECKS,
    Delivered,
    Json,
    WatchLog,
    Written,
    failed_checks,
)

MAPS = "/api/v1/namespaces/default/configmaps"
STEPS = 120
NAMES = "abcdef"
Events = list[Delivered]


class Client:
    """Writes at random, notes every write, and reads watches."""

    def __init__(self, store: Store, clock: ManualClock) -> None:
        self.server = ApiServer(store, ApiSettings(clock, Rng(2)))
        self.clock = clock
        self.writes: list[Written] = []
        self.items: dict[str, Json] = {}
        self._chance = random.Random(3)

    def send(self, method: str, target: str, body: Any = None, kind: str = "json") -> Json:
        data = b"" if body is None else json.dumps(body).encode()
        request = ApiRequest(method, target, {"content-type": f"application/{kind}"}, data)
        answer = self.server.handle(request)
        assert isinstance(answer, ApiResponse)
        found: Json = json.loads(answer.body)
        return found

    def write(self) -> None:
        """Create, change, relabel or delete one object."""
        name, number = self._chance.choice(NAMES), str(self._chance.randrange(1000))
        before = self.items.pop(name, None)
        tier = self._chance.choice(("web", "db"))
        body = {"metadata": {"name": name, "labels": {"tier": tier}}, "data": {"x": number}}
        if before is None:
            after = self.send("POST", MAPS, body)
        elif self._chance.random() < 0.3:
            self.send("DELETE", f"{MAPS}/{name}")
            self.writes.append(Written(self.version, name, before, None))
            return
        else:
            after = self.send("PATCH", f"{MAPS}/{name}", body, "merge-patch+json")
        self.items[name] = after
        self.writes.append(Written(int(after["metadata"]["resourceVersion"]), name, before, after))

    @property
    def version(self) -> int:
        """The version of the newest state."""
        return int(self.send("GET", MAPS)["metadata"]["resourceVersion"])

    def watch(self, start: int, query: str) -> ApiStream:
        target = f"{MAPS}?watch=1&allowWatchBookmarks=true&resourceVersion={start}{query}"
        answer = self.server.handle(ApiRequest("GET", target))
        assert isinstance(answer, ApiStream)
        return answer


def everything(item: Json) -> bool:
    return bool(item)


def of_web(item: Json) -> bool:
    return bool(item["metadata"]["labels"]["tier"] == "web")


QUERIES: tuple[tuple[str, Callable[[Json], bool]], ...] = (
    ("", everything),
    ("&labelSelector=tier%3Dweb", of_web),
)


def read(stream: ApiStream) -> Events:
    found = [json.loads(each) for each in stream.poll() or ()]
    return [Delivered(each["type"], each["object"]) for each in found]


def watched(store: Store, clock: ManualClock) -> tuple[list[WatchLog], list[Written]]:
    """Events of watches that begin at several times, are interrupted, and resume."""
    client = Client(store, clock)
    logs: list[WatchLog] = []
    started: list[tuple[int, Any, ApiStream, Events]] = []
    for step in range(STEPS):
        if step % 20 == 0:
            past = client.writes[-10].version if step else client.version
            for start in {past, client.version}:
                started += [(start, s, client.watch(start, q), []) for q, s in QUERIES]
        client.write()
        if step % 7 == 0:
            clock.advance(70.0)  # bookmarks are due
        for _, _, stream, events in started:
            events += read(stream)
    logs += [WatchLog(start, selects, events) for start, selects, _, events in started]
    return logs, client.writes


@pytest.fixture(scope="module", params=["memory", "sqlite"])
def observed(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[list[WatchLog], list[Written]]:
    clock = ManualClock(1_790_000_000.0)
    if request.param == "memory":
        return watched(MemoryStore(clock, Rng(1)), clock)
    path: Path = tmp_path_factory.mktemp("store") / "x.db"
    store = SqliteStore(path, clock, Rng(1))
    try:
        return watched(store, clock)
    finally:
        store.close()


def test_the_server_passes_every_check(observed: tuple[list[WatchLog], list[Written]]) -> None:
    logs, writes = observed
    assert [failed_checks(each, writes) for each in logs] == [set()] * len(logs)
    assert {event.type for each in logs for event in each.events} >= {
        "ADDED", "MODIFIED", "DELETED", "BOOKMARK",
    }  # fmt: skip


def test_a_watch_delivers_the_last_write(observed: tuple[list[WatchLog], list[Written]]) -> None:
    logs, writes = observed
    newest = [each.objects[-1].version for each in logs if each.selects is everything]
    assert newest == [writes[-1].version] * len(newest)


def first(events: Sequence[Delivered], wanted: str) -> int:
    return next(place for place, each in enumerate(events) if each.type == wanted)


def swapped(events: Events) -> Events:
    return [events[1], events[0], *events[2:]]


def doubled(events: Events) -> Events:
    return [events[0], *events]


def mixed(events: Events) -> Events:
    at = first(events, "MODIFIED")
    item = {**events[at].item, "data": {"x": "of another write"}}
    return [*events[:at], events[at]._replace(item=item), *events[at + 1 :]]


def without_the_third(events: Events) -> Events:
    return [*events[:2], *events[3:]]


def without_the_first(events: Events) -> Events:
    return events[1:]


def with_an_early_bookmark(events: Events) -> Events:
    bookmark = Delivered("BOOKMARK", {"metadata": {"resourceVersion": str(events[2].version)}})
    return [*events[:2], bookmark, *events[2:]]


def with_another_object(events: Events) -> Events:
    item = {**events[0].item, "metadata": {**events[0].item["metadata"], "name": "other"}}
    return [*events, Delivered("ADDED", item)]


def with_another_last_state(events: Events) -> Events:
    at = first(events, "DELETED")
    item = {**events[at].item, "data": {"x": "of an older write"}}
    return [*events[:at], events[at]._replace(item=item), *events[at + 1 :]]


def with_a_change_as_new(events: Events) -> Events:
    at = first(events, "MODIFIED")
    return [*events[:at], events[at]._replace(type="ADDED"), *events[at + 1 :]]


FAULTS: dict[str, Callable[[Events], Events]] = {
    "ordered": swapped,
    "unique": doubled,
    "atomic": mixed,
    "reliable": without_the_third,
    "resumable": without_the_first,
    "bookmarkable": with_an_early_bookmark,
    "filter": with_another_object,
    "prevKV": with_another_last_state,
    "isCreate": with_a_change_as_new,
}


def broken(logs: Sequence[WatchLog], fault: Callable[[Events], Events]) -> Iterator[WatchLog]:
    for each in logs:
        if {event.type for event in each.objects} >= {"ADDED", "MODIFIED", "DELETED"}:
            yield each._replace(events=fault(each.objects))


@pytest.mark.parametrize("check", CHECKS)
def test_each_check_finds_a_watch_that_breaks_it(
    observed: tuple[list[WatchLog], list[Written]], check: str
) -> None:
    logs, writes = observed
    found = [failed_checks(each, writes) for each in broken(logs, FAULTS[check])]
    assert found
    assert all(check in each for each in found)
