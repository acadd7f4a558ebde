from typing import Any

import pytest

from stretto.api.wire.kinds import POD
from stretto.base.clock import ManualClock
from stretto.base.rng import Rng
from stretto.state.cluster.config import ClusterConfig
from stretto.state.queries.invariants import check_all
from stretto.state.rows.lifecycle import PodState
from stretto.state.work.evictions import EvictionState
from stretto.state.work.units import Cure
from stretto.stores.embedded.memory import MemoryStore
from stretto.stores.store import EventType, WatchEvent
from stretto.testing import make_node, make_pod
from tests.support.hand_fed_cluster import ADDED, DELETED, MODIFIED, Books, changed

GATED = {"spec": {"schedulingGates": [{"name": "g"}]}}


def arrivals(books: Books) -> list[tuple[str, bool]]:
    return [(each.uid, each.gated) for each in books.cluster.changes.arrivals]


def finished(body: bytes, phase: str = "Succeeded") -> bytes:
    return changed(body, status={"phase": phase})


@pytest.fixture
def books() -> Books:
    return Books(make_node("n", cpu="8", gpus=2))


# ---------------------------------------------------------------- pods that come


def test_a_new_pod_wants_a_node(books: Books) -> None:
    books.pod(make_pod("p"))
    assert (books.state("p"), arrivals(books)) == (PodState.PENDING, [("p", False)])


def test_a_pod_with_a_gate_is_reported_as_gated(books: Books) -> None:
    books.pod(make_pod("p", **GATED))
    assert (books.state("p"), arrivals(books)) == (PodState.GATED, [("p", True)])


def test_a_pod_that_comes_bound_is_charged_and_wants_nothing(books: Books) -> None:
    books.pod(make_pod("p", node="n", cpu="1"))
    assert (books.state("p"), books.used("n"), arrivals(books)) == (PodState.BOUND, 1000, [])


def test_a_bound_member_of_a_group_is_reported_too(books: Books) -> None:
    books.pod(make_pod("p", node="n", group="g"))
    assert arrivals(books) == [("p", False)]


def test_a_pod_for_another_scheduler_counts_once_it_is_bound(books: Books) -> None:
    books.pod(make_pod("p", scheduler="other", cpu="1"))
    assert books.state("p") is None
    books.pod(make_pod("p", scheduler="other", cpu="1"), MODIFIED, node="n")
    assert (books.state("p"), books.used("n")) == (PodState.BOUND, 1000)


def test_a_pod_that_is_being_deleted_is_not_taken_up(books: Books) -> None:
    books.pod(make_pod("p"), deleting="2026-01-01T00:00:00Z")
    assert books.state("p") is None


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_finished_pod_takes_nothing_even_when_first_seen_so(books: Books, phase: str) -> None:
    books.pod(finished(make_pod("p", node="n", cpu="1"), phase))
    assert (books.state("p"), books.used("n")) == (None, 0)


def test_a_namesake_with_another_uid_is_another_pod(books: Books) -> None:
    books.pod(make_pod("p", node="n", cpu="1"), uid="first")
    books.pod(make_pod("p"), DELETED, uid="first")
    books.pod(make_pod("p", cpu="2"), uid="second")
    assert (books.state("first"), books.state("second")) == (None, PodState.PENDING)
    assert books.used("n") == 0


def test_a_batch_tells_arrivals_in_order(books: Books) -> None:
    events = [
        WatchEvent(ADDED, books.record(POD, make_pod(name)), None) for name in ("b", "a", "c")
    ]
    books.ingest.pods(events, 0.0)
    assert [uid for uid, _ in arrivals(books)] == ["b", "a", "c"]


def test_a_pod_that_comes_and_goes_in_one_batch_leaves_nothing(books: Books) -> None:
    kind, body = POD, make_pod("p", node="n")
    events = [WatchEvent(each, books.record(kind, body, node="n")) for each in (ADDED, DELETED)]
    books.ingest.pods(events, 0.0)
    assert (len(books.cluster.pods), books.used("n")) == (0, 0)


@pytest.mark.parametrize(
    ("given", "priority"),
    [({"priority": 9}, 9), ({"spec": {"priorityClassName": "high"}}, 50), ({}, 3)],
)
def test_priority_is_stated_named_or_the_default(given: dict[str, Any], priority: int) -> None:
    books = Books(config=ClusterConfig(default_priority=3))
    books.priority("high", 50)
    books.pod(make_pod("p", **given))
    assert books.cluster.pods.priority[books.row("p")] == priority


# ---------------------------------------------------------------- pods that change


def test_our_own_bind_seen_in_the_store_is_confirmed(books: Books) -> None:
    books.pod(make_pod("p", cpu="1"))
    books.assume("p", "n")
    books.pod(make_pod("p", cpu="1"), MODIFIED, node="n")
    assert (books.state("p"), books.used("n")) == (PodState.BOUND, 1000)
    assert books.cluster.changes.bound == [books.row("p")]


def test_a_bind_that_is_over_by_the_time_it_is_seen_leaves_nothing(books: Books) -> None:
    books.pod(make_pod("p", cpu="1"))
    books.assume("p", "n")
    books.pod(finished(make_pod("p", cpu="1")), MODIFIED, node="n")
    assert (books.state("p"), books.used("n")) == (None, 0)


def test_the_store_is_right_about_where_a_pod_is(books: Books) -> None:
    books.node(make_node("m"))
    books.pod(make_pod("p", cpu="1"))
    books.assume("p", "n")
    books.pod(make_pod("p", cpu="1"), MODIFIED, node="m")
    assert (books.used("n"), books.used("m"), books.state("p")) == (0, 1000, PodState.BOUND)


def test_a_pod_bound_by_another_client_is_charged(books: Books) -> None:
    books.pod(make_pod("p", cpu="1"))
    books.pod(make_pod("p", cpu="1"), MODIFIED, node="n")
    assert (books.state("p"), books.used("n")) == (PodState.BOUND, 1000)


def test_a_finished_pod_gives_back_what_it_had(books: Books) -> None:
    books.pod(make_pod("p", node="n", gpus=1, ports=[80]))
    books.pod(finished(make_pod("p", node="n", gpus=1, ports=[80])), MODIFIED)
    assert (books.state("p"), books.used("n")) == (None, 0)
    assert books.cluster.changes.cures & Cure.POD_LEFT


def test_a_deleted_pod_is_a_departure(books: Books) -> None:
    books.pod(make_pod("p", node="n"))
    row, serial = books.row("p"), int(books.cluster.pods.serial[books.row("p")])
    books.pod(make_pod("p"), DELETED)
    assert books.cluster.changes.departures == [(row, serial, "p", False)]


def test_a_waiting_pod_that_is_being_deleted_waits_no_longer(books: Books) -> None:
    books.pod(make_pod("p"))
    books.pod(make_pod("p"), MODIFIED, deleting="2026-01-01T00:00:00Z")
    assert books.state("p") is None


def test_a_bound_pod_that_is_being_deleted_counts_until_it_has_gone(books: Books) -> None:
    books.pod(make_pod("p", node="n", cpu="1"))
    books.pod(make_pod("p", node="n", cpu="1"), MODIFIED, deleting="2026-01-01T00:00:00Z")
    assert (books.state("p"), books.used("n")) == (PodState.BOUND, 1000)


def test_a_removed_gate_lets_the_pod_in(books: Books) -> None:
    books.pod(make_pod("p", **GATED))
    books.pod(make_pod("p"), MODIFIED)
    assert books.state("p") is PodState.PENDING
    assert [each.gated for each in books.cluster.changes.regrouped] == [False]


def test_a_resized_pod_is_charged_for_what_it_asks_now(books: Books) -> None:
    books.pod(make_pod("p", node="n", cpu="1"))
    books.pod(make_pod("p", node="n", cpu="3"), MODIFIED)
    assert (books.used("n"), check_all(books.cluster)) == (3000, [])


def test_a_waiting_pod_that_changed_may_fit_now(books: Books) -> None:
    books.pod(make_pod("p", cpu="99"))
    books.cluster.changes.clear()
    books.pod(make_pod("p", cpu="1"), MODIFIED)
    assert books.cluster.changes.cures == Cure.POD_CHANGED


def test_an_event_that_was_seen_before_changes_nothing(books: Books) -> None:
    event = books.pod(make_pod("p", node="n", cpu="1"))
    books.pod(make_pod("p", node="n", cpu="3"), MODIFIED)
    books.ingest.pods([event, WatchEvent(MODIFIED, event.record)], 0.0)
    assert books.used("n") == 3000


def test_a_bookmark_is_no_pod(books: Books) -> None:
    books.pod(make_pod("p"), EventType.BOOKMARK)
    assert len(books.cluster.pods) == 0


def test_a_pod_created_terminating_in_a_store_is_removed_from_its_node(books: Books) -> None:
    store = MemoryStore(ManualClock(), Rng(0))
    going = changed(make_pod("p", node="n"), metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"})
    watch = store.watch(POD, 0)
    stays, leaves = store.create(POD, [make_pod("q", node="n"), going])
    books.ingest.pods(watch.poll(), 0.0)
    leaving = books.cluster.pods.eviction_state
    assert leaves.record is not None
    assert stays.record is not None
    assert leaving[books.row(stays.record.uid)] == EvictionState.NONE
    assert leaving[books.row(leaves.record.uid)] == EvictionState.EVICTING


# ---------------------------------------------------------------- objects that cannot be read


@pytest.mark.parametrize(
    "bad",
    [
        make_pod("bad", cpu="x"),
        make_pod("bad", priority=1 << 40),
        make_pod("bad", gpus=1, gpu_milli="\u00b2"),
        make_pod("bad", spec={"containers": 5}),
        make_pod("bad", memory="9E", node="n"),
        b'{"metadata": {"name": "bad", "namespace": "default"}}',
    ],
)
def test_a_pod_that_cannot_be_read_fails_alone(books: Books, bad: bytes) -> None:
    kind = POD
    events = [WatchEvent(ADDED, books.record(kind, body)) for body in (bad, make_pod("good"))]
    books.ingest.pods(events, 0.0)
    assert list(books.cluster.abnormal) == ["pod default/bad"]
    assert [uid for uid, _ in arrivals(books)] == ["good"]


def test_a_corrected_pod_is_no_longer_abnormal(books: Books) -> None:
    books.pod(make_pod("p", cpu="x"))
    books.pod(make_pod("p", cpu="1"), MODIFIED)
    assert (books.cluster.abnormal, books.state("p")) == ({}, PodState.PENDING)


def test_a_pod_that_becomes_invalid_keeps_its_class_until_it_is_corrected(books: Books) -> None:
    books.pod(make_pod("p", node="n", cpu="1"))
    books.pod(make_pod("p", node="n", cpu="x"), MODIFIED)
    assert (list(books.cluster.abnormal), books.used("n")) == (["pod default/p"], 1000)
    books.pod(make_pod("p", node="n", cpu="2"), MODIFIED)
    assert (books.cluster.abnormal, books.used("n")) == ({}, 2000)


def test_deleted_abnormal_objects_are_not_reported(books: Books) -> None:
    books.node(make_node("bad", cpu="x"))
    books.pod(make_pod("p", node="n"))
    books.pod(make_pod("p", cpu="x"), MODIFIED)
    assert len(books.cluster.abnormal) == 2
    books.node(make_node("bad"), DELETED)
    books.pod(make_pod("p"), DELETED)
    assert books.cluster.abnormal == {}


def test_a_priority_class_that_cannot_be_read_fails_alone(books: Books) -> None:
    books.priority("bad", "x")
    books.priority("huge", 1 << 40)
    books.priority("good", 5)
    assert books.cluster.priorities == {"good": 5}
    assert sorted(books.cluster.abnormal) == ["priorityclass bad", "priorityclass huge"]


def test_a_corrected_priority_class_is_no_longer_abnormal(books: Books) -> None:
    books.priority("p", "x")
    books.priority("p", 5, MODIFIED)
    assert (books.cluster.abnormal, books.cluster.priorities) == ({}, {"p": 5})
    books.priority("p", 5, DELETED)
    assert books.cluster.priorities == {}


def test_groups_come_and_go(books: Books) -> None:
    books.group("g", 3)
    assert books.cluster.groups["default/g"].spec.min_member == 3
    books.group("g", 3, DELETED)
    assert books.cluster.groups == {}
    assert [each.group is None for each in books.cluster.changes.groups] == [False, True]
