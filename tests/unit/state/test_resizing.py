"""The requests of a running pod if its node reports other values than its spec."""

from collections.abc import Callable
from typing import Any

import pytest

from stretto.api.types.heads import decode_pod_head
from stretto.api.wire.kinds import POD
from stretto.state.queries.invariants import check_all
from stretto.state.rows.lifecycle import PodState
from stretto.state.work.units import Cure
from stretto.stores.store import Patch, WatchEvent
from stretto.testing import Harness, make_node, make_pod
from tests.support.hand_fed_cluster import ADDED, DELETED, MODIFIED, ClusterFeed, changed

DEFERRED = [{"type": "PodResizePending", "status": "True", "reason": "Deferred"}]
INFEASIBLE = [{"type": "PodResizePending", "status": "True", "reason": "Infeasible"}]


def reported(cpu: str, allocated: str = "", name: str = "main", **status: Any) -> dict[str, Any]:
    """A status: what a container has in force, and what is set aside for it."""
    container: dict[str, Any] = {"name": name, "resources": {"requests": {"cpu": cpu}}}
    if allocated:
        container["allocatedResources"] = {"cpu": allocated}
    return {"phase": "Running", "containerStatuses": [container], **status}


def running(status: dict[str, Any] | None = None, cpu: str = "1", **more: Any) -> bytes:
    """A pod on the node, and what is said of it."""
    return changed(make_pod("p", node="n", cpu=cpu, **more), status=status or {})


@pytest.fixture
def feed() -> ClusterFeed:
    return ClusterFeed(make_node("n", cpu="8", gpus=2))


def requested(feed: ClusterFeed) -> dict[str, int]:
    """The requests of the pod's class."""
    cluster = feed.cluster
    pod = cluster.classes[int(cluster.pods.class_id[feed.row("p")])]
    return {cluster.ledger.resources.names[column]: amount for column, amount in pod.requests}


# ---------------------------------------------------------------- ways of hearing of it


def as_listed(feed: ClusterFeed, body: bytes) -> None:
    feed.pod(body)


def as_decoded_by_the_store(feed: ClusterFeed, body: bytes) -> None:
    event = WatchEvent(ADDED, feed.record(POD, body, node="n"), decode_pod_head(body))
    feed.ingest.pods([event], 0.0)


def as_named_in_the_spec(feed: ClusterFeed, body: bytes) -> None:
    feed.pod(body, node="")


def as_news(feed: ClusterFeed, body: bytes) -> None:
    feed.pod(running())
    feed.pod(body, MODIFIED)


def as_first_heard_of_a_claim(feed: ClusterFeed, body: bytes) -> None:
    feed.pod(make_pod("p", cpu="1"))
    feed.assume("p", "n")
    feed.pod(body, MODIFIED)


WAYS = [
    as_listed,
    as_decoded_by_the_store,
    as_named_in_the_spec,
    as_news,
    as_first_heard_of_a_claim,
]


@pytest.mark.parametrize("hear", WAYS)
@pytest.mark.parametrize(
    ("status", "cpu"),
    [
        ({"phase": "Running"}, 1000),
        (reported("1", "1"), 1000),
        (reported("3", "1"), 3000),
        (reported("1", "2"), 2000),
        (reported("500m", "500m"), 1000),
        (reported("500m", "500m", conditions=DEFERRED), 1000),
        (reported("500m", "500m", conditions=INFEASIBLE), 500),
        (reported("3", "3", name="other"), 1000),
        ({"containerStatuses": [{"name": "main", "allocatedResources": {"cpu": "3"}}]}, 1000),
    ],
)
def test_the_largest_of_requested_allocated_and_actuated_counts(
    feed: ClusterFeed, hear: Callable[[ClusterFeed, bytes], None], status: dict[str, Any], cpu: int
) -> None:
    hear(feed, running(status))
    assert (feed.state("p"), feed.used("n")) == (PodState.BOUND, cpu)
    assert check_all(feed.cluster) == []


@pytest.mark.parametrize("hear", WAYS[:-1])
def test_what_is_in_force_for_the_pod_as_a_whole_counts(
    feed: ClusterFeed, hear: Callable[[ClusterFeed, bytes], None]
) -> None:
    spec = {"resources": {"requests": {"cpu": "2"}}}
    status = {"phase": "Running", "resources": {"requests": {"cpu": "5"}}}
    hear(feed, running(status, spec=spec))
    assert feed.used("n") == 5000


def test_a_pod_that_waits_counts_by_its_spec_whatever_its_status_is(feed: ClusterFeed) -> None:
    feed.pod(changed(make_pod("p", cpu="1"), status=reported("3")))
    assert requested(feed)["cpu"] == 1000


# ---------------------------------------------------------------- the course of a resize


def test_a_pod_that_grows_is_charged_as_soon_as_its_resize_is_requested(
    feed: ClusterFeed,
) -> None:
    feed.pod(running(reported("1", "1")))
    feed.pod(running(reported("1", "1"), cpu="4"), MODIFIED)
    assert feed.used("n") == 4000
    feed.pod(running(reported("4", "4"), cpu="4"), MODIFIED)
    assert (feed.used("n"), check_all(feed.cluster)) == (4000, [])


def test_a_pod_that_shrinks_frees_capacity_once_its_node_reports_it(feed: ClusterFeed) -> None:
    feed.pod(running(reported("4", "4"), cpu="4"))
    feed.pod(running(reported("4", "4"), cpu="1"), MODIFIED)
    assert feed.used("n") == 4000
    feed.cluster.changes.clear()
    feed.pod(running(reported("4", "1"), cpu="1"), MODIFIED)
    assert (feed.used("n"), feed.cluster.changes.resized) == (4000, [])
    feed.pod(running(reported("1", "1"), cpu="1"), MODIFIED)
    assert (feed.used("n"), check_all(feed.cluster)) == (1000, [])
    assert feed.cluster.changes.cures & Cure.POD_LEFT
    assert feed.cluster.changes.resized == [feed.row("p")]


def test_an_infeasible_resize_does_not_count_until_it_is_requested_again(
    feed: ClusterFeed,
) -> None:
    feed.pod(running(reported("1", "1"), cpu="4"))
    feed.pod(running(reported("1", "1", conditions=DEFERRED), cpu="4"), MODIFIED)
    assert feed.used("n") == 4000
    feed.pod(running(reported("1", "1", conditions=INFEASIBLE), cpu="4"), MODIFIED)
    assert feed.used("n") == 1000
    feed.pod(running(reported("1", "1"), cpu="2"), MODIFIED)
    assert (feed.used("n"), check_all(feed.cluster)) == (2000, [])


def test_a_pod_that_ends_in_the_middle_of_a_resize_gives_back_all_of_it(feed: ClusterFeed) -> None:
    feed.pod(running(reported("3", "3"), gpus=1, ports=[80]))
    assert (feed.used("n"), requested(feed)["cpu"]) == (3000, 3000)
    feed.pod(running(reported("3", "3"), gpus=1, ports=[80]), DELETED)
    assert (feed.used("n"), check_all(feed.cluster)) == (0, [])


def test_a_pod_that_is_resized_keeps_its_devices(feed: ClusterFeed) -> None:
    feed.pod(running(gpus=1))
    held = int(feed.cluster.pods.devices[feed.row("p")])
    feed.pod(running(reported("3", "3"), gpus=1), MODIFIED)
    assert int(feed.cluster.pods.devices[feed.row("p")]) == held > 0
    assert (feed.used("n"), check_all(feed.cluster)) == (3000, [])


def test_a_pod_on_an_unknown_node_uses_the_amount_reported_last(feed: ClusterFeed) -> None:
    feed.lose("n")
    feed.pod(running(reported("3", "3")))
    feed.pod(running(reported("2", "2")), MODIFIED)
    feed.node(make_node("n", cpu="8"))
    assert (feed.used("n"), check_all(feed.cluster)) == (2000, [])


# ---------------------------------------------------------------- classes


def test_a_pod_whose_status_equals_its_spec_has_the_class_of_its_template(
    feed: ClusterFeed,
) -> None:
    plain = feed.class_of(make_pod("q", node="n", cpu="1"))
    assert feed.class_of(running(reported("1000m", "1"))) == plain
    assert feed.class_of(running(reported("1", "1", conditions=DEFERRED))) == plain
    assert feed.class_of(running(reported("2", "2"))) != plain


def test_pods_that_differ_only_in_container_names_are_distinguished(
    feed: ClusterFeed,
) -> None:
    for name, used in [("main", 3000), ("side", 4000)]:
        container = {"name": name, "resources": {"requests": {"cpu": "1"}}}
        feed.class_of(running(reported("3"), spec={"containers": [container]}))
        assert feed.used("n") == used


def test_an_invalid_status_is_reported_and_changes_nothing(feed: ClusterFeed) -> None:
    feed.pod(running(reported("3", "3")))
    feed.pod(running({"containerStatuses": [{"name": "main", "resources": 5}]}), MODIFIED)
    assert (list(feed.cluster.abnormal), feed.used("n")) == (["pod default/p"], 3000)
    feed.pod(running({"containerStatuses": 5}), MODIFIED)
    assert (list(feed.cluster.abnormal), feed.used("n")) == (["pod default/p"], 3000)
    feed.pod(running(reported("2", "2")), MODIFIED)
    assert (feed.cluster.abnormal, feed.used("n")) == ({}, 2000)


# ---------------------------------------------------------------- the whole plane


def test_a_pod_that_waits_for_a_resize_is_placed_when_the_node_reports_its_end() -> None:
    harness = Harness([make_node("n", cpu="4")], config={"tier": "numpy"})

    def tell(cpu: str) -> None:
        harness.store.patch_status(POD, [Patch("default", "p", {"status": reported(cpu, cpu)})])

    harness.submit(running(cpu="1"))
    tell("4")
    harness.submit(make_pod("waits", cpu="2"))
    harness.settle()
    assert harness.node_of("waits") == ""
    tell("1")
    harness.settle(60.0)
    assert harness.node_of("waits") == "n"
