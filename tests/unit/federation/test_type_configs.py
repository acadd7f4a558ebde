"""FederatedTypeConfigs that do not apply: their condition says why, and other kinds continue."""

from typing import Any

import msgspec
import pytest

from stretto.api.kinds.federation import FEDERATED_TYPE_CONFIG
from stretto.api.wire.kinds import DEPLOYMENT, EVENT
from stretto.federation import names
from stretto.federation.objects.defaults import default_types, further_types
from stretto.federation.objects.rules.types import oddities
from stretto.federation.types import read_type
from stretto.stores.render import render
from stretto.stores.store import Patch
from tests.support.federation_world import REPLICAS, FederationWorld

CONFIGS = FEDERATED_TYPE_CONFIG.kind
WIDGET = {"group": "lab", "version": "v1", "kind": "Widget", "pluralName": "widgets"}


def accepted(world: FederationWorld, name: str) -> dict[str, Any]:
    """The condition of a configuration; empty for none."""
    record = world.host.get(CONFIGS, "", name)
    assert record is not None
    status = msgspec.json.decode(render(record)).get("status") or {}
    return next(iter(status.get("conditions", ())), {})


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({"sourceType": WIDGET, "controllers": "none"}, "spec.controllers: got 'none'"),
        ({"sourceType": {**WIDGET, "kind": ""}}, "spec.sourceType.kind: got nothing"),
        ({"sourceType": {**WIDGET, "scope": "cluster"}}, "scope: got 'cluster', expected Names"),
    ],
)
def test_a_malformed_configuration_is_reported_and_others_apply(
    spec: dict[str, Any], said: str
) -> None:
    world = FederationWorld()
    world.create(CONFIGS, "widgets.lab", spec=spec)
    world.policy(schedulingMode="Duplicate")
    world.deployment(1)
    world.run()
    condition = accepted(world, "widgets.lab")
    assert (condition["status"], condition["reason"]) == ("False", "InvalidConfiguration")
    assert said in condition["message"]
    assert set(world.placed()) == {"alpha", "beta", "gamma"}


def test_of_two_configurations_for_one_kind_the_older_one_applies() -> None:
    world = FederationWorld()
    world.run()
    world.type("again", DEPLOYMENT, [[names.SCHEDULER]], REPLICAS)
    world.run()
    assert accepted(world, "again")["reason"] == "KindConfiguredTwice"
    assert accepted(world, "deployments.apps") == {}


def test_a_configuration_is_accepted_once_it_is_correct() -> None:
    world = FederationWorld()
    paths = {"spec": {"pathDefinition": {"replicasSpec": "spec.repilcas"}}}
    world.host.patch(CONFIGS, [Patch("", "deployments.apps", paths)])
    world.run()
    assert "did you mean 'replicas'?" in accepted(world, "deployments.apps")["message"]
    paths["spec"]["pathDefinition"]["replicasSpec"] = "spec.replicas"
    world.host.patch(CONFIGS, [Patch("", "deployments.apps", paths)])
    world.run()
    assert accepted(world, "deployments.apps")["status"] == "True"


def test_a_controller_that_takes_no_turn_is_an_event_of_the_configuration() -> None:
    world = FederationWorld()
    pipeline = {"spec": {"controllers": [["kubeadmiral.io/global-schduler"]]}}
    world.host.patch(CONFIGS, [Patch("", "deployments.apps", pipeline)])
    world.run()
    events = [msgspec.json.decode(each.body) for each in world.host.list(EVENT).records]
    assert [each["involvedObject"]["name"] for each in events] == ["deployments.apps"]
    assert "global-schduler, which does not exist" in events[0]["message"]


def test_all_configurations_of_the_package_are_accepted() -> None:
    world = FederationWorld()
    for each in (*default_types(), *further_types()):
        name = each["metadata"]["name"]
        world.create(CONFIGS, f"{name}.mine", spec=each["spec"])
    world.run(1.0)
    configs = world.fleet.federation.fleet.host.follow_synced(CONFIGS)
    found = {each.record.name: list(oddities(read_type(each))) for each in configs}
    assert {name: texts for name, texts in found.items() if texts} == {}
