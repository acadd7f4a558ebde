"""What is decided while a member does not answer: it keeps what it has and gets nothing more."""

from typing import Any

import pytest

from stretto.api.kinds.federation import FEDERATED_CLUSTER
from stretto.api.wire.kinds import DEPLOYMENT
from stretto.stores.store import Patch
from tests.support.federation_world import FederationWorld


@pytest.fixture
def world() -> FederationWorld:
    world = FederationWorld()
    world.policy()
    world.deployment(6)
    world.run()
    assert world.placed() == {"alpha": 2, "beta": 2, "gamma": 2}
    return world


def ready(world: FederationWorld, name: str, status: str) -> None:
    conditions = [{"type": "Joined", "status": "True"}, {"type": "Ready", "status": status}]
    change = Patch("", name, {"status": {"conditions": conditions}})
    world.host.patch_status(FEDERATED_CLUSTER.kind, [change])


def scale(world: FederationWorld, replicas: int) -> None:
    change: dict[str, Any] = {"spec": {"replicas": replicas}}
    world.host.patch(DEPLOYMENT, [Patch("default", "web", change)])
    world.run(2.0)


def test_a_scale_up_gives_its_replicas_to_the_members_that_answer(world: FederationWorld) -> None:
    ready(world, "gamma", "Unknown")
    scale(world, 12)
    assert world.placed() == {"alpha": 5, "beta": 5, "gamma": 2}


def test_replicas_that_no_member_can_take_are_placed_once_one_answers(
    world: FederationWorld,
) -> None:
    for name in world.fleet.members:
        ready(world, name, "Unknown")
    scale(world, 9)
    assert world.placed() == {"alpha": 2, "beta": 2, "gamma": 2}
    ready(world, "alpha", "True")
    world.run(10.0)
    assert world.placed() == {"alpha": 5, "beta": 2, "gamma": 2}
