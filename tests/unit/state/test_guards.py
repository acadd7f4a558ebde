"""Guards of many pods at once: those of each pod."""

import json
from typing import Any

import pytest

from stretto.base.rng import Rng
from stretto.state.rows.lifecycle import PodState
from stretto.state.victims.columns import NOT_EVICTABLE
from stretto.state.victims.kinds import VictimKinds
from stretto.state.victims.rules import PreemptionRules, guard_of, guards_of
from stretto.testing import make_node, make_pod
from tests.support.hand_fed_cluster import ClusterFeed

CAN, FOR = (
    f"godel.bytedance.com/{name}"
    for name in ("can-be-preempted", "protection-duration-from-preemption")
)
NOTES: list[dict[str, str]] = [{}, {CAN: "false"}, {CAN: "true"}, {FOR: "300"}, {FOR: "5"}]


def mixed(seed: int) -> ClusterFeed:
    """Pods of all attributes, some of which are not running."""
    rng, feed = Rng(seed), ClusterFeed(make_node("n", cpu="64"))
    for number in range(40):
        more: dict[str, Any] = {"annotations": rng.choice(NOTES), "priority": rng.choice((0, 9))}
        body = json.loads(make_pod(f"p{number}", cpu="1", node="n", **more))
        feed.pod(json.dumps(body).encode())
        if rng.random() < 0.2:
            feed.cluster.pods.state[feed.row(f"p{number}")] = PodState.ASSUMED
    return feed


@pytest.mark.parametrize(
    "rules",
    [
        PreemptionRules(),
        PreemptionRules(opt_in=True),
        PreemptionRules(protected_from=5),
        PreemptionRules(protected_for=60.0),
    ],
    ids=["default", "opt-in", "by priority", "recent"],
)
@pytest.mark.parametrize("now", [1.0, 100.0, 1000.0])
def test_the_guards_of_many_pods_are_those_of_each(rules: PreemptionRules, now: float) -> None:
    cluster = mixed(3).cluster
    rows = cluster.pods.rows()
    each = [guard_of(cluster, rules, row, now) for row in rows.tolist()]
    assert guards_of(cluster, rules, rows, now) == each
    kept = VictimKinds(cluster, rules).of_many(rows, now) == NOT_EVICTABLE
    assert kept.tolist() == [guard is not None for guard in each]
