"""The default profile refuses exactly the nodes that kube-scheduler's rules between pods refuse."""

import numpy as np
import pytest
from hypothesis import given, settings

from stretto.base.rng import Rng
from stretto.framework.engine.diagnosis import diagnose
from stretto.framework.engine.engine import CompiledProfile
from stretto.framework.engine.runtime import Runtime
from stretto.framework.parity.scheduler import ExactScheduler
from stretto.framework.profile.profile import load_profile
from tests.properties.between_world import Shape, World, shapes


def verdicts(world: World, name: str, runtime: Runtime) -> tuple[list[str], str]:
    """Names of the nodes that a pod may go to, and the message of its event."""
    runtime.sync()
    class_id = int(world.cluster.pods.class_id[world.feed.row(name)])
    row, names = runtime.row(class_id), world.cluster.nodes.names
    assert np.array_equal(row, runtime.reference_row(class_id))
    rules, pod = runtime.engine.profile.filters, world.cluster.classes[class_id]
    said = diagnose(rules, pod, runtime.view, world.cluster.nodes.live_slots())
    return sorted(names[slot] for slot in np.flatnonzero(row).tolist()), said.message


def check_verdicts(shape: Shape) -> None:
    """In a world to which things happen, each new pod is judged as the exact path judges it."""
    world = World(shape)
    runtime = Runtime(CompiledProfile(load_profile("default"), world.cluster), Rng(1), "numpy")
    for _ in range(shape.steps):
        for _ in range(3):
            world.happen()
        name = world.add_pod()
        decision = ExactScheduler(world.snapshot()).decide(world.pod(name), may_preempt=False)
        allowed = sorted(decision.names[at] for at in decision.feasible.tolist())
        mine, message = verdicts(world, name, runtime)
        assert mine == allowed
        if not allowed:
            assert message == decision.message


@given(shapes)
@settings(max_examples=20)
def test_nodes_and_messages_are_those_of_the_exact_path(shape: Shape) -> None:
    check_verdicts(shape)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@given(shapes)
@settings(max_examples=3000)
def test_nodes_and_messages_are_those_of_the_exact_path_at_length(shape: Shape) -> None:
    check_verdicts(shape)
