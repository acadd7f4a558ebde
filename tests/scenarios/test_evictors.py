"""Preemption and reclaim follow one order: a whole plane, with controllers that recreate pods."""

from collections import Counter
from typing import Any

import pytest

from stretto.api.wire.kinds import NODE
from stretto.control.dispatcher.reclaimer import Reclaimer
from stretto.framework.profile.profile import load_profile
from stretto.stores.store import Deletion
from stretto.testing import make_node, make_pod
from tests.support.recreating_harness import RecreatingHarness, queue_object, queue_pod

#: The first of these tests compiles the kernels if they are not compiled yet.
pytestmark = pytest.mark.timeout(240)

PROFILES = ["default", "kube-parity"]


def nodes(count: int, cpu: str = "1", **more: Any) -> list[bytes]:
    return [make_node(f"n{i}", cpu=cpu, memory="256Gi", **more) for i in range(count)]


def contest(profile: str, across: str) -> RecreatingHarness:
    """Pods of high priority of a queue without a guarantee meet two pods within one."""
    given = {"preemption": {"acrossQueues": across}}
    if profile == "kube-parity":
        given |= {"rules": "exact", "tieRule": "name"}
    harness = RecreatingHarness(
        nodes(4),
        queue_object("owner", guarantee={"cpu": "2"}),
        queue_object("guest"),
        profile=load_profile({"profiles": [{"stretto": given}]}),
    )
    harness.work("owner", lambda name: queue_pod(name, "owner"), 2)
    harness.work("guest", lambda name: queue_pod(name, "guest"), 2)
    harness.run(5)
    harness.work("urgent", lambda name: queue_pod(name, "guest", priority=1000), 4)
    harness.run(300)
    return harness


@pytest.mark.parametrize("profile", PROFILES)
def test_a_guarantee_protects_from_the_priority_of_another_queue(profile: str) -> None:
    harness = contest(profile, "guarantee")
    assert (harness.placed_of("owner"), harness.placed_of("urgent")) == (2, 2)
    assert harness.ended == {"guest": 2}


@pytest.mark.parametrize("profile", PROFILES)
def test_where_priority_comes_first_reclaim_respects_it(profile: str) -> None:
    harness = contest(profile, "priority")
    assert (harness.placed_of("owner"), harness.placed_of("urgent")) == (0, 4)
    assert harness.ended == {"owner": 2, "guest": 2}


def test_inside_a_queue_its_guarantee_protects_no_pod_from_priority() -> None:
    harness = RecreatingHarness(nodes(2), queue_object("owner", guarantee={"cpu": "2"}))
    harness.work("low", lambda name: queue_pod(name, "owner"), 2)
    harness.run(3)
    harness.work("high", lambda name: queue_pod(name, "owner", priority=5), 1)
    harness.run(60)
    assert (harness.placed_of("high"), harness.ended) == (1, {"low": 1})


def test_the_guarantee_of_a_parent_protects_from_outside_and_not_from_a_child() -> None:
    harness = RecreatingHarness(
        nodes(2),
        queue_object("top", guarantee={"cpu": "2"}),
        queue_object("a", parent="top"),
        queue_object("b", parent="top"),
        queue_object("other"),
    )
    harness.work("a", lambda name: queue_pod(name, "a"), 2)
    harness.run(3)
    harness.work("other", lambda name: queue_pod(name, "other", priority=9), 1)
    harness.run(60)
    assert harness.ended == {}
    harness.work("b", lambda name: queue_pod(name, "b", priority=9), 1)
    harness.run(60)
    assert (harness.placed_of("b"), harness.ended) == (1, {"a": 1})


def test_preemption_takes_only_what_a_queue_has_above_its_guarantee() -> None:
    harness = RecreatingHarness(nodes(1, "4"), queue_object("a", guarantee={"cpu": "3"}))
    harness.work("a", lambda name: queue_pod(name, "a"), 4)
    harness.run(3)
    harness.work("big", lambda name: make_pod(name, cpu="2", priority=9))
    harness.run(30)
    harness.work("small", lambda name: make_pod(name, cpu="1", priority=9))
    harness.run(30)
    assert (harness.placed_of("big"), harness.placed_of("small")) == (0, 1)
    assert harness.ended == {"a": 1}


def apart(job: str) -> dict[str, Any]:
    term = {"labelSelector": {"matchLabels": {"job": job}}, "topologyKey": "kubernetes.io/hostname"}
    rules = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    return {"labels": {"job": job}, "spec": {"affinity": {"podAntiAffinity": rules}}}


def test_a_gang_of_one_pod_per_host_evicts_only_pods_that_let_it_start() -> None:
    harness = RecreatingHarness(
        nodes(2, "4"), queue_object("a", guarantee={"cpu": "4"}), queue_object("b")
    )
    for node in ("n0", "n1"):  # the youngest four are all on n1
        pin = {"nodeSelector": {"kubernetes.io/hostname": node}}
        first = lambda name, pin=pin: queue_pod(name, "b", spec=pin if name.endswith("-1") else {})
        harness.work(node, first, 4)
        harness.run(3)
    harness.group("g", 2)
    harness.work("g", lambda name: queue_pod(name, "a", "2", group="g", **apart("j")), 2)
    harness.run(600)
    assert harness.placed_of("g") == 2
    assert harness.ended == {"n0": 2, "n1": 2}


def test_a_gang_with_a_required_rack_reclaims_in_one_rack() -> None:
    fleet = [
        make_node(f"{rack}{i}", cpu="2", memory="64Gi", labels={"rack": rack})
        for rack in "rs"
        for i in range(2)
    ]
    harness = RecreatingHarness(fleet, queue_object("a", guarantee={"cpu": "4"}), queue_object("b"))
    harness.work("b", lambda name: queue_pod(name, "b"), 8)
    harness.run(3)
    rack = {"podGroupAffinity": {"required": [{"topologyKey": "rack"}]}}
    harness.group("g", 4, affinity=rack)
    harness.work("g", lambda name: queue_pod(name, "a", group="g"), 4)
    harness.run(300)
    racks = {harness.node_of(f"g-{i}-1")[:1] for i in range(4)}
    assert (len(racks), harness.ended) == (1, {"b": 4})


@pytest.mark.parametrize("restart", [False, True])
def test_terminating_pods_count_as_capacity_also_after_a_restart(restart: bool) -> None:
    harness = RecreatingHarness(
        nodes(4), queue_object("a", guarantee={"cpu": "2"}), queue_object("b"), grace=30.0
    )
    harness.work("b", lambda name: queue_pod(name, "b"), 4)
    harness.run(3)
    harness.evict("b", 0)
    harness.evict("b", 1)
    harness.run(1)
    harness.work("a", lambda name: queue_pod(name, "a"), 2)
    harness.run(5)
    if restart:
        harness.restart()
    harness.run(100)
    assert (harness.placed_of("a"), harness.ended) == (2, {"b": 2})


@pytest.mark.parametrize("ahead", [31, 40])
def test_no_number_of_hopeless_gangs_hides_a_unit_that_its_guarantee_helps(ahead: int) -> None:
    harness = RecreatingHarness(
        nodes(4), queue_object("a", guarantee={"cpu": "2"}), queue_object("b")
    )
    harness.work("b", lambda name: queue_pod(name, "b"), 4)
    harness.run(3)
    for gang in range(ahead):
        harness.group(f"g{gang}", 3)
        harness.submit(*(queue_pod(f"g{gang}-{i}", "a", group=f"g{gang}") for i in range(3)))
    harness.run(3)
    harness.work("small", lambda name: queue_pod(name, "a"))
    harness.run(30)
    assert (harness.placed_of("small"), harness.ended) == (1, {"b": 1})


@pytest.mark.parametrize("together", [False, True], ids=["one pod", "a gang"])
def test_a_unit_larger_than_what_its_queue_borrowed_is_reclaimed_whole(together: bool) -> None:
    half = {"guarantee": {"cpu": "2"}}
    harness = RecreatingHarness(nodes(1, "4"), queue_object("a", **half), queue_object("b", **half))
    if together:
        harness.group("g", 4)
        harness.work("b", lambda name: queue_pod(name, "b", group="g"), 4)
    else:
        harness.work("b", lambda name: queue_pod(name, "b", "4"))
    harness.run(3)
    harness.work("a", lambda name: queue_pod(name, "a"), 2)
    harness.run(600, by=5.0)
    assert (harness.placed_of("a"), harness.placed_of("b")) == (2, 0)
    assert harness.ended == {"b": 4 if together else 1}


def test_smaller_pods_are_reclaimed_before_a_unit_that_its_queue_is_owed_in_part() -> None:
    half = {"guarantee": {"cpu": "2"}}
    harness = RecreatingHarness(nodes(2, "2"), queue_object("a", **half), queue_object("b", **half))
    harness.work("big", lambda name: queue_pod(name, "b", "2"))
    harness.run(3)
    harness.work("small", lambda name: queue_pod(name, "b"), 2)
    harness.run(3)
    harness.work("a", lambda name: queue_pod(name, "a"), 2)
    harness.run(120)
    assert (harness.placed_of("a"), harness.ended) == (2, {"small": 2})


@pytest.mark.parametrize("profile", PROFILES)
def test_a_guarantee_of_cpu_gives_no_right_to_gpus(profile: str) -> None:
    harness = RecreatingHarness(
        nodes(1, "64", gpus=4),
        queue_object("web", guarantee={"cpu": "16"}),
        queue_object("ml"),
        profile=profile,
    )
    harness.work("ml", lambda name: queue_pod(name, "ml", "4", gpus=1), 4)
    harness.run(3)
    harness.work("web", lambda name: queue_pod(name, "web", "4", gpus=1), 4)
    harness.run(120)
    assert (harness.placed_of("web"), harness.ended) == (0, {})


def test_borrowers_do_not_take_reclaimed_capacity_from_each_other() -> None:
    harness = RecreatingHarness(
        nodes(2, "2"),
        queue_object("a", guarantee={"cpu": "4"}),
        *(queue_object(name) for name in "bcd"),
        grace=10.0,
    )
    for name in "bc":
        harness.work(name, lambda pod, name=name: queue_pod(pod, name), 2)
    harness.run(3)
    harness.work("d", lambda pod: queue_pod(pod, "d"), 2)
    harness.group("g", 4)
    harness.work("g", lambda pod: queue_pod(pod, "a", group="g"), 4)
    harness.run(300)
    assert (harness.placed_of("g"), harness.ended) == (4, {"b": 2, "c": 2})


def broken_pair(**guarantee: str) -> RecreatingHarness:
    """Two gangs of four have lost a node, and each waits for capacity that the other one holds.

    The guarantee is that of the queue of the second gang.
    """
    queues = [queue_object("first"), queue_object("second", guarantee=guarantee)]
    harness = RecreatingHarness(nodes(4, "2"), *queues)
    for name in ("first", "second"):
        harness.group(name, 4)
        harness.work(name, lambda pod, name=name: queue_pod(pod, name, group=name), 4)
        harness.run(2)
    assert (harness.placed_of("first"), harness.placed_of("second")) == (4, 4)
    on = Counter(node for node in harness.placements().values())
    assert on == {f"n{i}": 2 for i in range(4)}
    for node in ("n0", "n2"):
        harness.store.delete(NODE, [Deletion("", node)])
        for pod, place in harness.placements().items():
            if place == node:
                harness.delete(pod)
    harness.run(3)
    return harness


def test_of_two_broken_gangs_that_block_each_other_one_is_released_and_the_other_completed() -> (
    None
):
    harness = broken_pair()
    lost = sum(harness.ended.values())
    assert sorted([harness.placed_of("first"), harness.placed_of("second")]) == [2, 2]
    harness.run(120)
    assert (harness.placed_of("first"), harness.placed_of("second")) == (4, 0)
    assert sum(harness.ended.values()) == lost + 2


def test_of_two_broken_gangs_the_one_within_a_guarantee_is_completed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Reclaimer, "orders", lambda *_: [])  # otherwise it reclaims before that
    harness = broken_pair(cpu="4")
    lost = sum(harness.ended.values())
    harness.run(120)
    assert (harness.placed_of("first"), harness.placed_of("second")) == (0, 4)
    assert sum(harness.ended.values()) == lost + 2


@pytest.mark.parametrize(("across", "given_back"), [("guarantee", 2), ("priority", 0)])
def test_under_a_limit_too_reclaim_respects_priority_where_it_comes_first(
    across: str, given_back: int
) -> None:
    harness = RecreatingHarness(
        nodes(4),
        queue_object("top", limit={"cpu": "2"}),
        queue_object("a", parent="top", guarantee={"cpu": "2"}),
        queue_object("b", parent="top"),
        profile=load_profile({"profiles": [{"stretto": {"preemption": {"acrossQueues": across}}}]}),
    )
    harness.work("b", lambda name: queue_pod(name, "b", priority=9), 2)
    harness.run(3)
    harness.work("a", lambda name: queue_pod(name, "a"), 2)
    harness.run(120)
    assert (harness.placed_of("a"), harness.ended.total()) == (given_back, given_back)
