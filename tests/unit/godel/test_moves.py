"""Pods moved by a plane itself, now and then; Movements of others, obeyed and counted."""

import json
from typing import Any

import pytest

from stretto.api.wire.kinds import EVENT, MOVEMENT, POD, POD_DISRUPTION_BUDGET
from stretto.base.errors import StrettoError
from stretto.explain.metrics.gauges import WatchedPlane
from stretto.explain.metrics.metrics import Metrics
from stretto.framework.profile.profile import load_profile
from stretto.stores.store import Deletion, Patch
from stretto.testing import Harness, make_node, make_pod

OWNER = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "controller": True}


def pod(name: str, **more: Any) -> bytes:
    return make_pod(name, cpu="1", owner={**OWNER, "uid": "web"}, labels={"app": "web"}, **more)


def harness(**rules: Any) -> Harness:
    """Two nodes with a pod each, which one of them could hold."""
    own = {"reschedule": {"everySeconds": 60, "goal": "nodes", **rules}} if rules else {}
    profile = load_profile({"profiles": [{"stretto": own}]})
    made = Harness([make_node(n, cpu="8") for n in "ab"], profile=profile, config={"tier": "numpy"})
    made.submit(pod("p", node="a"), pod("q", node="b"))
    made.settle()
    return made


def reported(at: Harness) -> dict[str, float]:
    """Return the metrics of moves."""
    plane = at.plane
    watched = WatchedPlane(
        plane.engine, plane.units, plane.dispatcher.views, plane.verdicts, None, plane.rescheduler
    )
    families = {each.name: each for each in Metrics(watched, plane.clock).families()}
    return {labels[0]: value for labels, value in families["stretto_moves"].values.items()}


# ---------------------------------------------------------------- by itself


def test_no_pod_is_moved_unless_the_profile_enables_it() -> None:
    at = harness()
    at.settle(1000)
    assert (at.placements(), at.plane.rescheduler.latest) == ({"p": "a", "q": "b"}, None)


def test_a_plane_moves_pods_now_and_then_and_its_successor_goes_where_it_should() -> None:
    at = harness(moves=5)
    at.settle(59)
    assert set(at.placements()) == {"p", "q"}
    at.settle(2)
    (stays,) = at.placements()
    left = at.node_of(stays)
    at.submit(pod("new"))
    at.settle(1)
    assert at.placements() == {stays: left, "new": left}
    at.settle(200)
    counts = at.plane.rescheduler.counts
    assert (counts["planned"], counts["requested"], counts["followed"]) == (1, 1, 1)
    (event,) = [json.loads(record.body) for record in at.store.list(EVENT).records]
    assert event["reason"] == "Rescheduled"
    assert event["message"].endswith(f"to free nodes; {left} is recommended for its successor")
    assert at.plane.cluster.recommended == {}


def test_a_dry_run_counts_and_moves_no_pod() -> None:
    at = harness(dryRun=True)
    at.settle(130)
    assert at.placements() == {"p": "a", "q": "b"}
    assert at.plane.rescheduler.latest is not None
    assert (len(at.plane.rescheduler.latest.moves), at.plane.rescheduler.counts["requested"]) == (
        1,
        0,
    )
    assert (reported(at)["planned"], at.store.list(MOVEMENT).records) == (2, [])


def test_budgets_hold() -> None:
    at = harness(moves=5)
    spec = {"selector": {"matchLabels": {"app": "web"}}, "maxUnavailable": 0}
    body = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "spec": spec}
    body["metadata"] = {"name": "pdb", "namespace": "default"}
    at.create(POD_DISRUPTION_BUDGET, json.dumps(body).encode())
    at.settle(200)
    assert (at.placements(), at.plane.rescheduler.counts["requested"]) == ({"p": "a", "q": "b"}, 0)


@pytest.mark.parametrize("spared", ["p", "q"])
def test_no_pod_leaves_a_node_that_a_protected_pod_keeps_in_use(spared: str) -> None:
    at = harness(moves=4)
    for name in ("p", "q"):
        keep = {"godel.bytedance.com/can-be-preempted": "false"} if name == spared else {}
        at.submit(pod(f"{name}2", node="ab"["pq".index(name)], annotations=keep))
    at.settle(300)
    node = "ab"["pq".index(spared)]
    assert at.placements() == {spared: node, f"{spared}2": node}


def test_no_new_move_starts_while_pods_move_and_an_unused_one_expires() -> None:
    at = harness(moves=1)
    at.create_nodes(make_node("c", cpu="8"))
    at.submit(pod("r", node="c"))
    at.settle(119)
    assert (len(at.placements()), at.plane.rescheduler.counts["requested"]) == (2, 1)
    at.settle(120)
    assert (at.plane.rescheduler.counts["lapsed"], len(at.placements())) == (1, 1)


@pytest.mark.parametrize(
    ("rules", "part"),
    [
        ({"goal": "nodes"}, "everySeconds"),
        ({"everySeconds": 0}, "reschedule.everySeconds"),
        ({"everySeconds": 60, "goal": "disks"}, "reschedule.goal"),
        ({"everySeconds": 60, "moves": 0}, "reschedule.moves"),
        ({"everySeconds": 60, "dryRun": "yes"}, "reschedule.dryRun"),
        ({"everySeconds": 60, "budget": 3}, "budget"),
    ],
)
def test_what_is_wrong_with_the_rules_is_named(rules: dict[str, Any], part: str) -> None:
    with pytest.raises(StrettoError, match=part):
        load_profile({"profiles": [{"stretto": {"reschedule": rules}}]})


def test_looking_again_and_again_leaves_nothing_behind_in_the_cluster() -> None:
    at = harness(dryRun=True)
    defaults = at.plane.cluster.domains.defaults
    at.settle(70)
    listeners = len(at.plane.cluster.node_updates.listeners)
    at.settle(600)
    assert len(at.plane.cluster.node_updates.listeners) == listeners
    assert at.plane.cluster.domains.defaults is defaults


# ---------------------------------------------------------------- Movements of others


def movement(at: Harness, wanted: int, owner: str = "web") -> None:
    """A foreign rescheduler requests this number of pods of an owner on node a."""
    nodes = [{"node": "a", "desiredPodCount": wanted}]
    info = {"type": "ReplicaSet", "namespace": "default", "name": owner}
    body = {
        "apiVersion": MOVEMENT.api_version,
        "kind": MOVEMENT.kind,
        "metadata": {"name": "m"},
        "spec": {"creator": "other", "generation": 1},
        "status": {"owners": [{"owner": info, "recommendedNodes": nodes}]},
    }
    at.create(MOVEMENT, json.dumps(body).encode())
    at.settle()


def spread() -> Harness:
    """Node b has far more capacity, so pods without a movement are placed there."""
    nodes = [make_node("a", cpu="8"), make_node("b", cpu="64", memory="512Gi")]
    return Harness(nodes, config={"tier": "numpy"})


def test_case_30_a_movement_applies_as_often_as_specified_and_records_its_pods() -> None:
    at = spread()
    movement(at, wanted=2)
    at.submit(*(pod(f"p{i}") for i in range(4)))
    at.settle()
    assert sorted(at.placements().values()) == ["a", "a", "b", "b"]
    (record,) = at.store.list(MOVEMENT).records
    (node,) = json.loads(record.body)["status"]["owners"][0]["recommendedNodes"]
    came = {each["name"] for each in node["actualPods"]}
    assert came == {name for name, where in at.placements().items() if where == "a"}
    assert at.plane.cluster.recommended == {}


def test_case_30_a_movement_for_another_owner_has_no_effect() -> None:
    at = spread()
    movement(at, wanted=2, owner="api")
    at.submit(pod("p"))
    at.settle()
    assert at.node_of("p") == "b"


def test_case_30_a_movement_that_is_gone_is_forgotten() -> None:
    at = spread()
    movement(at, wanted=2)
    at.store.delete(MOVEMENT, [Deletion("", "m")])
    at.submit(pod("p"))
    at.settle()
    assert (at.node_of("p"), at.plane.cluster.recommended) == ("b", {})


# ---------------------------------------------------------------- waiting for terminating pods


def leaving(wanted: int = 1, rules: Any = True, **more: Any) -> Harness:
    """Node a is full of a pod that has been deleted and takes its time; a Movement names it."""
    nodes = [make_node("a", cpu="8", **more), make_node("b", cpu="64", memory="512Gi")]
    profile = load_profile({"profiles": [{"stretto": {"preemption": rules}}]})
    at = Harness(nodes, config={"tier": "numpy"}, profile=profile)
    old = json.loads(make_pod("old", cpu="7500m", node="a", **more))
    old["metadata"]["finalizers"] = ["stretto.dev/test"]
    at.submit(json.dumps(old).encode())
    at.settle()
    at.store.delete(POD, [Deletion("default", "old")])
    movement(at, wanted)
    return at


def finish_eviction(at: Harness) -> None:
    at.store.patch(POD, [Patch("default", "old", {"metadata": {"finalizers": None}})])


def test_case_30_a_pod_waits_for_terminating_pods_of_the_recommended_node() -> None:
    at = leaving()
    at.submit(pod("p"))
    at.settle(60)
    assert (at.node_of("p"), at.store.get(POD, "default", "p").body.count(b'"nominated')) == ("", 1)
    finish_eviction(at)
    at.settle(1)
    assert (at.node_of("p"), at.breaches(), at.plane.cluster.recommended) == ("a", [], {})


def test_case_30_the_profile_limits_its_wait() -> None:
    at = leaving(rules={"waitSeconds": 20})
    at.submit(pod("p"))
    at.settle(19)
    assert at.node_of("p") == ""
    at.settle(10)
    assert (at.node_of("p"), at.breaches()) == ("b", [])


def test_case_30_only_as_many_wait_as_the_movement_has() -> None:
    at = leaving(wanted=2)
    at.submit(*(pod(f"p{i}") for i in range(4)))
    at.settle(1)
    assert sorted(at.placements().values()) == ["", "", "a", "b", "b"]
    finish_eviction(at)
    at.settle(1)
    assert sorted(at.placements().values()) == ["a", "a", "b", "b"]


def test_case_30_a_pod_waits_for_terminating_pods_without_preemption_too() -> None:
    at = leaving(rules=False)
    at.submit(pod("p"))
    at.settle(1)
    assert at.node_of("p") == ""
    finish_eviction(at)
    at.settle(1)
    assert at.node_of("p") == "a"


def test_case_30_no_pod_waits_for_capacity_that_will_be_too_small() -> None:
    at = leaving()
    at.submit(make_pod("p", cpu="9", owner={**OWNER, "uid": "web"}))
    at.settle(1)
    assert at.node_of("p") == "b"


def test_case_30_a_pod_waits_for_the_devices_of_terminating_pods() -> None:
    at = leaving(gpus=2)
    at.submit(
        *(make_pod(f"p{i}", cpu="1", gpus=2, owner={**OWNER, "uid": "web"}) for i in range(2))
    )
    at.settle(1)
    assert at.placements() == {"old": "a", "p0": "", "p1": ""}
    finish_eviction(at)
    at.settle(1)
    assert (sorted(at.placements().values()), at.breaches()) == (["", "a"], [])


def test_case_30_a_restart_waits_on() -> None:
    at = leaving()
    at.submit(pod("p"))
    at.settle(1)
    again = Harness(store=at.store, config={"tier": "numpy"})
    again.settle(5)
    assert again.node_of("p") == ""
    finish_eviction(again)
    again.settle(1)
    assert (again.node_of("p"), again.breaches()) == ("a", [])
