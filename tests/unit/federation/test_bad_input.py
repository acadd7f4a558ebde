"""Values of policies and annotations that make no sense: the object says which, and what to do."""

from typing import Any

import msgspec
import pytest

from stretto.api.kinds.federation import OVERRIDE_POLICY
from stretto.api.types.federation.policies import PropagationPolicySpec
from stretto.api.wire.kinds import DEPLOYMENT
from stretto.federation import names
from stretto.federation.objects.rules.checks import contradictions
from stretto.stores.store import Patch
from tests.support.federation_world import FederationWorld


@pytest.fixture
def world() -> FederationWorld:
    made = FederationWorld()
    made.policy(schedulingMode="Duplicate")
    return made


def expression(**fields: Any) -> list[dict[str, Any]]:
    return [{"matchExpressions": [{"key": "region", **fields}]}]


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("clusterAffinity", expression(operator="Like", values=["eu"]), "operator: got 'Like'"),
        ("clusterAffinity", expression(operator="Gt", values=["x"]), "exactly one integer"),
        ("clusterAffinities", [{"terms": expression(operator="In")}], "clusterAffinities[0].terms"),
        ("tolerations", [{"operator": "Maybe"}], "set one of Exists, Equal"),
        ("tolerations", [{"operator": "Exists", "effect": "Evict"}], "set one of NoSchedule"),
        ("autoMigration", {"when": {"podUnschedulableFor": "soon"}}, "expected a duration"),
    ],
)
def test_a_policy_that_cannot_be_used_says_which_field(field: str, value: Any, said: str) -> None:
    spec = msgspec.convert({"schedulingMode": "Divide", field: value}, PropagationPolicySpec)
    assert said in "; ".join(contradictions(spec))


def test_an_object_with_two_policies_says_which_one_applies(world: FederationWorld) -> None:
    world.deployment(3)
    labels = {"metadata": {"labels": {names.CLUSTER_POLICY: "other"}}}
    world.host.patch(DEPLOYMENT, [Patch("default", "web", labels)])
    world.run()
    condition = world.condition("Accepted")
    assert condition is not None
    assert "cluster policy other, which a label names too, does not apply" in condition[2]


@pytest.mark.parametrize(
    ("note", "text", "said"),
    [
        ("placements", '[{"cluster":"alpha","preferences":{"weight":-1}}]', "weight is -1"),
        ("followers", '{"kind":"ConfigMap"}', "followers is ignored"),
        ("sticky-cluster", "maybe", "expected true or false"),
    ],
)
def test_an_annotation_that_makes_no_sense_is_reported(
    note: str, text: str, said: str, world: FederationWorld
) -> None:
    world.deployment(3, **{note: text})
    world.run()
    condition = world.condition("Accepted")
    assert condition is not None
    assert said in condition[2]
    assert set(world.placed()) == {"alpha", "beta", "gamma"}


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        (
            {"targetClusters": {"clusters": ["alhpa"]}, "overriders": {}},
            "unknown clusters: alhpa: correct or remove them",
        ),
        (
            {"overriders": {"args": [{"containerName": "mian", "operator": "append"}]}},
            "no container mian: correct the name in the overrider",
        ),
    ],
)
def test_an_override_that_changes_nothing_says_why(
    rule: dict[str, Any], said: str, world: FederationWorld
) -> None:
    world.create(OVERRIDE_POLICY.kind, "tweak", spec={"overrideRules": [rule]})
    world.deployment(3)
    labels = {"metadata": {"labels": {names.OVERRIDE_POLICY: "tweak"}}}
    world.host.patch(DEPLOYMENT, [Patch("default", "web", labels)])
    world.run()
    condition = world.condition("Overridden")
    assert condition is not None
    assert condition[1] == "WithoutEffect"
    assert said in condition[2]


def test_replicas_that_no_node_takes_wait_also_after_their_cluster_has_reported() -> None:
    world = FederationWorld()
    world.policy()
    world.deployment(60, cpu="1")
    world.run(5.0)
    before = world.condition("Scheduled")
    world.run(120.0)
    assert before is not None
    assert before[1] == "ReplicasWaiting"
    assert world.condition("Scheduled") == before
