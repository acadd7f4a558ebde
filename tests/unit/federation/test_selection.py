"""Which policy applies to an object, and what is said about policies that contradict themselves."""

from typing import Any

import msgspec
import pytest

from stretto.api.kinds.federation import CLUSTER_PROPAGATION_POLICY, PROPAGATION_POLICY
from stretto.api.types.federation.policies import PropagationPolicy, PropagationPolicySpec
from stretto.api.wire.kinds import DEPLOYMENT
from stretto.federation import names
from stretto.federation.objects.rules.checks import contradictions
from stretto.federation.objects.rules.selection import selected
from stretto.stores.store import Patch
from tests.support.federation_world import FederationWorld

DEPLOYMENTS = [{"apiVersion": "apps/v1", "kind": "Deployment"}]


@pytest.fixture
def world() -> FederationWorld:
    return FederationWorld()


def select(world: FederationWorld, name: str, cluster: str, **spec: Any) -> None:
    given = {"schedulingMode": "Duplicate", "placement": [{"cluster": cluster}], **spec}
    world.create(PROPAGATION_POLICY.kind, name, spec=given)


def unlabelled(world: FederationWorld) -> None:
    template = {"spec": {"containers": [{"name": "main", "image": "app:v1"}]}}
    metadata = {"labels": {"tier": "front"}}
    world.create(DEPLOYMENT, "web", metadata=metadata, spec={"replicas": 1, "template": template})
    world.run()


@pytest.mark.parametrize(
    ("selector", "matches"),
    [
        ({"kind": "Deployment"}, True),
        ({"kind": "Job"}, False),
        ({"names": ["web", "api"]}, True),
        ({"names": ["api"]}, False),
        ({"matchLabels": {"tier": "front"}}, True),
        ({"matchLabels": {"tier": "back"}}, False),
        ({"apiVersion": "apps/v1"}, True),
    ],
)
def test_every_given_field_of_a_selector_must_match(
    selector: dict[str, Any], matches: bool
) -> None:
    metadata = {"name": "web", "labels": {"tier": "front"}}
    template = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata}
    spec = {"schedulingMode": "Duplicate", "resourceSelectors": [selector]}
    policy = msgspec.convert({"metadata": {"name": "p"}, "spec": spec}, PropagationPolicy)
    assert (selected(template, [policy]) is not None) == matches


def test_a_policy_that_appears_later_selects_what_exists(world: FederationWorld) -> None:
    unlabelled(world)
    select(world, "late", "beta", resourceSelectors=DEPLOYMENTS)
    world.run()
    assert list(world.placed()) == ["beta"]


def test_a_label_comes_before_every_selector(world: FederationWorld) -> None:
    select(world, "plan", "alpha")
    select(world, "chosen", "beta", resourceSelectors=DEPLOYMENTS, priority=100)
    world.deployment(1)
    world.run()
    assert list(world.placed()) == ["alpha"]


def test_policies_of_the_namespace_come_before_those_of_the_cluster(
    world: FederationWorld,
) -> None:
    spec = {"schedulingMode": "Duplicate", "placement": [{"cluster": "gamma"}], "priority": 9}
    wide = {**spec, "resourceSelectors": DEPLOYMENTS}
    world.create(CLUSTER_PROPAGATION_POLICY.kind, "wide", spec=wide)
    select(world, "near", "alpha", resourceSelectors=DEPLOYMENTS)
    unlabelled(world)
    assert list(world.placed()) == ["alpha"]


def test_the_policy_with_the_highest_priority_applies(world: FederationWorld) -> None:
    select(world, "a", "alpha", resourceSelectors=DEPLOYMENTS)
    select(world, "b", "beta", resourceSelectors=DEPLOYMENTS, priority=1)
    unlabelled(world)
    assert (list(world.placed()), world.condition("Accepted")) == (["beta"], None)


def test_equal_priorities_are_reported(world: FederationWorld) -> None:
    select(world, "a", "alpha", resourceSelectors=DEPLOYMENTS)
    select(world, "b", "beta", resourceSelectors=DEPLOYMENTS)
    unlabelled(world)
    condition = world.condition("Accepted")
    assert list(world.placed()) == ["alpha"]
    assert condition is not None
    assert "give one of them a higher priority" in condition[2]


@pytest.mark.parametrize(
    ("preferences", "text"),
    [
        ({"minReplicas": 5, "maxReplicas": 3}, "minReplicas 5 is above maxReplicas 3"),
        ({"weight": -1}, "weight is -1"),
        ({"weight": 1 << 40}, "weight is 1099511627776"),
        ({"maxReplicas": -2}, "maxReplicas is -2"),
    ],
)
def test_a_contradiction_names_the_field_and_the_value(
    preferences: dict[str, int], text: str
) -> None:
    placement = [{"cluster": "alpha", "preferences": preferences}]
    given = {"schedulingMode": "Divide", "placement": placement}
    spec = msgspec.convert(given, PropagationPolicySpec)
    assert text in "; ".join(contradictions(spec))


def test_a_contradicting_policy_keeps_the_placement_of_its_objects(world: FederationWorld) -> None:
    world.policy()
    world.deployment(6)
    world.run()
    world.policy_patch(placement=[{"cluster": "alpha", "preferences": {"weight": -1}}])
    world.run()
    condition = world.condition("Accepted")
    assert world.placed() == {"alpha": 2, "beta": 2, "gamma": 2}
    assert condition is not None
    assert condition[1] == "InvalidPolicy"


def test_a_policy_that_is_repaired_is_accepted_again(world: FederationWorld) -> None:
    world.policy(maxClusters=-1)
    world.deployment(6)
    world.run()
    before = world.condition("Accepted")
    world.policy_patch(maxClusters=2)
    world.run()
    assert before is not None
    assert before[0] == "False"
    assert world.condition("Accepted") == ("True", "", "")


def test_unknown_clusters_are_reported_and_the_others_are_used(world: FederationWorld) -> None:
    world.policy(placement=[{"cluster": "alpha"}, {"cluster": "moon"}])
    world.deployment(6)
    world.run()
    condition = world.condition("Accepted")
    assert world.placed() == {"alpha": 6}
    assert condition is not None
    assert "unknown clusters: moon" in condition[2]


def test_weights_of_zero_are_reported_and_the_placement_stays(world: FederationWorld) -> None:
    world.policy()
    world.deployment(6)
    world.run()
    world.policy_patch(placement=[{"cluster": "alpha", "preferences": {"weight": 0}}])
    world.run()
    condition = world.condition("Accepted")
    assert world.placed() == {"alpha": 2, "beta": 2, "gamma": 2}
    assert condition is not None
    assert "gives every cluster the weight 0" in condition[2]


def test_replicas_beyond_every_maximum_are_reported(world: FederationWorld) -> None:
    limited = {"cluster": "alpha", "preferences": {"maxReplicas": 4, "weight": 1}}
    world.policy(placement=[limited])
    world.deployment(6)
    world.run()
    condition = world.condition("Scheduled")
    assert world.placed() == {"alpha": 4}
    assert condition is not None
    assert condition[1] == "ReplicasUnplaced"


def test_the_filters_that_reject_every_cluster_are_reported(world: FederationWorld) -> None:
    world.policy()
    world.deployment(6)
    world.run()
    world.policy_patch(clusterSelector={"region": "moon"})
    world.run()
    condition = world.condition("Scheduled")
    assert condition is not None
    assert "ClusterAffinity rejects alpha, beta, gamma" in condition[2]


def test_a_value_that_cannot_be_read_is_reported_and_ignored(world: FederationWorld) -> None:
    world.policy()
    world.deployment(6, maxClusters="no number")
    world.run()
    condition = world.condition("Accepted")
    assert world.placed() == {"alpha": 2, "beta": 2, "gamma": 2}
    assert condition is not None
    assert "kubeadmiral.io/maxClusters is ignored" in condition[2]
    assert "expected a whole number of 0 or more" in condition[2]


def test_a_rollout_that_cannot_be_read_is_reported_and_writes_nothing(
    world: FederationWorld,
) -> None:
    world.policy()
    world.deployment(6)
    world.run()
    note = {names.ROLLOUT: "{wrong"}
    change = {"metadata": {"annotations": note}, "spec": {"replicas": 9}}
    world.host.patch(DEPLOYMENT, [Patch("default", "web", change)])
    world.run()
    condition = world.condition("Propagated")
    assert world.placed() == {"alpha": 2, "beta": 2, "gamma": 2}
    assert condition is not None
    assert condition[1] == "InvalidRollout"
    assert "nothing is written: stretto.dev/rollout" in condition[2]


def test_weights_of_zero_are_no_closed_clusters(world: FederationWorld) -> None:
    world.policy(placement=[{"cluster": "alpha", "preferences": {"weight": 0}}])
    world.deployment(6)
    world.run()
    condition = world.condition("Scheduled")
    assert condition is not None
    assert "not ready" not in condition[2]


def test_a_missing_policy_is_reported_until_it_exists(world: FederationWorld) -> None:
    world.deployment(6)
    world.run()
    before = world.condition("Accepted")
    world.policy()
    world.run()
    assert before is not None
    assert before[1] == "PolicyMissing"
    assert world.condition("Accepted") == ("True", "", "")


def test_an_object_whose_policy_label_is_removed_stays_and_reports_it(
    world: FederationWorld,
) -> None:
    world.policy()
    world.deployment(6)
    world.run()
    labels = {"metadata": {"labels": {"kubeadmiral.io/propagation-policy-name": None}}}
    world.host.patch(DEPLOYMENT, [Patch("default", "web", labels)])
    world.run()
    condition = world.condition("Scheduled")
    assert world.placed() == {"alpha": 2, "beta": 2, "gamma": 2}
    assert condition is not None
    assert condition[1] == "PolicyRemoved"
