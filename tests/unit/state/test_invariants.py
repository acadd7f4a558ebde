"""The checks bite: each wrong book is found and named."""

from collections.abc import Callable

import numpy as np
import pytest

from stretto.state.queries.invariants import check_all, gangs_are_complete, overcommitted
from stretto.state.rows.lifecycle import PodState
from stretto.state.work.claims import Verdict
from stretto.testing import make_node, make_pod
from tests.support.hand_fed_cluster import MODIFIED, ClusterFeed
from tests.support.plans import plan_of


def straight() -> ClusterFeed:
    feed = ClusterFeed(make_node("n", cpu="4", gpus=2))
    feed.pod(make_pod("p", node="n", cpu="1", gpus=1, ports=[80]))
    feed.pod(make_pod("w"))
    return feed


def test_a_consistent_ledger_yields_no_finding() -> None:
    feed = straight()
    assert check_all(feed.cluster) + overcommitted(feed.cluster) == []


def spoil_amount(feed: ClusterFeed) -> None:
    feed.cluster.ledger.used[0, 0] += 1


def spoil_device(feed: ClusterFeed) -> None:
    feed.cluster.ledger.devices.free[0, 1] -= 1


def spoil_port(feed: ClusterFeed) -> None:
    feed.cluster.ledger.ports.used[0] = 0


def spoil_state(feed: ClusterFeed) -> None:
    feed.cluster.pods.state[feed.row("p")] = PodState.PENDING


def spoil_generation(feed: ClusterFeed) -> None:
    feed.cluster.ledger.slots.generation[0] += 1


def spoil_slot(feed: ClusterFeed) -> None:
    feed.cluster.ledger.slots.live[0] = 0


def spoil_uid(feed: ClusterFeed) -> None:
    feed.cluster.pods.uid[feed.row("w")] = "p"


def lose_stray(feed: ClusterFeed) -> None:
    feed.lose("n")
    feed.cluster.charges._strays.clear()


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (spoil_amount, "node n: cpu used is 1001, expected 1000"),
        (spoil_device, "node n: device 1 has 999 free, expected 1000"),
        (spoil_port, "node n: host ports differ"),
        (spoil_state, "pod default/p is PENDING but has slot 0"),
        (spoil_generation, "pod default/p is on an earlier node of slot 0"),
        (spoil_slot, "pod default/p is on slot 0, which has no node"),
        (spoil_uid, "its uid leads to another row"),
        (lose_stray, "pod default/p is BOUND but on no node"),
    ],
)
def test_a_wrong_column_is_named(spoil: Callable[[ClusterFeed], None], words: str) -> None:
    feed = straight()
    spoil(feed)
    assert any(words in breach.what for breach in check_all(feed.cluster))


def test_a_node_that_shrank_under_its_pods_is_over_committed() -> None:
    feed = straight()
    feed.node(make_node("n", cpu="500m", gpus=2), MODIFIED)
    (breach,) = overcommitted(feed.cluster)
    assert breach == (1, "node n: cpu is over-committed, 1000 of 500")


def test_a_device_given_twice_is_over_committed() -> None:
    feed = straight()
    feed.pod(make_pod("q", node="n", gpus=1, annotations={"stretto.dev/gpu-devices": "0"}))
    assert [breach.what for breach in overcommitted(feed.cluster)] == [
        "node n: device 0 is over-committed"
    ]


@pytest.mark.parametrize(("granted", "breaches"), [(0, 0), (1, 1), (2, 0), (3, 0)])
def test_a_gang_stands_or_falls(granted: int, breaches: int) -> None:
    feed = ClusterFeed(make_node("n"))
    for name in "abc":
        feed.pod(make_pod(name))
    plan = plan_of(feed, dict.fromkeys("abc", "n"), [3], at_least=2)
    verdict = Verdict(0, np.array(plan.rows[:granted]), [])
    assert len(gangs_are_complete(plan, verdict)) == breaches
