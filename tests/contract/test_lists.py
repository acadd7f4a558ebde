"""Lists: order, selections, and pages that belong together."""

from typing import Any

import pytest

from stretto.api.wire.kinds import NODE, POD
from stretto.base.errors import InputError, TooOldError
from stretto.stores.store import ListOptions
from tests.contract import bodies
from tests.contract.shorthand import SPACE, Desk, written


def test_a_list_is_ordered_by_namespace_and_name(desk: Desk) -> None:
    for name in ("c", "a", "b"):
        desk.pod(name)
    desk.create(POD, bodies.pod("z", namespace="a-space-before"))
    listed = [(each.namespace, each.name) for each in desk.store.list(POD).records]
    assert listed == [("a-space-before", "z"), (SPACE, "a"), (SPACE, "b"), (SPACE, "c")]


def test_a_list_keeps_its_order_when_objects_come_and_go(desk: Desk) -> None:
    pods = {name: desk.pod(name) for name in "db"}
    assert desk.names() == ["b", "d"]
    desk.pod("c")
    written(desk.delete(pods["b"]))
    desk.pod("a")
    assert desk.names() == ["a", "c", "d"]


def test_an_empty_list_still_has_a_version(desk: Desk) -> None:
    node = desk.node("n1")
    listing = desk.store.list(POD, ListOptions(namespace=SPACE))
    assert not listing.records
    assert listing.version >= node.version


def test_a_list_has_one_namespace_or_all(desk: Desk) -> None:
    desk.pod("web")
    desk.create(POD, bodies.pod("web", namespace="elsewhere"))
    assert desk.names() == ["web"]
    assert len(desk.store.list(POD).records) == 2


def test_a_list_once_made_does_not_change(desk: Desk) -> None:
    desk.pod("a")
    listing = desk.store.list(POD)
    desk.pod("b")
    assert [record.name for record in listing.records] == ["a"]


@pytest.mark.parametrize(
    ("labels", "names"),
    [
        ("app=web", ["w1", "w2"]),
        ("app!=web", ["d1", "plain"]),
        ("app in (web,db),tier", ["w1"]),
        ("!app", ["plain"]),
        ("app=absent", []),
    ],
)
def test_a_list_selects_by_labels(desk: Desk, labels: str, names: list[str]) -> None:
    desk.pod("w1", labels={"app": "web", "tier": "front"})
    desk.pod("w2", labels={"app": "web"})
    desk.pod("d1", labels={"app": "db"})
    desk.pod("plain")
    assert desk.names(labels=labels) == names


def test_a_list_selects_by_the_node_that_a_bind_gave(desk: Desk) -> None:
    desk.bound("a", "n1")
    desk.bound("b", "n2")
    desk.pod("c")
    assert desk.names(fields="spec.nodeName=n1") == ["a"]
    assert desk.names(fields="spec.nodeName=") == ["c"]
    assert desk.names(fields="spec.nodeName!=") == ["a", "b"]


def test_a_list_selects_by_phase_and_a_new_pod_is_pending(desk: Desk) -> None:
    desk.running("a")
    desk.pod("b")
    assert desk.names(fields="status.phase=Running") == ["a"]
    assert desk.names(fields="status.phase=Pending") == ["b"]


def test_a_list_selects_by_name_and_labels_together(desk: Desk) -> None:
    desk.pod("a", labels={"app": "web"})
    desk.pod("b", labels={"app": "web"})
    assert desk.names(fields="metadata.name=b", labels="app=web") == ["b"]
    assert desk.names(fields=f"metadata.namespace={SPACE}") == ["a", "b"]


@pytest.mark.parametrize("selection", [{"labels": "a in"}, {"fields": "spec.nodename=n1"}])
def test_a_selector_that_is_none_is_bad_input(desk: Desk, selection: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        desk.names(**selection)


def test_a_selector_sees_labels_as_they_are_now(desk: Desk) -> None:
    pod = desk.pod("a", labels={"app": "web"})
    written(desk.patch(pod, {"metadata": {"labels": {"app": "db"}}}))
    assert desk.names(labels="app=web") == []
    assert desk.names(labels="app=db") == ["a"]


# ---------------------------------------------------------------- pages


def _pages(desk: Desk, limit: int, between: list[str]) -> tuple[list[list[str]], set[int]]:
    """All pages of a list, making the named pods between the first and the second."""
    pages, versions, token = [], set(), ""
    while True:
        requested = ListOptions(namespace=SPACE, limit=limit, page=token)
        listing = desk.store.list(POD, requested)
        pages.append([record.name for record in listing.records])
        versions.add(listing.version)
        while between:
            desk.pod(between.pop())
        token = listing.next_page
        if not token:
            return pages, versions


def test_pages_hold_every_object_once(desk: Desk) -> None:
    for name in "edcba":
        desk.pod(name)
    assert _pages(desk, 2, [])[0] == [["a", "b"], ["c", "d"], ["e"]]


def test_a_last_page_that_is_full_has_no_next(desk: Desk) -> None:
    for name in "abcd":
        desk.pod(name)
    assert _pages(desk, 2, [])[0] == [["a", "b"], ["c", "d"]]


def test_pages_show_the_state_of_the_first(desk: Desk) -> None:
    for name in "ace":
        desk.pod(name)
    pages, versions = _pages(desk, 1, ["b", "d"])
    assert pages == [["a"], ["c"], ["e"]]
    assert len(versions) == 1


def test_a_watch_from_the_version_of_pages_misses_nothing(desk: Desk) -> None:
    for name in "ac":
        desk.pod(name)
    _, versions = _pages(desk, 1, ["b"])
    watch = desk.store.watch(POD, versions.pop())
    assert [event.record.name for event in desk.read(watch, 1)] == ["b"]


def test_a_page_token_that_is_none_is_refused(desk: Desk) -> None:
    with pytest.raises((InputError, TooOldError)):
        desk.store.list(POD, ListOptions(limit=1, page="nonsense"))


def test_nodes_are_listed_without_a_namespace(desk: Desk) -> None:
    desk.node("n1")
    assert [record.name for record in desk.store.list(NODE).records] == ["n1"]
