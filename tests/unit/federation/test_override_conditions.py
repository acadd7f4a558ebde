"""Override policies that do not apply: the object says so, and other clusters continue."""

from typing import Any

import pytest

from stretto.api.kinds.federation import OVERRIDE_POLICY
from stretto.api.wire.kinds import DEPLOYMENT
from stretto.federation import names
from stretto.federation.settings import KUBEADMIRAL, FederationSettings
from stretto.stores.store import Patch
from tests.support.federation_world import FederationWorld


def overridden(*rules: dict[str, Any]) -> FederationWorld:
    """A Deployment in three clusters with an override policy."""
    world = FederationWorld()
    world.create(OVERRIDE_POLICY.kind, "tweak", spec={"overrideRules": rules})
    world.policy(schedulingMode="Duplicate")
    world.deployment(1)
    world.run()
    label(world, "tweak")
    return world


def label(world: FederationWorld, policy: str) -> None:
    change = {"metadata": {"labels": {names.OVERRIDE_POLICY: policy}}}
    world.host.patch(DEPLOYMENT, [Patch("default", "web", change)])
    world.run()


def patch(path: str, value: Any) -> dict[str, Any]:
    overriders = {"jsonpatch": [{"path": path, "value": value}]}
    return {"targetClusters": {"clusters": ["beta"]}, "overriders": overriders}


def states(world: FederationWorld) -> dict[str, str]:
    return {each["cluster"]: each["status"] for each in world.federated()["status"]["clusters"]}


def test_a_value_of_the_wrong_type_reaches_no_member() -> None:
    world = overridden(patch("/spec/replicas", "many"))
    condition = world.condition("Overridden")
    assert states(world) == {"alpha": "OK", "beta": "UpdateFailed", "gamma": "OK"}
    assert condition is not None
    assert condition[1] == "BreaksObject"
    assert "beta" in condition[2]


def test_a_forbidden_path_is_reported_for_its_cluster() -> None:
    world = overridden(patch("/metadata/name", "evil"))
    condition = world.condition("Overridden")
    assert states(world)["beta"] == "ApplyOverridesFailed"
    assert condition is not None
    assert condition[1] == "BreaksObject"


def test_an_overrider_that_does_not_apply_keeps_the_last_differences() -> None:
    labels = [{"operator": "addIfAbsent", "value": {"app": "other"}}]
    world = overridden(patch("/spec/replicas", 2))
    world.host.patch(DEPLOYMENT, [Patch("default", "web", {"metadata": {"labels": {"app": "x"}}})])
    rules = {"spec": {"overrideRules": [{"overriders": {"labels": labels}}]}}
    world.host.patch(OVERRIDE_POLICY.kind, [Patch("default", "tweak", rules)])
    world.run()
    condition = world.condition("Overridden")
    assert world.placed()["beta"] == 2
    assert condition is not None
    assert condition[1] == "InvalidOverride"


@pytest.mark.parametrize(
    ("overriders", "said"),
    [
        ({"labels": [{"operator": "addIfAbsent", "value": {"a": 1}}]}, "expected a text"),
        ({"jsonpatch": [{"operator": "remove"}]}, "path"),
        ({"args": [{"containerName": "main", "operator": "addIfAbsent"}]}, "append, overwrite"),
        ({"labels": [{"operator": "append", "value": {"a": "b"}}]}, "addIfAbsent, overwrite"),
    ],
)
def test_a_malformed_override_policy_is_reported(overriders: dict[str, Any], said: str) -> None:
    condition = overridden({"overriders": overriders}).condition("Overridden")
    assert condition is not None
    assert condition[1] == "InvalidOverride"
    assert said in condition[2]


def test_a_missing_override_policy_is_reported_until_it_is_corrected() -> None:
    world = overridden(patch("/spec/replicas", 2))
    label(world, "absent")
    before = world.condition("Overridden")
    label(world, "tweak")
    assert before is not None
    assert before[1] == "PolicyMissing"
    assert world.condition("Overridden") == ("True", "", "")


LABELS = {names.POLICY: "plan", names.OVERRIDE_POLICY: "tweak"}
SPEC = {"replicas": 1, "template": {"spec": {"containers": [{"name": "main", "image": "app:v1"}]}}}
CORRECTED: dict[str, Any] = {"spec": {"overrideRules": []}}


def broken(settings: FederationSettings) -> FederationWorld:
    """A world whose only override policy has an overrider that does not apply."""
    world = FederationWorld(settings)
    rules = [{"overriders": {"jsonpatch": [{"operator": "remove", "path": "/spec/nothing"}]}}]
    world.create(OVERRIDE_POLICY.kind, "tweak", spec={"overrideRules": rules})
    world.policy(schedulingMode="Duplicate")
    return world


def test_a_new_object_waits_until_its_override_policy_is_corrected() -> None:
    world = broken(FederationSettings())
    world.create(DEPLOYMENT, "web", metadata={"labels": LABELS}, spec=SPEC)
    world.run()
    condition = world.condition("Overridden")
    assert condition is not None
    assert (world.placed(), "the object waits" in condition[2]) == ({}, True)
    world.host.patch(OVERRIDE_POLICY.kind, [Patch("default", "tweak", CORRECTED)])
    world.run()
    assert set(world.placed()) == {"alpha", "beta", "gamma"}


@pytest.mark.parametrize(("settings", "replicas"), [(FederationSettings(), 5), (KUBEADMIRAL, 1)])
def test_only_kubeadmiral_holds_a_change_of_an_object_whose_override_policy_is_broken(
    settings: FederationSettings, replicas: int
) -> None:
    world = broken(settings)
    world.deployment(1)
    world.run()
    label(world, "tweak")
    world.host.patch(DEPLOYMENT, [Patch("default", "web", {"spec": {"replicas": 5}})])
    world.run()
    assert world.placed() == dict.fromkeys(("alpha", "beta", "gamma"), replicas)
