"""Members that do not answer, or answer late, while controllers start, decide and delete."""

import json

import pytest

from stretto.api.kinds.federation import FEDERATED_CLUSTER, FEDERATED_OBJECT
from stretto.api.wire.kinds import DEPLOYMENT
from stretto.federation import names
from stretto.sim.fleet.parts import FleetParts
from stretto.sim.fleet.server.availability import ServerAvailability
from stretto.stores.store import Deletion, Patch
from tests.support.federation_world import FederationWorld


@pytest.fixture(params=[False, True], ids=["update", "apply"])
def world(request: pytest.FixtureRequest) -> FederationWorld:
    """Six replicas in three members, which are written as whole objects or by apply."""
    made = FederationWorld(parts=FleetParts(applies=request.param))
    made.policy()
    made.deployment(6)
    made.run()
    assert made.placed() == {"alpha": 2, "beta": 2, "gamma": 2}
    return made


def weigh(world: FederationWorld, **weights: int) -> None:
    rules = {
        "rescheduleWhen": {"policyContentChanged": True},
        "replicaRescheduling": {"avoidDisruption": False},
    }
    placement = [{"cluster": x, "preferences": {"weight": y}} for x, y in weights.items()]
    world.policy_patch(placement=placement, reschedulePolicy=rules)


def restarted(world: FederationWorld, availability: ServerAvailability) -> None:
    """The controllers start again while one member does not answer."""
    world.fleet.members["gamma"].served.set_availability(availability)
    world.fleet.start()


def test_other_members_are_served_if_one_does_not_answer_at_the_start(
    world: FederationWorld,
) -> None:
    restarted(world, ServerAvailability.SILENT)
    world.host.patch(DEPLOYMENT, [Patch("default", "web", {"spec": {"replicas": 12}})])
    world.run(5)
    assert world.placed() == {"alpha": 4, "beta": 4, "gamma": 2}


def test_an_object_is_no_invalid_one_because_a_member_does_not_answer(
    world: FederationWorld,
) -> None:
    restarted(world, ServerAvailability.SILENT)
    world.run(5)
    assert world.condition("Accepted") is None


def test_nothing_is_started_elsewhere_for_what_an_unknown_member_still_runs(
    world: FederationWorld,
) -> None:
    notes = json.loads(world.federated()["metadata"]["annotations"][names.ROLLOUT_STATUS])
    text = json.dumps({**notes, "most": {"gamma": 12}})
    body = {"metadata": {"annotations": {names.ROLLOUT_STATUS: text}}}
    world.fleet.stop()
    world.host.patch(FEDERATED_OBJECT.kind, [Patch("default", "web-deployments.apps", body)])
    restarted(world, ServerAvailability.SILENT)
    world.host.patch(DEPLOYMENT, [Patch("default", "web", {"spec": {"replicas": 9}})])
    world.run(5)
    assert world.placed() == {"alpha": 2, "beta": 2, "gamma": 2}


def test_what_an_unknown_member_runs_counts_although_less_is_placed_there_now(
    world: FederationWorld,
) -> None:
    weigh(world, gamma=1)
    world.run(60)
    assert world.placed() == {"gamma": 6}
    world.fleet.stop()
    weigh(world, alpha=2, gamma=1)
    restarted(world, ServerAvailability.SILENT)
    world.run(5)
    assert world.placed() == {"alpha": 2, "gamma": 6}


def test_a_deletion_waits_for_a_member_that_is_unknown(world: FederationWorld) -> None:
    restarted(world, ServerAvailability.SILENT)
    world.host.delete(DEPLOYMENT, [Deletion("default", "web")])
    world.run()
    world.fleet.members["gamma"].served.set_availability(ServerAvailability.ANSWERS)
    world.run(60)
    assert world.placed() == {}


def test_a_decision_reads_the_last_write_before_its_event_comes(world: FederationWorld) -> None:
    member = world.fleet.members["alpha"]
    member.served.set_availability(ServerAvailability.STALLED)
    world.host.patch(DEPLOYMENT, [Patch("default", "web", {"spec": {"replicas": 12}})])
    world.run(5)
    cache = world.fleet.federation.fleet.member("alpha")
    record = member.store.get(DEPLOYMENT, "default", "web")
    assert cache is not None
    assert record is not None
    known = cache.follow(DEPLOYMENT).get("default", "web")
    assert known is not None
    assert known.spec == {**known.spec, "replicas": 4}


def test_a_write_whose_answer_is_lost_takes_its_part_of_the_surge(world: FederationWorld) -> None:
    world.fleet.members["gamma"].served.set_availability(ServerAvailability.SLOW)
    weigh(world, gamma=1)
    world.run(0.5)
    assert world.placed()["gamma"] == 4
    weigh(world, alpha=1)
    world.run(0.5)
    assert world.placed()["alpha"] == 2


def test_pods_of_a_member_that_leaves_are_not_relied_on(world: FederationWorld) -> None:
    world.fleet.members["gamma"].stop()
    world.host.delete(FEDERATED_CLUSTER.kind, [Deletion("", "gamma")])
    world.policy_patch(placement=[{"cluster": "beta"}])
    world.fleet.settle()
    found = world.placed()
    assert (found["alpha"] or 0) + (found["beta"] or 0) >= 4
