"""Gangs of several sizes and entitled units, with other numbers, orders and kinds of objects."""

from itertools import permutations
from typing import Any

import pytest

from stretto.testing import make_node, make_pod
from tests.support.recreating_harness import RecreatingHarness, queue_object, queue_pod

#: The first of these tests compiles the kernels if they are not compiled yet.
pytestmark = pytest.mark.timeout(240)


def nodes(count: int, cpu: str, **more: Any) -> list[bytes]:
    return [make_node(f"n{i}", cpu=cpu, memory="64Gi", **more) for i in range(count)]


def borrowed(cpu: str, guarantee: str, *, count: int = 4, grace: float = 0.0) -> RecreatingHarness:
    """Nodes full of pods of one CPU that queue ``b`` has borrowed from queue ``a``."""
    owner = queue_object("a", guarantee={"cpu": guarantee})
    harness = RecreatingHarness(nodes(count, cpu), owner, queue_object("b"), grace=grace)
    harness.work("b", lambda name: queue_pod(name, "b"), count * int(cpu))
    harness.run(3)
    return harness


def gang(harness: RecreatingHarness, name: str, count: int, cpu: str, **more: Any) -> None:
    harness.group(name, count)
    make = lambda pod: queue_pod(pod, "a", cpu, group=name, **more)
    harness.work(name, make, count)


def apart(job: str) -> dict[str, Any]:
    term = {"labelSelector": {"matchLabels": {"job": job}}, "topologyKey": "kubernetes.io/hostname"}
    rules = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    return {"labels": {"job": job}, "spec": {"affinity": {"podAntiAffinity": rules}}}


@pytest.mark.parametrize("order", list(permutations("abc")), ids="".join)
def test_three_sizes_that_fit_in_one_way_start_in_any_order(order: tuple[str, ...]) -> None:
    sizes = {"a": "35", "b": "25", "c": "15"}
    harness = RecreatingHarness([make_node("x", cpu="40"), make_node("y", cpu="35")])
    harness.group("g", 3)
    harness.submit(*(make_pod(each, cpu=sizes[each], group="g") for each in order))
    harness.run(60)
    assert harness.placements() == {"a": "y", "b": "x", "c": "x"}


@pytest.mark.parametrize("order", list(permutations("abcd"))[::5], ids="".join)
def test_members_that_are_large_in_different_resources_start(order: tuple[str, ...]) -> None:
    sizes = {"a": ("2", "28Gi"), "b": ("2", "28Gi"), "c": ("14", "4Gi"), "d": ("14", "4Gi")}
    fleet = [make_node("x", cpu="10", memory="64Gi"), make_node("y", cpu="32", memory="16Gi")]
    harness = RecreatingHarness(fleet)
    harness.group("g", 4)
    bodies = (make_pod(n, cpu=sizes[n][0], memory=sizes[n][1], group="g") for n in order)
    harness.submit(*bodies)
    harness.run(60)
    assert harness.placements() == {"a": "x", "b": "x", "c": "y", "d": "y"}


def test_a_gang_of_three_of_four_hosts_evicts_three_pods_on_each_of_them() -> None:
    harness = borrowed("4", "9")
    gang(harness, "g", 3, "3", **apart("g"))
    harness.run(200)
    assert (harness.placed_of("g"), harness.ended) == (3, {"b": 9})


def test_two_gangs_of_one_guarantee_evict_no_pod_for_each_other() -> None:
    harness = borrowed("4", "8")
    gang(harness, "g", 2, "2", **apart("g"))
    gang(harness, "k", 2, "2", **apart("k"))
    harness.run(300)
    assert (harness.placed_of("g"), harness.placed_of("k"), harness.ended) == (2, 2, {"b": 8})


def test_a_hundred_hopeless_units_hide_no_unit_that_its_guarantee_helps() -> None:
    harness = borrowed("4", "4", count=2)
    for number in range(100):
        size = str(64 + number % 3)
        harness.work(f"no{number}", lambda name, size=size: queue_pod(name, "a", size))
    harness.work("ok", lambda name: queue_pod(name, "a", "3"))
    harness.run(120)
    assert (harness.placed_of("ok"), harness.ended) == (1, {"b": 3})


@pytest.mark.parametrize("restart", [False, True])
def test_a_gang_evicts_only_what_terminating_pods_do_not_cover(restart: bool) -> None:
    harness = borrowed("2", "4", grace=20.0)
    harness.evict("b", 0)
    harness.evict("b", 1)
    harness.run(1)
    gang(harness, "g", 4, "1")
    harness.run(3)
    if restart:
        harness.restart()
    harness.run(200)
    assert (harness.placed_of("g"), harness.ended) == (4, {"b": 4})


def test_preemptors_evict_only_what_terminating_pods_do_not_cover() -> None:
    harness = RecreatingHarness(nodes(4, "1"), grace=30.0)
    harness.work("b", lambda name: make_pod(name, cpu="1"), 4)
    harness.run(3)
    harness.evict("b", 0)
    harness.evict("b", 1)
    harness.run(1)
    harness.work("a", lambda name: make_pod(name, cpu="1", priority=9), 3)
    harness.run(200)
    assert (harness.placed_of("a"), harness.ended) == (3, {"b": 3})


def test_of_two_large_borrowers_one_leaves_for_a_smaller_guarantee() -> None:
    owner = queue_object("a", guarantee={"cpu": "6"})
    other = queue_object("b", guarantee={"cpu": "10"})
    harness = RecreatingHarness(nodes(1, "16"), owner, other)
    harness.work("b", lambda name: queue_pod(name, "b", "8"), 2)
    harness.run(3)
    harness.work("a", lambda name: queue_pod(name, "a", "2"), 3)
    harness.run(120)
    assert (harness.placed_of("a"), harness.ended) == (3, {"b": 1})


def test_a_guarantee_of_memory_gives_no_right_to_gpus() -> None:
    owner = queue_object("a", guarantee={"memory": "32Gi"})
    harness = RecreatingHarness(nodes(1, "16", gpus=4), owner, queue_object("b"))
    harness.work("b", lambda name: queue_pod(name, "b", gpus=1), 4)
    harness.run(3)
    harness.work("a", lambda name: queue_pod(name, "a", memory="4Gi", gpus=1))
    harness.run(120)
    assert (harness.placed_of("a"), harness.ended) == (0, {})
