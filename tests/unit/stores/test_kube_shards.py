"""Shards of a store whose server filters them, and of one that returns all objects."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from stretto.api.wire.kinds import POD
from stretto.api.wire.shards import ObjectShard
from stretto.stores.store import EventType, ListOptions, WatchEvent
from tests.unit.stores.kube_server import Server, lines, pod
from tests.unit.stores.test_kube import listed, polled

ADDED, MODIFIED, DELETED = EventType.ADDED, EventType.MODIFIED, EventType.DELETED
BY_LABEL = ListOptions(shard=ObjectShard(2, 0, "tier"))
"""The shard of the label "db"; "web" is in the other one."""
BY_NAMESPACE = ListOptions(shard=ObjectShard(2, 1))
"""The shard of the namespace "own"; "other" is in the other one."""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    server = Server(tmp_path)
    yield server
    server.close()


def labelled(name: str, version: int, tier: str) -> dict[str, Any]:
    item = pod(name, version)
    item["metadata"]["labels"] = {"tier": tier}
    return item


def change(word: str, item: dict[str, Any]) -> dict[str, Any]:
    return {"type": word, "object": item}


def seen(events: list[WatchEvent]) -> list[tuple[EventType, str]]:
    return [(event.type, event.record.name) for event in events]


def test_a_list_sends_the_options_of_its_shard(server: Server) -> None:
    queries: list[dict[str, str]] = []
    server.rules = [lambda request: queries.append(dict(request.query))]
    server.rules += [lines(listed(7), hold=5)]
    server.store().list(POD, BY_LABEL)
    options = {"shardingCount": "2", "shardingIndex": "0", "shardingLabelKey": "tier"}
    assert options.items() <= queries[0].items()


def test_a_streamed_list_of_a_server_without_shards_is_filtered(server: Server) -> None:
    own, other = labelled("own", 3, "db"), labelled("other", 4, "web")
    server.rules = [lines(change("ADDED", own), change("ADDED", other), listed(7), hold=5)]
    found = server.store().list(POD, BY_LABEL)
    assert ([each.name for each in found.records], found.version) == (["own"], 7)


def test_a_page_of_a_server_without_shards_is_filtered(server: Server) -> None:
    items = [labelled("own", 3, "db"), labelled("other", 4, "web")]
    body = {"metadata": {"resourceVersion": "7"}, "items": items}
    server.rules = [lambda _: web.json_response(body)]
    found = server.store().list(POD, ListOptions(limit=5, shard=BY_LABEL.shard))
    assert [each.name for each in found.records] == ["own"]


def test_an_object_of_another_shard_is_dropped_before_it_is_decoded(server: Server) -> None:
    other = {"metadata": {"name": "other", "labels": {"tier": "web"}}, "spec": "no uid, no version"}
    body = {"metadata": {"resourceVersion": "7"}, "items": [other]}
    server.rules = [lambda _: web.json_response(body)]
    assert server.store().list(POD, ListOptions(limit=5, shard=BY_LABEL.shard)).records == []


def test_a_watch_of_a_server_without_shards_is_filtered(server: Server) -> None:
    own, other = labelled("own", 8, "db"), labelled("other", 9, "web")
    moved = labelled("own", 10, "web")
    changes = (change("ADDED", own), change("ADDED", other), change("MODIFIED", moved))
    server.rules = [lines(*changes, hold=5)]
    watch = server.store().watch(POD, 7, BY_LABEL)
    assert seen(polled(watch, 2)) == [(ADDED, "own"), (DELETED, "own")]


def test_a_watch_by_namespace_drops_every_event_of_other_shards(server: Server) -> None:
    own, other = pod("a", 9), pod("b", 8)
    own["metadata"]["namespace"], other["metadata"]["namespace"] = "own", "other"
    server.rules = [lines(change("MODIFIED", other), change("MODIFIED", own), hold=5)]
    watch = server.store().watch(POD, 7, BY_NAMESPACE)
    assert seen(polled(watch, 1)) == [(MODIFIED, "a")]
