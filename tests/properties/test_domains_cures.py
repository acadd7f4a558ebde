"""Nothing that could cure a "no" between pods is missed: held against waking for everything.

A pod that fits nowhere waits for the events that its class's rules name. Whatever happens in a
random world: where the pod fits afterwards, one of the events that happened was among them.
"""

import pytest
from hypothesis import given, settings

from stretto.base.rng import Rng
from stretto.framework.engine.engine import CompiledProfile
from stretto.framework.engine.runtime import Runtime
from stretto.framework.profile.profile import load_profile
from stretto.state.work.units import Cure
from tests.properties.between_world import Shape, World, shapes


def class_of(world: World, name: str) -> int:
    return int(world.cluster.pods.class_id[world.feed.row(name)])


def fits(world: World, runtime: Runtime, name: str) -> bool:
    runtime.sync()
    return bool(runtime.row(class_of(world, name)).any())


def watch(shape: Shape) -> tuple[int, int]:
    """Pods that waited and were cured, and events that no waiting pod had to be woken for."""
    world = World(shape)
    engine = CompiledProfile(load_profile("default"), world.cluster)
    runtime, cured, slept = Runtime(engine, Rng(1), "numpy"), 0, 0
    waiting: dict[str, Cure] = {}
    for _ in range(2 * shape.steps):
        name = world.add_pod()
        if not fits(world, runtime, name):
            waiting[name] = engine.cures_of(class_of(world, name))
        world.cluster.changes.clear()
        world.cluster.domains.requesters()
        world.happen()
        seen, requests = world.cluster.changes.cures, world.cluster.domains.requesters()
        for name in [name for name in waiting if name not in world.pods]:
            del waiting[name]
        for name, cures in list(waiting.items()):
            slept += not cures & seen
            if fits(world, runtime, name):
                assert cures & seen, (name, cures, seen)
                alone = cures & seen == Cure.POD_PLACED
                assert not (alone and requests) or requests(class_of(world, name)), (
                    "it asked for them"
                )
                cured += 1
                del waiting[name]
            elif cures & seen:  # it is tried again, and waits for what is in its way now
                waiting[name] = engine.cures_of(class_of(world, name))
    return cured, slept


@given(shapes)
@settings(max_examples=20)
def test_what_lets_a_pod_fit_is_what_wakes_it(shape: Shape) -> None:
    watch(shape)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@given(shapes)
@settings(max_examples=3000)
def test_what_lets_a_pod_fit_is_what_wakes_it_at_length(shape: Shape) -> None:
    watch(shape)


def test_pods_are_cured_and_sleep_through_what_does_not_concern_them() -> None:
    totals = [watch(Shape(seed, 4, 2, 4, 6, 6)) for seed in range(16)]
    assert sum(cured for cured, _ in totals) > 2
    assert sum(slept for _, slept in totals) > 5
