"""Nodes that give more than they have: which pods are evicted from them."""

import json
from math import inf
from typing import Any

import pytest

from stretto.api.wire.kinds import EVENT, POD, POD_DISRUPTION_BUDGET, QUEUE
from stretto.base.errors import StrettoError
from stretto.daemons.scheduler import EVICT_OVER_COMMITTED_AFTER, plane_config
from stretto.framework.profile.profile import load_profile
from stretto.state.cluster.offers import OfferClaim
from stretto.state.rows.resources import CPU
from stretto.stores.store import Patch
from stretto.testing import Harness, make_node, make_pod
from tests.support.recreating_harness import queue_object

OWNER = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "controller": True}
AFTER = 10


def harness(setting: Any = None, **node: Any) -> Harness:
    """One node of two cores, and no free capacity elsewhere yet."""
    own = {} if setting is None else {"evictOverCommitted": setting}
    profile = load_profile({"profiles": [{"stretto": own}]})
    nodes = [make_node("n", cpu="2", **node)]
    return Harness(nodes, profile=profile, config={"tier": "numpy"})


def over_committed(**node: Any) -> Harness:
    return harness({"afterSeconds": AFTER}, **node)


def put(at: Harness, *names: str, kind: str = "ReplicaSet", **more: Any) -> None:
    """Pods that another client bound to the node, one core each."""
    owner = {**OWNER, "kind": kind, "uid": kind}
    at.submit(*[make_pod(name, node="n", cpu="1", owner=owner, **more) for name in names])
    at.settle()


def start(at: Harness, *names: str, **status: Any) -> None:
    """A kubelet reports the status of pods."""
    changes = [Patch("default", name, {"status": status}) for name in names]
    at.store.patch_status(POD, changes)
    at.settle()


def left(at: Harness) -> set[str]:
    return set(at.placements())


def test_excess_pods_are_evicted_youngest_first() -> None:
    at = over_committed()
    put(at, "a", "b", "c", "d")
    at.settle(2 * AFTER)
    assert left(at) == {"a", "b"}
    assert at.plane.overcommit_eviction.counts == {"requested": 2}


def test_the_least_important_are_evicted_before_the_youngest() -> None:
    at = over_committed()
    put(at, "low", priority=1)
    put(at, "high", "higher", priority=2)
    at.settle(2 * AFTER)
    assert left(at) == {"high", "higher"}


@pytest.mark.parametrize(("across", "stays"), [("guarantee", "owner"), ("priority", "guest")])
def test_guarantees_and_priorities_decide_as_between_all_evictors(across: str, stays: str) -> None:
    rules = {"evictOverCommitted": {"afterSeconds": AFTER}, "preemption": {"acrossQueues": across}}
    at = Harness(
        [make_node("n", cpu="1")], profile=load_profile({"profiles": [{"stretto": rules}]})
    )
    at.create(QUEUE, queue_object("owner", guarantee={"cpu": "1"}), queue_object("guest"))
    for name, priority in (("guest", 5), ("owner", 1)):
        put(at, name, priority=priority, annotations={"stretto.dev/queue": name})
    at.settle(2 * AFTER)
    assert left(at) == {stays}


def test_no_more_pods_are_evicted_than_the_excess() -> None:
    at = over_committed()
    owner = {**OWNER, "uid": "ReplicaSet"}
    sizes = {"stays": ("1500m", 0), "enough": ("1", -1), "small": ("500m", -2)}
    for name, (cpu, priority) in sizes.items():
        at.submit(make_pod(name, node="n", cpu=cpu, priority=priority, owner=owner))
    at.settle(2 * AFTER)
    assert left(at) == {"stays", "small"}


def test_a_successor_is_placed_where_capacity_is_free() -> None:
    at = over_committed()
    put(at, "a", "b", "c")
    at.create_nodes(make_node("spare", cpu="2"))
    at.settle(2 * AFTER)
    at.submit(make_pod("c-again", cpu="1", owner={**OWNER, "uid": "ReplicaSet"}))
    at.settle(1)
    assert at.placements() == {"a": "n", "b": "n", "c-again": "spare"}


def test_an_evicted_pod_reports_the_cause() -> None:
    at = over_committed()
    put(at, "a", "b", "c")
    at.settle(2 * AFTER)
    (event,) = [json.loads(record.body) for record in at.store.list(EVENT).records]
    assert (event["reason"], event["involvedObject"]["name"]) == ("NodeOverCommitted", "c")
    assert event["message"] == "evicted from n before it started: the node is over-committed"


def test_a_brief_overcommit_causes_no_eviction() -> None:
    at = over_committed()
    put(at, "a", "b", "c")
    at.settle(AFTER - 3)
    at.delete("a")  # as a kubelet turns away what is too much
    at.settle(5 * AFTER)
    assert left(at) == {"b", "c"}


@pytest.mark.parametrize("begun", [{"phase": "Running"}, {"startTime": "2026-01-01T00:00:00Z"}])
def test_pods_that_a_kubelet_has_taken_in_stay(begun: dict[str, str]) -> None:
    at = over_committed()
    put(at, "a", "b", "c", "d")
    start(at, "b", "c", "d", **begun)
    at.settle(2 * AFTER)
    assert left(at) == {"b", "c", "d"}


@pytest.mark.parametrize("kind", ["DaemonSet", "Node"])
def test_pods_whose_next_would_come_to_the_same_node_stay(kind: str) -> None:
    at = over_committed()
    put(at, "a", "b", "c", kind=kind)
    at.settle(2 * AFTER)
    assert left(at) == {"a", "b", "c"}
    assert at.plane.overcommit_eviction.counts["no_victims"] >= 1


def test_pods_without_a_controller_stay() -> None:
    at = over_committed()
    at.submit(*[make_pod(name, node="n", cpu="1") for name in "abc"])
    at.settle(2 * AFTER)
    assert left(at) == {"a", "b", "c"}


def test_pods_of_other_schedulers_stay() -> None:
    at = over_committed()
    put(at, "a", "b", "c", scheduler="other-scheduler")
    at.settle(2 * AFTER)
    assert left(at) == {"a", "b", "c"}


def test_a_budget_keeps_what_runs_and_not_what_waits_to() -> None:
    at = over_committed()
    budget = {"metadata": {"name": "all"}, "spec": {"minAvailable": "100%", "selector": {}}}
    at.create(POD_DISRUPTION_BUDGET, json.dumps(budget).encode())
    put(at, "a", "b", "c")
    at.settle(2 * AFTER)
    assert left(at) == {"a", "b"}


def test_pods_that_take_nothing_of_what_is_short_stay() -> None:
    at = over_committed()
    put(at, "a", "b", "c")
    owner = {**OWNER, "uid": "ReplicaSet"}
    at.submit(make_pod("slight", node="n", cpu="0", owner=owner))
    at.settle(2 * AFTER)
    assert left(at) == {"a", "b", "slight"}


def test_neither_amounts_nor_the_pod_slot_of_an_offer_are_excess() -> None:
    at = over_committed(pods=2)
    put(at, "a", "b")
    (slot,) = at.plane.cluster.nodes.slots_named(["n"]).tolist()
    at.plane.cluster.offers.replace(slot, OfferClaim({CPU: 1000}))
    at.settle(2 * AFTER)
    assert left(at) == {"a", "b"}


@pytest.mark.parametrize("setting", [None, False])
def test_no_pod_is_evicted_if_the_profile_disables_it(setting: Any) -> None:
    at = harness(setting)
    put(at, "a", "b", "c")
    at.settle(1000)
    assert left(at) == {"a", "b", "c"}


@pytest.mark.parametrize(
    ("said", "after"),
    [
        ({}, EVICT_OVER_COMMITTED_AFTER),
        ({"evictOverCommitted": False}, inf),
        ({"evictOverCommitted": {"afterSeconds": 60}}, 60.0),
    ],
)
def test_behind_an_api_server_over_commitment_is_repaired_by_default(
    said: dict[str, Any], after: float
) -> None:
    profile = load_profile({"profiles": [{"stretto": said}]})
    assert plane_config(profile, (), 1, "numpy", None).profile.evict_over_committed_after == after


@pytest.mark.parametrize("wrong", [True, 15, {}, {"afterSeconds": 0}, {"after": 3}])
def test_a_wrong_form_is_refused_by_its_place(wrong: Any) -> None:
    with pytest.raises(StrettoError, match="evictOverCommitted"):
        harness(wrong)
