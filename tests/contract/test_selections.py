"""Watches of a selection, bookmarks, notifications, sent writes and generations."""

import json
import time
from typing import Any

import pytest
from msgspec.structs import replace

from stretto.api.wire.kinds import NODE, POD, POD_GROUP, Kind
from stretto.api.wire.shards import ObjectShard
from stretto.base.errors import InputError
from stretto.stores.store import (
    Bind,
    EventType,
    ListOptions,
    Update,
    Watch,
    Write,
    WriteOutcome,
    WriteVerb,
)
from stretto.testing import make_group
from tests.contract import bodies
from tests.contract.shorthand import SPACE, Desk, written

ADDED, MODIFIED, DELETED = EventType.ADDED, EventType.MODIFIED, EventType.DELETED


def selected(desk: Desk, kind: Kind = POD, **selection: Any) -> Watch:
    """A watch of a selection from now on."""
    return desk.store.watch(kind, desk.store.list(kind).version, ListOptions(**selection))


def label(desk: Desk, name: str, value: str) -> None:
    pod = desk.store.get(POD, SPACE, name)
    assert pod is not None
    written(desk.patch(pod, {"metadata": {"labels": {"tier": value}}}))


def test_a_watch_of_labels_sees_its_objects_only(desk: Desk) -> None:
    watch = selected(desk, labels="tier=web")
    desk.pod("other", labels={"tier": "db"})
    mine = desk.pod("mine", labels={"tier": "web"})
    assert [event.record.uid for event in desk.read(watch, 1)] == [mine.uid]


def test_an_object_that_enters_the_selection_is_added(desk: Desk) -> None:
    desk.pod("web", labels={"tier": "db"})
    watch = selected(desk, labels="tier=web")
    label(desk, "web", "web")
    events = desk.read(watch, 1)
    assert [(event.type, event.record.name) for event in events] == [(ADDED, "web")]


def test_an_object_that_leaves_the_selection_is_deleted(desk: Desk) -> None:
    desk.pod("web", labels={"tier": "web"})
    watch = selected(desk, labels="tier=web")
    label(desk, "web", "db")
    (event,) = desk.read(watch, 1)
    now = desk.store.get(POD, SPACE, "web")
    assert now is not None
    assert (event.type, event.record.name) == (DELETED, "web")
    assert event.record.version == now.version


def test_a_change_inside_the_selection_is_a_change(desk: Desk) -> None:
    pod = desk.pod("web", labels={"tier": "web"})
    watch = selected(desk, labels="tier=web")
    written(desk.patch(pod, {"metadata": {"annotations": {"a": "1"}}}))
    assert [event.type for event in desk.read(watch, 1)] == [MODIFIED]


def test_a_change_outside_the_selection_is_not_seen(desk: Desk) -> None:
    desk.pod("web", labels={"tier": "db"})
    watch = selected(desk, labels="tier=web")
    label(desk, "web", "cache")
    assert desk.read(watch, 0) == []


def test_a_deletion_inside_the_selection_is_seen_and_one_outside_is_not(desk: Desk) -> None:
    inside = desk.pod("web", labels={"tier": "web"})
    outside = desk.pod("db", labels={"tier": "db"})
    watch = selected(desk, labels="tier=web")
    written(desk.delete(outside))
    written(desk.delete(inside))
    assert [event.record.name for event in desk.news(watch, 1)] == ["web"]


def test_a_watch_of_a_field_sees_a_pod_once_it_has_the_node(desk: Desk) -> None:
    desk.node("n1")
    pod = desk.pod("web")
    watch = selected(desk, fields="spec.nodeName=n1")
    desk.bind(pod, "n1")
    events = desk.read(watch, 1)
    assert [(event.type, event.record.node) for event in events] == [(ADDED, "n1")]


def test_a_watch_of_a_namespace_sees_its_objects_only(desk: Desk) -> None:
    watch = selected(desk, namespace="elsewhere")
    desk.pod("web")
    assert desk.read(watch, 0) == []


def test_a_malformed_selector_is_refused(desk: Desk) -> None:
    with pytest.raises(InputError):
        selected(desk, labels="a in (")


def test_a_field_that_no_selector_may_use_is_refused(desk: Desk) -> None:
    if desk.store.capabilities.answers_later:
        pytest.skip("the server refuses it when the watch opens")
    with pytest.raises(InputError):
        selected(desk, fields="spec.unknown=1")


def test_a_bookmark_has_the_version_of_a_watch_and_is_sent_once(desk: Desk) -> None:
    if desk.store.capabilities.answers_later:
        pytest.skip("an API server sends a bookmark about once a minute")
    options = ListOptions(labels="tier=web", bookmarks=True)
    watch = desk.store.watch(POD, desk.store.list(POD).version, options)
    desk.pod("other")
    version = desk.node("n1").version
    (mark,) = watch.poll()
    assert (mark.type, mark.record.version) == (EventType.BOOKMARK, version)
    assert watch.poll() == []
    resumed = desk.store.watch(POD, mark.record.version)
    pod = desk.pod("web")
    assert [event.record.uid for event in desk.read(resumed, 1)] == [pod.uid]


def test_a_watch_without_bookmarks_yields_none(desk: Desk) -> None:
    watch = selected(desk, labels="tier=web")
    desk.pod("other")
    assert watch.poll() == []


def test_a_subscriber_is_called_with_the_kind_that_changed(desk: Desk) -> None:
    desk.needs("notifies")
    kinds: list[Kind] = []
    for kind in (NODE, POD):
        desk.store.watch(kind, desk.store.list(kind).version)
    end = desk.store.subscribe(kinds.append)
    pod = desk.bound("web")
    until = time.monotonic() + 10
    while not {NODE, POD} <= set(kinds) and time.monotonic() < until:
        time.sleep(0.01)
    assert (NODE in kinds, POD in kinds) == (True, True)
    end()
    kinds.clear()
    written(desk.delete(pod))
    assert kinds == []


def test_a_subscriber_polls_what_was_committed_before_the_call(desk: Desk) -> None:
    desk.needs("notifies")
    watch = desk.watch()
    seen: list[str] = []
    desk.store.subscribe(lambda _kind: seen.extend(e.record.name for e in watch.poll()))
    desk.pod("web")
    until = time.monotonic() + 10
    while not seen and time.monotonic() < until:
        time.sleep(0.01)
    assert seen == ["web"]


def test_a_write_that_changes_nothing_notifies_no_watcher(desk: Desk) -> None:
    desk.needs("notifies")
    pod = desk.pod("web")
    kinds: list[Kind] = []
    desk.store.subscribe(kinds.append)
    written(desk.patch(pod, {}))
    assert kinds == []


def test_each_verb_can_be_sent(desk: Desk) -> None:
    desk.node("n1")
    body = bodies.typed(POD, bodies.pod("web", namespace=SPACE))
    created = desk.store.begin(Write(WriteVerb.CREATE, POD, [body])).result()
    pod = written(created[0])
    bind = Bind(SPACE, "web", pod.uid, "n1")
    bound = desk.store.begin(Write(WriteVerb.BIND, POD, [bind])).result()
    assert [reply.outcome for reply in bound] == [WriteOutcome.OK]
    now = desk.store.get(POD, SPACE, "web")
    assert now is not None
    assert now.node == "n1"


def test_an_embedded_store_answers_at_once(desk: Desk) -> None:
    if desk.store.capabilities.answers_later:
        pytest.skip("this store answers later")
    body = bodies.typed(POD, bodies.pod("web", namespace=SPACE))
    assert desk.store.begin(Write(WriteVerb.CREATE, POD, [body])).done()


def test_units_are_answered_in_their_order(desk: Desk) -> None:
    desk.node("n1")
    pods = [desk.pod(name) for name in "ab"]
    units = [[Bind(SPACE, pod.name, pod.uid, "n1")] for pod in pods]
    answers = desk.store.bind_units([units[0], [], units[1]])
    assert [[reply.outcome for reply in unit] for unit in answers] == [
        [WriteOutcome.OK],
        [],
        [WriteOutcome.OK],
    ]


def generation(desk: Desk, kind: Kind = POD_GROUP, name: str = "g") -> int:
    record = desk.store.get(kind, SPACE, name)
    assert record is not None
    return int(desk.shown(record)["metadata"]["generation"])


def test_a_generation_counts_the_changes_of_the_spec(desk: Desk) -> None:
    desk.needs("counts_generations")
    body = json.loads(make_group("g", 2))
    body["metadata"] |= {"namespace": SPACE, "generation": 7}
    group = desk.create(POD_GROUP, json.dumps(body).encode())
    seen = [generation(desk)]
    written(desk.patch(group, {"metadata": {"labels": {"a": "1"}}}))
    seen.append(generation(desk))
    written(desk.status(group, {"phase": "Pending"}))
    seen.append(generation(desk))
    written(desk.patch(group, {"spec": {"minMember": 3}}))
    seen.append(generation(desk))
    written(desk.patch(group, {"spec": {"minMember": 3}}))
    seen.append(generation(desk))
    assert seen == [1, 1, 1, 2, 2]


def test_a_client_cannot_set_the_generation(desk: Desk) -> None:
    desk.needs("counts_generations")
    body = json.loads(make_group("g", 2))
    body["metadata"]["namespace"] = SPACE
    group = desk.create(POD_GROUP, json.dumps(body).encode())
    written(desk.patch(group, {"metadata": {"generation": 9}}))
    assert generation(desk) == 1
    changed = desk.shown(group)
    changed["metadata"]["generation"] = 5
    changed["spec"]["minMember"] = 4
    update = Update(SPACE, "g", json.dumps(changed).encode())
    written(desk.store.update(POD_GROUP, [update])[0])
    assert generation(desk) == 2


def test_a_bind_leaves_the_generation_alone(desk: Desk) -> None:
    desk.needs("counts_generations")
    desk.bound("web")
    assert generation(desk, POD, "web") == 1


# ---------------------------------------------------------------- shards


def shard(index: int, count: int = 2) -> ObjectShard:
    """A shard by the label ``tier``; "db" is in shard 0 of two, "web" in shard 1."""
    return ObjectShard(count, index, "tier")


def test_each_object_is_in_one_shard(desk: Desk) -> None:
    made = [desk.pod(f"p{number}", labels={"tier": f"t{number}"}).name for number in range(9)]
    found = [desk.names(shard=shard(index, 3)) for index in range(3)]
    assert sorted(each for part in found for each in part) == made
    assert all(found)


def test_pages_of_a_shard_have_its_objects_only(desk: Desk) -> None:
    for number in range(9):
        desk.pod(f"p{number}", labels={"tier": f"t{number}"})
    options = ListOptions(namespace=SPACE, limit=2, shard=shard(0))
    names, page = [], desk.store.list(POD, options)
    names += [record.name for record in page.records]
    while page.next_page:
        page = desk.store.list(POD, replace(options, page=page.next_page))
        names += [record.name for record in page.records]
    assert names == desk.names(shard=shard(0))


def test_an_object_whose_label_changes_leaves_its_shard_and_enters_another(desk: Desk) -> None:
    desk.pod("web", labels={"tier": "web"})
    old, new = selected(desk, shard=shard(1)), selected(desk, shard=shard(0))
    label(desk, "web", "db")
    assert [(event.type, event.record.name) for event in desk.read(old, 1)] == [(DELETED, "web")]
    assert [event.record.name for event in desk.read(new, 1)] == ["web"]


def test_a_watch_of_a_shard_sees_its_objects_only(desk: Desk) -> None:
    watch = selected(desk, shard=shard(1))
    desk.pod("other", labels={"tier": "db"})
    mine = desk.pod("mine", labels={"tier": "web"})
    assert [event.record.uid for event in desk.read(watch, 1)] == [mine.uid]
