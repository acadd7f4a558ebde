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
from tests.support.hand_fed_cluster import ADDED, DELETED, MODIFIED, ClusterFeed, changed

GATED = {"spec": {"schedulingGates": [{"name": "g"}]}}


def arrivals(feed: ClusterFeed) -> list[tuple[str, bool]]:
    return [(each.uid, each.gated) for each in feed.cluster.changes.arrivals]


def finished(body: bytes, phase: str = "Succeeded") -> bytes:
    return changed(body, status={"phase": phase})


@pytest.fixture
def feed() -> ClusterFeed:
    return ClusterFeed(make_node("n", cpu="8", gpus=2))


# ---------------------------------------------------------------- new pods


def test_a_new_pod_needs_a_node(feed: ClusterFeed) -> None:
    feed.pod(make_pod("p"))
    assert (feed.state("p"), arrivals(feed)) == (PodState.PENDING, [("p", False)])


def test_a_pod_with_a_gate_is_reported_as_gated(feed: ClusterFeed) -> None:
    feed.pod(make_pod("p", **GATED))
    assert (feed.state("p"), arrivals(feed)) == (PodState.GATED, [("p", True)])


def test_a_pod_that_comes_bound_is_charged_and_not_pending(feed: ClusterFeed) -> None:
    feed.pod(make_pod("p", node="n", cpu="1"))
    assert (feed.state("p"), feed.used("n"), arrivals(feed)) == (PodState.BOUND, 1000, [])


def test_a_bound_member_of_a_group_is_reported_too(feed: ClusterFeed) -> None:
    feed.pod(make_pod("p", node="n", group="g"))
    assert arrivals(feed) == [("p", False)]


def test_a_pod_for_another_scheduler_counts_once_it_is_bound(feed: ClusterFeed) -> None:
    feed.pod(make_pod("p", scheduler="other", cpu="1"))
    assert feed.state("p") is None
    feed.pod(make_pod("p", scheduler="other", cpu="1"), MODIFIED, node="n")
    assert (feed.state("p"), feed.used("n")) == (PodState.BOUND, 1000)


def test_a_pod_that_is_being_deleted_is_not_taken_up(feed: ClusterFeed) -> None:
    feed.pod(make_pod("p"), deleting="2026-01-01T00:00:00Z")
    assert feed.state("p") is None


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_finished_pod_takes_nothing_even_when_first_seen_so(
    feed: ClusterFeed, phase: str
) -> None:
    feed.pod(finished(make_pod("p", node="n", cpu="1"), phase))
    assert (feed.state("p"), feed.used("n")) == (None, 0)


def test_a_namesake_with_another_uid_is_another_pod(feed: ClusterFeed) -> None:
    feed.pod(make_pod("p", node="n", cpu="1"), uid="first")
    feed.pod(make_pod("p"), DELETED, uid="first")
    feed.pod(make_pod("p", cpu="2"), uid="second")
    assert (feed.state("first"), feed.state("second")) == (None, PodState.PENDING)
    assert feed.used("n") == 0


def test_a_batch_has_its_arrivals_in_order(feed: ClusterFeed) -> None:
    events = [WatchEvent(ADDED, feed.record(POD, make_pod(name)), None) for name in ("b", "a", "c")]
    feed.ingest.pods(events, 0.0)
    assert [uid for uid, _ in arrivals(feed)] == ["b", "a", "c"]


def test_a_pod_that_comes_and_goes_in_one_batch_leaves_nothing(feed: ClusterFeed) -> None:
    kind, body = POD, make_pod("p", node="n")
    events = [WatchEvent(each, feed.record(kind, body, node="n")) for each in (ADDED, DELETED)]
    feed.ingest.pods(events, 0.0)
    assert (len(feed.cluster.pods), feed.used("n")) == (0, 0)


@pytest.mark.parametrize(
    ("given", "priority"),
    [({"priority": 9}, 9), ({"spec": {"priorityClassName": "high"}}, 50), ({}, 3)],
)
def test_priority_is_stated_named_or_the_default(given: dict[str, Any], priority: int) -> None:
    feed = ClusterFeed(config=ClusterConfig(default_priority=3))
    feed.priority("high", 50)
    feed.pod(make_pod("p", **given))
    assert feed.cluster.pods.priority[feed.row("p")] == priority


# ---------------------------------------------------------------- pods that change


def test_an_own_bind_in_the_store_is_confirmed(feed: ClusterFeed) -> None:
    feed.pod(make_pod("p", cpu="1"))
    feed.assume("p", "n")
    feed.pod(make_pod("p", cpu="1"), MODIFIED, node="n")
    assert (feed.state("p"), feed.used("n")) == (PodState.BOUND, 1000)
    assert feed.cluster.changes.bound == [feed.row("p")]


def test_a_bind_that_is_over_by_the_time_it_is_seen_leaves_nothing(feed: ClusterFeed) -> None:
    feed.pod(make_pod("p", cpu="1"))
    feed.assume("p", "n")
    feed.pod(finished(make_pod("p", cpu="1")), MODIFIED, node="n")
    assert (feed.state("p"), feed.used("n")) == (None, 0)


def test_the_store_is_right_about_where_a_pod_is(feed: ClusterFeed) -> None:
    feed.node(make_node("m"))
    feed.pod(make_pod("p", cpu="1"))
    feed.assume("p", "n")
    feed.pod(make_pod("p", cpu="1"), MODIFIED, node="m")
    assert (feed.used("n"), feed.used("m"), feed.state("p")) == (0, 1000, PodState.BOUND)


def test_a_pod_bound_by_another_client_is_charged(feed: ClusterFeed) -> None:
    feed.pod(make_pod("p", cpu="1"))
    feed.pod(make_pod("p", cpu="1"), MODIFIED, node="n")
    assert (feed.state("p"), feed.used("n")) == (PodState.BOUND, 1000)


def test_a_finished_pod_gives_back_what_it_had(feed: ClusterFeed) -> None:
    feed.pod(make_pod("p", node="n", gpus=1, ports=[80]))
    feed.pod(finished(make_pod("p", node="n", gpus=1, ports=[80])), MODIFIED)
    assert (feed.state("p"), feed.used("n")) == (None, 0)
    assert feed.cluster.changes.cures & Cure.POD_LEFT


def test_a_deleted_pod_is_a_departure(feed: ClusterFeed) -> None:
    feed.pod(make_pod("p", node="n"))
    row, serial = feed.row("p"), int(feed.cluster.pods.serial[feed.row("p")])
    feed.pod(make_pod("p"), DELETED)
    assert feed.cluster.changes.departures == [(row, serial, "p", False)]


def test_a_waiting_pod_that_is_being_deleted_waits_no_longer(feed: ClusterFeed) -> None:
    feed.pod(make_pod("p"))
    feed.pod(make_pod("p"), MODIFIED, deleting="2026-01-01T00:00:00Z")
    assert feed.state("p") is None


def test_a_bound_pod_that_is_being_deleted_counts_until_it_has_gone(feed: ClusterFeed) -> None:
    feed.pod(make_pod("p", node="n", cpu="1"))
    feed.pod(make_pod("p", node="n", cpu="1"), MODIFIED, deleting="2026-01-01T00:00:00Z")
    assert (feed.state("p"), feed.used("n")) == (PodState.BOUND, 1000)


def test_a_removed_gate_lets_the_pod_in(feed: ClusterFeed) -> None:
    feed.pod(make_pod("p", **GATED))
    feed.pod(make_pod("p"), MODIFIED)
    assert feed.state("p") is PodState.PENDING
    assert [each.gated for each in feed.cluster.changes.regrouped] == [False]


def test_a_resized_pod_is_charged_for_what_it_requests_now(feed: ClusterFeed) -> None:
    feed.pod(make_pod("p", node="n", cpu="1"))
    feed.pod(make_pod("p", node="n", cpu="3"), MODIFIED)
    assert (feed.used("n"), check_all(feed.cluster)) == (3000, [])


def test_a_waiting_pod_that_changed_may_fit_now(feed: ClusterFeed) -> None:
    feed.pod(make_pod("p", cpu="99"))
    feed.cluster.changes.clear()
    feed.pod(make_pod("p", cpu="1"), MODIFIED)
    assert feed.cluster.changes.cures == Cure.POD_CHANGED


def test_an_event_that_was_seen_before_changes_nothing(feed: ClusterFeed) -> None:
    event = feed.pod(make_pod("p", node="n", cpu="1"))
    feed.pod(make_pod("p", node="n", cpu="3"), MODIFIED)
    feed.ingest.pods([event, WatchEvent(MODIFIED, event.record)], 0.0)
    assert feed.used("n") == 3000


def test_a_bookmark_is_no_pod(feed: ClusterFeed) -> None:
    feed.pod(make_pod("p"), EventType.BOOKMARK)
    assert len(feed.cluster.pods) == 0


def test_a_pod_created_terminating_in_a_store_is_removed_from_its_node(feed: ClusterFeed) -> None:
    store = MemoryStore(ManualClock(), Rng(0))
    going = changed(make_pod("p", node="n"), metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"})
    watch = store.watch(POD, 0)
    stays, leaves = store.create(POD, [make_pod("q", node="n"), going])
    feed.ingest.pods(watch.poll(), 0.0)
    leaving = feed.cluster.pods.eviction_state
    assert leaves.record is not None
    assert stays.record is not None
    assert leaving[feed.row(stays.record.uid)] == EvictionState.NONE
    assert leaving[feed.row(leaves.record.uid)] == EvictionState.EVICTING


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
def test_a_pod_that_cannot_be_read_fails_alone(feed: ClusterFeed, bad: bytes) -> None:
    kind = POD
    events = [WatchEvent(ADDED, feed.record(kind, body)) for body in (bad, make_pod("good"))]
    feed.ingest.pods(events, 0.0)
    assert list(feed.cluster.abnormal) == ["pod default/bad"]
    assert [uid for uid, _ in arrivals(feed)] == ["good"]


def test_a_corrected_pod_is_no_longer_abnormal(feed: ClusterFeed) -> None:
    feed.pod(make_pod("p", cpu="x"))
    feed.pod(make_pod("p", cpu="1"), MODIFIED)
    assert (feed.cluster.abnormal, feed.state("p")) == ({}, PodState.PENDING)


def test_a_pod_that_becomes_invalid_keeps_its_class_until_it_is_corrected(
    feed: ClusterFeed,
) -> None:
    feed.pod(make_pod("p", node="n", cpu="1"))
    feed.pod(make_pod("p", node="n", cpu="x"), MODIFIED)
    assert (list(feed.cluster.abnormal), feed.used("n")) == (["pod default/p"], 1000)
    feed.pod(make_pod("p", node="n", cpu="2"), MODIFIED)
    assert (feed.cluster.abnormal, feed.used("n")) == ({}, 2000)


def test_deleted_abnormal_objects_are_not_reported(feed: ClusterFeed) -> None:
    feed.node(make_node("bad", cpu="x"))
    feed.pod(make_pod("p", node="n"))
    feed.pod(make_pod("p", cpu="x"), MODIFIED)
    assert len(feed.cluster.abnormal) == 2
    feed.node(make_node("bad"), DELETED)
    feed.pod(make_pod("p"), DELETED)
    assert feed.cluster.abnormal == {}


def test_a_priority_class_that_cannot_be_read_fails_alone(feed: ClusterFeed) -> None:
    feed.priority("bad", "x")
    feed.priority("huge", 1 << 40)
    feed.priority("good", 5)
    assert feed.cluster.priorities == {"good": 5}
    assert sorted(feed.cluster.abnormal) == ["priorityclass bad", "priorityclass huge"]


def test_a_corrected_priority_class_is_no_longer_abnormal(feed: ClusterFeed) -> None:
    feed.priority("p", "x")
    feed.priority("p", 5, MODIFIED)
    assert (feed.cluster.abnormal, feed.cluster.priorities) == ({}, {"p": 5})
    feed.priority("p", 5, DELETED)
    assert feed.cluster.priorities == {}


def test_groups_come_and_go(feed: ClusterFeed) -> None:
    feed.group("g", 3)
    assert feed.cluster.groups["default/g"].spec.min_member == 3
    feed.group("g", 3, DELETED)
    assert feed.cluster.groups == {}
    assert [each.group is None for each in feed.cluster.changes.groups] == [False, True]
