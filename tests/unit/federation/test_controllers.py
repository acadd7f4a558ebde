"""Federated objects on their way from the host to members and back."""

import json

import msgspec
import pytest

from stretto.api.kinds.federation import (
    CLUSTER_FEDERATED_OBJECT,
    FEDERATED_CLUSTER,
    FEDERATED_OBJECT,
    OVERRIDE_POLICY,
    PROPAGATION_POLICY,
    SCHEDULING_PROFILE,
)
from stretto.api.wire.kinds import CONFIG_MAP, DEPLOYMENT, NAMESPACE, POD, STATEFUL_SET
from stretto.federation import names
from stretto.federation.settings import KUBEADMIRAL
from stretto.stores.render import render
from stretto.stores.store import Deletion, Patch
from tests.support.federation_world import FederationWorld


@pytest.fixture
def world() -> FederationWorld:
    return FederationWorld()


def test_replicas_are_divided_over_the_clusters(world: FederationWorld) -> None:
    world.policy()
    world.deployment(6)
    world.run()
    assert world.placed() == {"alpha": 2, "beta": 2, "gamma": 2}


def test_the_status_of_all_members_is_the_status_of_the_source(world: FederationWorld) -> None:
    world.policy()
    world.deployment(6)
    world.run()
    record = world.host.get(DEPLOYMENT, "default", "web")
    assert record is not None
    status = msgspec.json.decode(render(record))["status"]
    assert (status["replicas"], status["availableReplicas"]) == (6, 6)


def test_a_larger_workload_grows_where_it_runs(world: FederationWorld) -> None:
    world.policy()
    world.deployment(6)
    world.run()
    world.host.patch(DEPLOYMENT, [Patch("default", "web", {"spec": {"replicas": 9}})])
    world.run()
    assert world.placed() == {"alpha": 3, "beta": 3, "gamma": 3}


def test_a_change_in_a_member_is_reverted(world: FederationWorld) -> None:
    world.policy()
    world.deployment(6)
    world.run()
    member = world.fleet.members["beta"].store
    member.patch(DEPLOYMENT, [Patch("default", "web", {"spec": {"replicas": 7}})])
    world.run()
    assert world.placed()["beta"] == 2


def test_an_object_that_is_deleted_disappears_everywhere(world: FederationWorld) -> None:
    world.policy()
    world.deployment()
    world.run()
    world.host.delete(DEPLOYMENT, [Deletion("default", "web")])
    world.run()
    assert world.placed() == {}
    assert world.host.get(DEPLOYMENT, "default", "web") is None


def test_an_object_of_another_owner_is_left_alone(world: FederationWorld) -> None:
    template = {"spec": {"containers": [{"name": "main", "image": "other"}]}}
    body = {"metadata": {"name": "web"}, "spec": {"replicas": 1, "template": template}}
    world.fleet.members["beta"].store.create(DEPLOYMENT, [json.dumps(body).encode()])
    world.policy()
    world.deployment(6)
    world.run()
    states = {each["cluster"]: each["status"] for each in world.federated()["status"]["clusters"]}
    assert states["beta"] == "AlreadyExists"
    assert world.placed()["beta"] == 1


@pytest.mark.parametrize("chosen", [{"clusters": ["beta"]}, {"regexp": "^be"}])
def test_an_object_is_adopted_where_its_owner_allows_it(
    chosen: dict[str, object], world: FederationWorld
) -> None:
    template = {"spec": {"containers": [{"name": "main", "image": "other"}]}}
    body = {"metadata": {"name": "web"}, "spec": {"replicas": 1, "template": template}}
    world.fleet.members["beta"].store.create(DEPLOYMENT, [json.dumps(body).encode()])
    world.policy()
    adopts = {"conflict-resolution": "adopt", "clusters-to-adopt": json.dumps(chosen)}
    world.deployment(6, **adopts)
    world.run()
    assert world.placed()["beta"] == 2


def test_an_override_changes_the_object_in_one_cluster(world: FederationWorld) -> None:
    overriders = {"image": [{"operations": [{"imageComponent": "Tag", "value": "v9"}]}]}
    rule = {"targetClusters": {"clusters": ["beta"]}, "overriders": overriders}
    world.create(OVERRIDE_POLICY.kind, "tweak", spec={"overrideRules": [rule]})
    world.policy()
    world.deployment(6)
    change = {"metadata": {"labels": {names.OVERRIDE_POLICY: "tweak"}}}
    world.host.patch(DEPLOYMENT, [Patch("default", "web", change)])
    world.run()
    record = world.fleet.members["beta"].store.get(DEPLOYMENT, "default", "web")
    assert record is not None
    assert b"app:v9" in record.body


def test_a_namespace_goes_to_every_cluster(world: FederationWorld) -> None:
    world.create(NAMESPACE, "team")
    world.run()
    stores = [member.store for member in world.fleet.members.values()]
    assert all(store.get(NAMESPACE, "", "team") is not None for store in stores)
    assert world.host.get(CLUSTER_FEDERATED_OBJECT.kind, "", "team-namespaces") is not None


def test_an_object_in_the_namespace_of_the_federation_stays_on_the_host(
    world: FederationWorld,
) -> None:
    world.create(DEPLOYMENT, "web", metadata={"namespace": names.SYSTEM_NAMESPACE}, spec={})
    world.run()
    kept = world.host.get(DEPLOYMENT, names.SYSTEM_NAMESPACE, "web")
    assert kept is not None
    assert b"finalizers" not in kept.body
    assert not world.host.list(FEDERATED_OBJECT.kind).records


def test_an_object_there_that_was_federated_before_is_released(world: FederationWorld) -> None:
    metadata = {"namespace": names.SYSTEM_NAMESPACE, "finalizers": [names.FEDERATE_FINALIZER]}
    world.create(DEPLOYMENT, "web", metadata=metadata, spec={})
    world.run()
    world.host.delete(DEPLOYMENT, [Deletion(names.SYSTEM_NAMESPACE, "web")])
    world.run()
    assert world.host.get(DEPLOYMENT, names.SYSTEM_NAMESPACE, "web") is None


def test_an_object_keeps_its_placement_where_no_cluster_fits(world: FederationWorld) -> None:
    world.policy()
    world.deployment(6)
    world.run()
    nowhere = {"spec": {"clusterSelector": {"region": "moon"}}}
    world.host.patch(PROPAGATION_POLICY.kind, [Patch("default", "plan", nowhere)])
    world.run()
    assert world.placed() == {"alpha": 2, "beta": 2, "gamma": 2}


def test_kubeadmirals_profile_removes_it_instead() -> None:
    world = FederationWorld(KUBEADMIRAL)
    world.policy()
    world.deployment(6)
    world.run()
    nowhere = {"spec": {"clusterSelector": {"region": "moon"}}}
    world.host.patch(PROPAGATION_POLICY.kind, [Patch("default", "plan", nowhere)])
    world.run()
    assert world.placed() == {}


def test_an_object_without_its_policy_waits_for_it(world: FederationWorld) -> None:
    world.deployment(6)
    world.run()
    assert names.SCHEDULER in world.federated()["metadata"]["annotations"][names.PENDING]
    world.policy()
    world.run()
    assert sum(filter(None, world.placed().values())) == 6


def test_replicas_that_a_member_decides_stay(world: FederationWorld) -> None:
    world.policy()
    world.deployment(6, **{"retain-replicas": "true"})
    world.run()
    member = world.fleet.members["beta"].store
    member.patch(DEPLOYMENT, [Patch("default", "web", {"spec": {"replicas": 5}})])
    world.run()
    assert world.placed()["beta"] == 5


def test_replicas_that_a_member_decides_stay_in_a_kind_that_is_not_divided(
    world: FederationWorld,
) -> None:
    world.type("statefulsets.apps", STATEFUL_SET, [[names.SCHEDULER], [names.OVERRIDES]])
    world.policy(schedulingMode="Duplicate")
    pods = {"containers": [{"name": "main", "image": "app:v1"}]}
    template = {"metadata": {"labels": {"app": "db"}}, "spec": pods}
    selector = {"matchLabels": {"app": "db"}}
    notes, labels = {names.RETAIN_REPLICAS: "true"}, {names.POLICY: "plan"}
    spec = {"replicas": 3, "serviceName": "db", "selector": selector, "template": template}
    metadata = {"labels": labels, "annotations": notes}
    world.create(STATEFUL_SET, "db", metadata=metadata, spec=spec)
    world.run()
    member = world.fleet.members["beta"].store
    member.patch(STATEFUL_SET, [Patch("default", "db", {"spec": {"replicas": 5}})])
    world.host.patch(STATEFUL_SET, [Patch("default", "db", {"spec": {"replicas": 1}})])
    world.run()
    found = member.get(STATEFUL_SET, "default", "db")
    assert found is not None
    assert msgspec.json.decode(render(found))["spec"]["replicas"] == 5


def test_what_the_pods_need_follows_the_workload(world: FederationWorld) -> None:
    world.type("configmaps", CONFIG_MAP, [[names.SCHEDULER], [names.OVERRIDES]])
    world.create(CONFIG_MAP, "conf", data={"key": "value"})
    world.policy(placement=[{"cluster": "beta"}], schedulingMode="Duplicate")
    world.deployment(2, volumes=["conf"])
    world.run()
    holding = [
        name
        for name, member in world.fleet.members.items()
        if member.store.get(CONFIG_MAP, "default", "conf") is not None
    ]
    assert holding == ["beta"]


def test_a_profile_that_does_not_exist_keeps_the_object_pending(world: FederationWorld) -> None:
    world.policy(schedulingProfile="absent")
    world.deployment()
    world.run()
    assert names.SCHEDULER in world.federated()["metadata"]["annotations"][names.PENDING]


def test_a_profile_without_filters_ignores_the_labels_of_clusters(world: FederationWorld) -> None:
    plugins = {"filter": {"disabled": [{"name": "*"}]}}
    world.create(SCHEDULING_PROFILE.kind, "free", spec={"plugins": plugins})
    world.policy(schedulingProfile="free", clusterSelector={"region": "moon"})
    world.deployment(6)
    world.run()
    assert world.placed() == {"alpha": 2, "beta": 2, "gamma": 2}


def test_a_deleted_override_policy_leaves_no_differences(world: FederationWorld) -> None:
    overriders = {"image": [{"operations": [{"imageComponent": "Tag", "value": "v9"}]}]}
    world.create(
        OVERRIDE_POLICY.kind, "tweak", spec={"overrideRules": [{"overriders": overriders}]}
    )
    world.policy()
    world.deployment(6)
    change = {"metadata": {"labels": {names.OVERRIDE_POLICY: "tweak"}}}
    world.host.patch(DEPLOYMENT, [Patch("default", "web", change)])
    world.run()
    world.host.delete(OVERRIDE_POLICY.kind, [Deletion("default", "tweak")])
    world.run()
    record = world.fleet.members["beta"].store.get(DEPLOYMENT, "default", "web")
    assert record is not None
    assert b"app:v1" in record.body


def test_pods_that_fit_nowhere_in_their_cluster_move_to_others(world: FederationWorld) -> None:
    weights = {"alpha": 4, "beta": 1, "gamma": 1}
    placement = [
        {"cluster": name, "preferences": {"weight": weight}} for name, weight in weights.items()
    ]
    world.policy(placement=placement, autoMigration={"when": {"podUnschedulableFor": "5s"}})
    world.deployment(6, cpu="3")
    world.run(90.0)
    assert world.placed() == {"alpha": 2, "beta": 2, "gamma": 2}


def test_simultaneous_deployments_do_not_overfill_a_cluster(world: FederationWorld) -> None:
    placement = [{"cluster": name} for name in world.fleet.members]
    world.policy(placement=placement)
    for number in range(12):
        world.deployment(2, cpu="1", name=f"web-{number}")
    world.run()
    stores = [member.store for member in world.fleet.members.values()]
    pods = [len(store.list(POD).records) for store in stores]
    assert pods == [8, 8, 8]


def test_replicas_that_fit_nowhere_are_reported_and_placed_once_they_fit(
    world: FederationWorld,
) -> None:
    world.policy()
    world.deployment(27, cpu="1")
    world.run()
    waiting = world.federated()["metadata"]["annotations"][names.WAITING]
    assert sum(json.loads(waiting)["clusters"].values()) == 3
    resources = {"allocatable": {"cpu": "16"}, "available": {"cpu": "8"}}
    change = {"status": {"resources": resources}}
    world.host.patch_status(FEDERATED_CLUSTER.kind, [Patch("", "beta", change)])
    world.run()
    assert names.WAITING not in world.federated()["metadata"]["annotations"]


def test_an_observation_of_no_cluster_replaces_an_older_one() -> None:
    world = FederationWorld(KUBEADMIRAL)
    world.policy(autoMigration={"when": {"podUnschedulableFor": "5s"}})
    world.deployment(3)
    world.run()
    before = world.federated()["metadata"]["annotations"][names.AUTO_MIGRATION]
    world.host.patch(DEPLOYMENT, [Patch("default", "web", {"spec": {"replicas": 0}})])
    world.run(40.0)
    assert "scheduledReplicas" in before
    assert world.federated()["metadata"]["annotations"][names.AUTO_MIGRATION] == "{}"


def test_without_a_policy_nothing_migrates() -> None:
    world = FederationWorld(KUBEADMIRAL)
    world.policy(autoMigration={"when": {"podUnschedulableFor": "5s"}})
    world.deployment(3)
    world.run()
    assert names.AUTO_MIGRATION in world.federated()["metadata"]["annotations"]
    without = {"metadata": {"labels": {names.POLICY: None}}}
    world.host.patch(DEPLOYMENT, [Patch("default", "web", without)])
    world.run(40.0)
    assert names.AUTO_MIGRATION not in world.federated()["metadata"]["annotations"]
