"""A pending pod is tried when its cure arrives: binds in flight, protections, back-off, order."""

from math import inf
from typing import Any

import msgspec
import pytest

from stretto.api.types.godel import QueuePolicy
from stretto.api.wire.kinds import QUEUE
from stretto.control.queues.config import DispatcherConfig, QueueConfig
from stretto.explain.why.sources.live import live_scene
from stretto.explain.why.why import explain_pod
from stretto.framework.profile.profile import load_profile
from stretto.stores.store import Patch
from stretto.testing import Harness, make_node, make_pod
from tests.support.recreating_harness import queue_object, queue_pod

PROFILES = pytest.mark.parametrize("profile", ["default", "kube-parity"])
SHARDS = pytest.mark.parametrize("shards", [1, 2])
NEVER = {"preemptionPolicy": "Never"}


def pods(name: str, count: int, priority: int, **more: Any) -> list[bytes]:
    return [make_pod(f"{name}{i}", cpu="1", priority=priority, **more) for i in range(count)]


def placed(world: Harness, name: str) -> int:
    return sum(bool(node) for pod, node in world.placements().items() if pod.startswith(name))


def world_of(cpu: int, profile: Any = "default", **config: Any) -> Harness:
    node = make_node("n", cpu=str(cpu))
    return Harness([node], profile=profile, config={"tier": "numpy", **config})


@PROFILES
def test_of_pods_that_arrive_together_the_high_ones_run_and_none_is_evicted(profile: str) -> None:
    world = world_of(10, profile)
    world.submit(*pods("low", 10, 0), *pods("high", 10, 100))
    world.settle(10)
    assert (placed(world, "high"), len(world.placements())) == (10, 20)


@PROFILES
def test_several_shards_place_the_high_ones_too(profile: str) -> None:
    world = world_of(10, profile, shards=2)
    world.submit(*pods("low", 10, 0), *pods("high", 10, 100))
    world.settle(10)
    assert placed(world, "high") == 10


@SHARDS
@pytest.mark.parametrize("count", [1, 10])
def test_a_preemptor_that_met_binds_in_flight_preempts_when_they_are_confirmed(
    shards: int, count: int
) -> None:
    skip = QueueConfig("default", policy=QueuePolicy.FIFO_SKIP)
    world = world_of(count, shards=shards, dispatcher=DispatcherConfig(other_queues=skip))
    world.submit(*pods("low", count, 0), *pods("high", count, 100))
    world.settle(5)
    assert placed(world, "high") == count


def test_a_preemptor_is_tried_again_when_the_protection_of_its_victim_ends() -> None:
    protect = {"protect": {"startedWithinSeconds": 30}}
    world = world_of(1, load_profile({"profiles": [{"stretto": {"preemption": protect}}]}))
    world.submit(*pods("low", 1, 0))
    world.settle()
    world.submit(*pods("high", 1, 100))
    world.settle(25)
    assert placed(world, "high") == 0
    world.settle(10)
    assert placed(world, "high") == 1


@pytest.mark.parametrize("free", [0, 1])
def test_a_gang_that_needs_several_evictions_is_tried_when_a_protection_ends(free: int) -> None:
    protect = {"protect": {"startedWithinSeconds": 30}}
    profile = load_profile({"profiles": [{"stretto": {"preemption": protect}}]})
    world = world_of(3, profile, dispatcher=DispatcherConfig(safety_net=inf))
    world.submit(*pods("low", 3 - free, 0))
    world.group("g", 3)
    world.submit(*pods("high", 3, 100, group="g"))
    world.settle(40)
    assert placed(world, "high") == 3


@PROFILES
def test_a_preemptor_is_tried_when_the_queue_of_its_victim_loses_its_guarantee(
    profile: str,
) -> None:
    world = world_of(1, profile, dispatcher=DispatcherConfig(safety_net=inf))
    world.create(QUEUE, queue_object("owner", guarantee={"cpu": "1"}))
    world.submit(queue_pod("low", "owner"))
    world.settle()
    world.submit(queue_pod("high", "other", priority=9))
    world.settle(10)
    assert placed(world, "high") == 0
    world.store.patch(QUEUE, [Patch("", "owner", {"spec": {"guarantee": None}})])
    world.settle(10)
    assert placed(world, "high") == 1


def waiters(world: Harness, gang: bool) -> list[bytes]:
    """Pods of high priority that need the whole node and evict nothing."""
    if not gang:
        return [make_pod("high", cpu="4", priority=100, spec=NEVER)]
    world.group("g", 4, scheduleTimeoutSeconds=100_000)
    return pods("high", 4, 100, group="g", spec=NEVER)


@PROFILES
@pytest.mark.parametrize("gang", [False, True])
@pytest.mark.parametrize("waited", [20, 2000])
def test_a_pod_that_waited_long_wins_against_fresh_pods_of_lower_priority(
    profile: str, gang: bool, waited: float
) -> None:
    world = world_of(4, profile)
    world.submit(*pods("hold", 4, 1000))
    world.settle()
    world.submit(*waiters(world, gang))
    world.settle(waited)
    world.submit(*pods("low", 4, 0, spec=NEVER))
    world.settle(60)
    for i in range(4):
        world.delete(f"hold{i}")
    world.settle(5)
    assert (placed(world, "high"), placed(world, "low")) == (4 if gang else 1, 0)


@PROFILES
@pytest.mark.parametrize("idle", [5, 60, 600, 1499])
def test_a_pod_is_placed_at_once_when_its_back_off_is_over(profile: str, idle: float) -> None:
    world = world_of(1, profile)
    world.submit(make_pod("hold", cpu="1"))
    world.settle()
    world.submit(make_pod("waits", cpu="1"))
    world.settle(idle)
    world.delete("hold")
    world.settle()
    assert world.node_of("waits") == "n"


def test_the_back_off_after_an_attempt_still_counts() -> None:
    world = world_of(1, "kube-parity")
    world.submit(make_pod("hold", cpu="1"))
    world.settle()
    world.submit(make_pod("waits", cpu="1"))
    world.settle(0.25)
    world.delete("hold")
    world.settle(0.5)
    assert not world.node_of("waits")
    world.settle(0.5)
    assert world.node_of("waits") == "n"


def queue_of(name: str, cpu: str) -> bytes:
    spec = {"policy": "FifoSkip", "limit": {"cpu": cpu}}
    meta = {"name": name}
    return msgspec.json.encode({**HEADER, "metadata": meta, "spec": spec})


HEADER = {"apiVersion": QUEUE.api_version, "kind": "Queue"}


@pytest.mark.parametrize("limited", [False, True])
def test_a_gang_without_a_time_out_starts_when_its_turn_comes(limited: bool) -> None:
    world = world_of(8)
    world.create(QUEUE, queue_of("q", "4"))
    notes = {"annotations": {"stretto.dev/queue": "q"}}
    world.submit(make_pod("old", cpu="4" if limited else "8", **(notes if limited else {})))
    world.settle()
    world.group("g", 2)
    world.submit(*[make_pod(f"g{i}", cpu="2", group="g", **notes) for i in range(2)])
    world.settle(2000)
    assert placed(world, "g") == 0
    plane = world.plane
    scene = live_scene(plane.cluster, plane.config.profile, plane.units, plane.dispatcher.views)
    reasons = explain_pod(scene, "default/g0").reasons
    assert any("states no time-out" in each.sentence for each in reasons)
    world.delete("old")
    world.settle(600)
    assert placed(world, "g") == 2


def test_a_time_out_that_a_gang_states_holds_behind_a_full_cluster() -> None:
    world = world_of(2)
    world.submit(make_pod("old", cpu="2"))
    world.settle()
    world.group("g", 2, scheduleTimeoutSeconds=100)
    world.submit(*pods("g", 2, 0, group="g"))
    world.settle(110)
    world.delete("old")
    world.settle(60)
    assert placed(world, "g") == 0


@PROFILES
def test_a_large_pod_that_would_break_a_gang_does_not_hide_its_pods_from_a_small_one(
    profile: str,
) -> None:
    world = world_of(3, profile, dispatcher=DispatcherConfig(safety_net=inf))
    world.group("g", 2)
    world.submit(
        *(make_pod(f"g{i}", cpu="1", priority=(i == 2) * 200, group="g") for i in range(3))
    )
    world.settle()
    world.submit(make_pod("large", cpu="2", priority=110), make_pod("small", cpu="1", priority=100))
    world.settle(10)
    assert (placed(world, "large"), placed(world, "small"), placed(world, "g")) == (0, 1, 2)
