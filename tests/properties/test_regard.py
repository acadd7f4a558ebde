"""Terms of running pods count in the default profile what kube-scheduler's arguments say."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stretto.base.errors import InputError
from stretto.base.rng import Rng
from stretto.framework.engine.engine import CompiledProfile
from stretto.framework.engine.runtime import Runtime
from stretto.framework.parity.scheduler import ExactScheduler
from stretto.framework.plugins.parity.inter_pod_affinity import raw_scores
from stretto.framework.profile.profile import Profile, load_profile
from stretto.state.classes.terms import RunningTermScoring
from tests.properties.between_world import Shape, World, shapes


def with_args(**args: object) -> Profile:
    config = [{"name": "InterPodAffinity", "args": args}]
    return load_profile({"profiles": [{"pluginConfig": config}]})


def totals(world: World, runtime: Runtime, name: str) -> dict[str, int]:
    """Weights of a pod's wishes by node, as its class has them."""
    runtime.sync()
    if not world.cluster.domains.populations:
        return dict.fromkeys(world.cluster.nodes.by_name, 0)  # nothing counts pods
    pods, look = world.cluster.pods, runtime.view.look
    preferences = world.cluster.classes[int(pods.class_id[world.feed.row(name)])].terms.preferences
    assert look is not None
    total = np.zeros(look.size, np.int64)
    for key, population, weight in preferences:
        total += weight * look.sums(population, key)[look.domain(key)]
    return {node: int(total[slot]) for node, slot in world.cluster.nodes.by_name.items()}


@given(shapes, st.sampled_from([0, 1, 7, 100]), st.booleans())
def test_terms_of_running_pods_count_by_the_arguments(
    shape: Shape, weight: int, mutual: bool
) -> None:
    world = World(shape._replace(running=0))
    profile = with_args(hardPodAffinityWeight=weight, ignorePreferredTermsOfExistingPods=mutual)
    runtime = Runtime(CompiledProfile(profile, world.cluster), Rng(1), "numpy")
    for _ in range(shape.running):
        world.add_pod(world.pick(sorted(world.nodes)))
    name = world.add_pod()
    scheduler = ExactScheduler(world.snapshot())
    decision = scheduler.decide(world.pod(name), may_preempt=False)
    raw = raw_scores(decision.pod, scheduler.snapshot, RunningTermScoring(weight, mutual))
    wanted = dict.fromkeys(decision.names, 0)
    if raw is not None:
        wanted = dict(zip(decision.names, raw.tolist(), strict=True))
    assert totals(world, runtime, name) == wanted


def test_an_empty_configuration_has_the_defaults_of_kube_scheduler() -> None:
    assert (
        with_args().running_term_scoring
        == load_profile("default").running_term_scoring
        == RunningTermScoring(1, mutual=False)
    )


@pytest.mark.parametrize(
    "args",
    [
        {"hardPodAffinityWeight": 101},
        {"hardPodAffinityWeight": -1},
        {"hardPodAffinityWeight": True},
        {"ignorePreferredTermsOfExistingPods": 1},
    ],
)
def test_arguments_out_of_bounds_are_refused(args: dict[str, object]) -> None:
    with pytest.raises(InputError):
        with_args(**args)
