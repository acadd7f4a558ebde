"""HorizontalPodAutoscalers of a federation: in members, on the host, or held back."""

import json

import pytest

from stretto.api.kinds.federation import FEDERATED_OBJECT, FEDERATED_TYPE_CONFIG
from stretto.api.wire.kinds import DEPLOYMENT, Kind
from stretto.federation import names
from stretto.stores.render import render
from stretto.stores.store import Patch
from tests.support.federation_world import FederationWorld

AUTOSCALER = Kind("autoscaling", "v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers")


@pytest.fixture
def world() -> FederationWorld:
    made = FederationWorld()
    config = {"metadata": {"annotations": {names.SCALE_TARGET_PATH: "spec.scaleTargetRef"}}}
    pipeline = [[names.AUTOSCALERS], [names.SCHEDULER], [names.OVERRIDES]]
    made.type("hpas", AUTOSCALER, pipeline)
    made.host.patch(FEDERATED_TYPE_CONFIG.kind, [Patch("", "hpas", config)])
    made.policy(schedulingMode="Duplicate")
    return made


def autoscaler(world: FederationWorld, mode: str = "distributed") -> None:
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    labels = {names.HPA_MODE: mode, names.POLICY: "plan"}
    metadata = {"labels": labels, "namespace": "default"}
    world.create(AUTOSCALER, "web", metadata=metadata, spec={"scaleTargetRef": target})
    world.run()


def members_with_it(world: FederationWorld) -> set[str]:
    return {
        name
        for name, member in world.fleet.members.items()
        if member.store.get(AUTOSCALER, "default", "web") is not None
    }


def source(world: FederationWorld) -> dict[str, dict[str, str]]:
    record = world.host.get(AUTOSCALER, "default", "web")
    assert record is not None
    found: dict[str, dict[str, str]] = json.loads(render(record))["metadata"]
    return found


def workload(world: FederationWorld) -> None:
    followers = [{"group": "autoscaling", "kind": AUTOSCALER.kind, "name": "web"}]
    world.deployment(2, followers=json.dumps(followers), **{"retain-replicas": "true"})


def test_an_autoscaler_goes_with_a_workload_that_allows_it(world: FederationWorld) -> None:
    workload(world)
    autoscaler(world)
    assert members_with_it(world) == {"alpha", "beta", "gamma"}
    assert names.HPA_REASON not in source(world).get("annotations", {})


def test_an_autoscaler_of_another_workload_states_what_is_missing(world: FederationWorld) -> None:
    world.deployment(2)
    autoscaler(world)
    reason = source(world)["annotations"][names.HPA_REASON]
    assert members_with_it(world) == set()
    assert "retain-replicas" in reason
    assert "does not follow" in reason


def test_a_workload_that_comes_to_allow_it_releases_its_autoscaler(world: FederationWorld) -> None:
    world.deployment(2)
    autoscaler(world)
    followers = [{"group": "autoscaling", "kind": AUTOSCALER.kind, "name": "web"}]
    notes = {names.RETAIN_REPLICAS: "true", names.FOLLOWER_LIST: json.dumps(followers)}
    world.host.patch(DEPLOYMENT, [Patch("default", "web", {"metadata": {"annotations": notes}})])
    world.run()
    assert members_with_it(world) == {"alpha", "beta", "gamma"}


def test_a_centralized_autoscaler_stays_on_the_host(world: FederationWorld) -> None:
    workload(world)
    autoscaler(world, mode="centralized")
    assert members_with_it(world) == set()
    assert source(world)["labels"][names.CENTRALIZED_HPA] == "true"


def test_an_autoscaler_that_becomes_centralized_leaves_the_members(world: FederationWorld) -> None:
    workload(world)
    autoscaler(world)
    labels = {"metadata": {"labels": {names.HPA_MODE: "centralized"}}}
    world.host.patch(AUTOSCALER, [Patch("default", "web", labels)])
    world.run()
    assert members_with_it(world) == set()


def conditions(world: FederationWorld) -> dict[str, dict[str, str]]:
    record = world.host.get(FEDERATED_OBJECT.kind, "default", "web-hpas")
    assert record is not None
    found = json.loads(render(record)).get("status", {}).get("conditions", ())
    return {each["type"]: each for each in found}


@pytest.mark.parametrize("mode", ["centralised", "Distributed", ""])
def test_a_mode_that_does_not_exist_is_reported(mode: str, world: FederationWorld) -> None:
    workload(world)
    autoscaler(world, mode)
    accepted = conditions(world)["Accepted"]
    assert members_with_it(world) == {"alpha", "beta", "gamma"}
    assert accepted["status"] == "False"
    assert f"is {mode!r}, expected centralized or distributed" in accepted["message"]


def test_a_mode_that_does_not_exist_is_reported_while_the_autoscaler_is_held(
    world: FederationWorld,
) -> None:
    world.deployment(2)
    autoscaler(world, mode="centralised")
    accepted = conditions(world)["Accepted"]
    assert "does not follow" in accepted["message"]
    assert "expected centralized or distributed" in accepted["message"]


@pytest.mark.parametrize("mode", ["centralized", "distributed"])
def test_a_mode_that_exists_is_no_problem(mode: str, world: FederationWorld) -> None:
    workload(world)
    autoscaler(world, mode)
    assert conditions(world).get("Accepted", {}).get("status") != "False"
