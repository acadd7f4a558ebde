"""Values of policies and annotations that make no sense: the object says which, and what to do."""

import json
import re
from collections import Counter
from typing import Any

import msgspec
import pytest

from stretto.api.kinds.federation import (
    OVERRIDE_POLICY,
    PROPAGATION_POLICY,
    SCHEDULING_PROFILE,
    WEBHOOK_CONFIGURATION,
)
from stretto.api.types.federation.objects import PathDefinition
from stretto.api.types.federation.policies import PropagationPolicySpec
from stretto.api.wire.kinds import CUSTOM_RESOURCE_DEFINITION, DEPLOYMENT, EVENT, Kind
from stretto.base.errors import InputError
from stretto.federation import names
from stretto.federation.answers.placements import placed_object
from stretto.federation.controllers.keys import everything
from stretto.federation.objects.demand import stated_replicas
from stretto.federation.objects.rules.checks import contradictions, oddities
from stretto.federation.types import FederatedType
from stretto.reconcile.event_queue import EventLimits
from stretto.sim.fleet.manifests import checked
from stretto.sim.fleet.server.availability import ServerAvailability
from stretto.stores.store import Patch
from tests.support.federation_world import FederationWorld

LABELS: dict[str, Any] = {"labels": [{"operator": "overwrite", "value": {"a": "b"}}]}


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
        ("clusterAffinities", [{"terms": []}], "clusterAffinities[0].terms is empty"),
        ("placement", [{"cluster": "a", "preferences": {"priority": -1}}], "priority is -1"),
        ("tolerations", [{"operator": "Maybe"}], "set one of Exists, Equal"),
        ("tolerations", [{"operator": "Exists", "effect": "Evict"}], "set one of NoSchedule"),
        ("autoMigration", {"when": {"podUnschedulableFor": "soon"}}, "expected a duration"),
    ],
)
def test_a_policy_that_cannot_be_used_states_which_field(field: str, value: Any, said: str) -> None:
    spec = msgspec.convert({"schedulingMode": "Divide", field: value}, PropagationPolicySpec)
    assert said in "; ".join(contradictions(spec))


def test_kubeadmiral_divides_by_minimums_above_maximums() -> None:
    crossed = [{"cluster": "a", "preferences": {"minReplicas": 4, "maxReplicas": 2}}]
    given = {"schedulingMode": "Divide", "placement": crossed}
    spec = msgspec.convert(given, PropagationPolicySpec)
    assert "minReplicas 4 is above maxReplicas 2" in "; ".join(contradictions(spec))
    assert list(contradictions(spec, orders_bounds=False)) == []


def test_an_object_with_two_policies_states_which_one_applies(world: FederationWorld) -> None:
    world.deployment(3)
    labels = {"metadata": {"labels": {names.CLUSTER_POLICY: "other"}}}
    world.host.patch(DEPLOYMENT, [Patch("default", "web", labels)])
    world.run()
    condition = world.condition("Accepted")
    assert condition is not None
    assert "cluster policy other, which a label names too, does not apply" in condition[2]


def test_minimums_above_the_replicas_are_reported_and_placed(world: FederationWorld) -> None:
    least = [{"cluster": x, "preferences": {"minReplicas": 3}} for x in ("alpha", "beta")]
    change = {"spec": {"schedulingMode": "Divide", "placement": least}}
    world.host.patch(PROPAGATION_POLICY.kind, [Patch("default", "plan", change)])
    world.deployment(4)
    world.run()
    condition = world.condition("Accepted")
    assert condition is not None
    assert "minReplicas add up to 6, above the 4 replicas" in condition[2]
    assert sum(count or 0 for count in world.placed().values()) == 4


@pytest.mark.parametrize("replicas", [-3, "three", 1.5, True])
def test_replicas_that_make_no_sense_stop_a_decision(replicas: object) -> None:
    paths = PathDefinition(replicas_spec="spec.size")
    kind = FederatedType("widgets", DEPLOYMENT, (), paths, True, (), None, False)
    with pytest.raises(InputError, match="expected a whole number of 0 or more"):
        stated_replicas({"spec": {"size": replicas}}, kind)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"replicas": -3}, "spec.replicas: Invalid value: -3: must be greater than or equal to 0"),
        ({"template": None}, "spec.template.spec.containers: Required value"),
        ({"minReadySeconds": -1}, "spec.minReadySeconds: Invalid value: -1"),
    ],
)
def test_a_manifest_that_an_api_server_refuses_is_refused(
    change: dict[str, Any], said: str
) -> None:
    template = {"spec": {"containers": [{"name": "main"}]}}
    body = {"metadata": {"name": "web"}, "spec": {"template": template, **change}}
    with pytest.raises(InputError, match=re.escape(said)):
        checked(DEPLOYMENT, body)


@pytest.mark.parametrize(
    ("note", "text", "said"),
    [
        ("placements", '[{"cluster":"alpha","preferences":{"weight":-1}}]', "weight is -1"),
        ("followers", '{"kind":"ConfigMap"}', "followers is ignored"),
        ("sticky-cluster", "maybe", "expected true or false"),
        ("orphan", "some", "got 'some', expected all or adopted"),
        ("conflict-resolution", "take", "expected adopt"),
        ("clusters-to-adopt", '{"regexp":"["}', "expected a regular expression"),
        ("dry-run", "maybe", "expected true or false"),
        ("retain-replicas", "yes", "expected true or false"),
        ("disable-following", "yes", "expected true or false"),
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
    ("note", "text", "said"),
    [
        (
            names.MIGRATION,
            '{"replicasMigrations":[{"cluster":"alhpa","limitedCapacity":1}]}',
            "names unknown clusters: alhpa",
        ),
        (
            names.MIGRATION,
            '{"replicasMigration":[]}',
            "at replicasMigration: unknown field 'replicasMigration'; did you mean",
        ),
        (names.PLACEMENTS, '[{"cluster":"beta"},{"cluster":"bta"}]', "unknown clusters: bta"),
        (names.ROLLOUT, '{"stages":[{"clusters":["canary"]}]}', "unknown clusters: canary"),
        (names.ROLLOUT, '{"stages":[],"approved":[2]}', "approves stages that it does not have: 2"),
        (names.ADOPT_FROM, '{"clusters":["beta"]}', "has no effect alone"),
        (names.CONFLICT, "adopt", "adopts in no cluster"),
        (names.PREFIX + "max-clusters", "1", "did you mean kubeadmiral.io/maxClusters?"),
        (names.OVERRIDE_POLICY, "tweak", "move it to metadata.labels"),
    ],
)
def test_an_annotation_without_an_effect_is_reported(
    note: str, text: str, said: str, world: FederationWorld
) -> None:
    world.deployment(3)
    world.host.patch(
        DEPLOYMENT, [Patch("default", "web", {"metadata": {"annotations": {note: text}}})]
    )
    world.run()
    condition = world.condition("Accepted")
    assert condition is not None
    assert condition[1] == "AnnotationWithoutEffect"
    assert said in condition[2]


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        (
            {"clusterSelector": {"region": "eu"}, "placement": [{"cluster": "alpha"}]},
            "clusterSelector and clusterAffinity exclude alpha of the placement",
        ),
        (
            {"clusterAffinities": [{"name": "a", "terms": expression(operator="Exists")}] * 2},
            "clusterAffinities has several groups a: rename all but one",
        ),
        (
            {"clusterAffinity": [{"matchFields": [{"key": "name", "operator": "Exists"}]}]},
            "matchFields[0].key is name, so its term matches no cluster: write metadata.name",
        ),
        (
            {"placement": [{"cluster": "alpha", "preferences": {"maxReplicas": 2}}]},
            "bounds replicas, which the mode Duplicate ignores",
        ),
    ],
)
def test_what_has_no_effect_in_a_policy_is_named(spec: dict[str, Any], said: str) -> None:
    given = msgspec.convert({"schedulingMode": "Duplicate", **spec}, PropagationPolicySpec)
    assert said in "; ".join(oddities(given, {"alpha": {}}))


def test_a_label_that_is_no_name_of_the_federation_is_reported_without_a_policy() -> None:
    world = FederationWorld()
    world.deployment(3)
    typo = {"metadata": {"labels": {names.POLICY: None, names.PREFIX + "propagation-policy": "x"}}}
    world.host.patch(DEPLOYMENT, [Patch("default", "web", typo)])
    world.run()
    condition = world.condition("Accepted")
    assert condition is not None
    assert "did you mean kubeadmiral.io/propagation-policy-name?" in condition[2]


def test_a_problem_is_an_event_of_the_source_once() -> None:
    world = FederationWorld()
    world.deployment(3)
    world.run(60.0)
    events = [msgspec.json.decode(each.body) for each in world.host.list(EVENT).records]
    assert [(x["reason"], x["involvedObject"]["kind"], x["count"]) for x in events] == [
        ("PolicyMissing", "Deployment", 1)
    ]


@pytest.mark.parametrize(
    ("note", "said"),
    [
        ('{"stages":[{"clusters":["alpha"],"soakSeconds":-1}]}', "soakSeconds: got -1.0"),
        ('{"limitSeconds":0}', "limitSeconds: got 0.0, expected seconds above 0"),
    ],
)
def test_times_of_a_rollout_that_make_no_sense_stop_it(
    note: str, said: str, world: FederationWorld
) -> None:
    world.deployment(3)
    change = {"metadata": {"annotations": {names.ROLLOUT: note}}}
    world.host.patch(DEPLOYMENT, [Patch("default", "web", change)])
    world.run()
    condition = world.condition("Propagated")
    assert condition is not None
    assert said in condition[2]


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
        ({"targetClusters": {"clusters": ["alpha"]}}, "has no overriders: add one, or remove"),
        (
            {"targetClusters": {"clusterSelector": {"a": "b"}}, "overriders": LABELS},
            "overrideRules[0]: targetClusters matches no cluster",
        ),
        ({"overriders": LABELS}, "labels[0] replaces a, which the object lacks: use addIfAbsent"),
        ({"overriders": {"image": [{}]}}, "image[0] has no operations: add one"),
        (
            {"overriders": {"jsonpatch": [{"path": "/spec/repilcas", "value": 2}]}},
            "the overrides write spec.repilcas: unknown field 'repilcas'; did you mean 'replicas'",
        ),
    ],
)
def test_an_override_that_changes_nothing_states_why(
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


def test_a_cluster_of_the_placement_without_the_kind_is_named() -> None:
    world = FederationWorld()
    lab = Kind("lab.example", "v1", "Widget", "widgets")
    world.type("widgets.lab.example", lab, [[names.SCHEDULER]])
    world.policy(schedulingMode="Duplicate")
    version = {"name": "v1", "served": True, "storage": True}
    named = {"kind": lab.kind, "plural": lab.plural}
    spec = {"group": lab.group, "scope": "Namespaced", "names": named, "versions": [version]}
    crd = {"metadata": {"name": "widgets.lab.example"}, "spec": spec}
    world.fleet.members["alpha"].store.create(
        CUSTOM_RESOURCE_DEFINITION, [json.dumps(crd).encode()]
    )
    metadata = {"namespace": "default", "labels": {names.POLICY: "plan"}}
    world.create(lab, "web", metadata=metadata)
    world.run(1.0)
    item = next(x for x in everything(world.fleet.federation.fleet) if x.type.kind == lab)
    found = placed_object(item, frozenset())
    assert found.placement == {"alpha": None}
    assert "beta, gamma of the placement do not serve the kind: install its CRD" in found.problem


@pytest.mark.parametrize(
    ("availability", "said"),
    [
        (ServerAvailability.BUSY, "give the federation a priority level of its own there"),
        (ServerAvailability.REFUSES, "renew the credentials in the secret of the cluster"),
        (ServerAvailability.SILENT, "it is repeated once the cluster answers"),
    ],
)
def test_a_write_that_fails_states_what_its_cause_needs(
    availability: ServerAvailability, said: str, world: FederationWorld
) -> None:
    world.run(1.0)
    world.fleet.members["beta"].served.set_availability(availability)
    world.deployment(3)
    world.run(3.0)
    condition = world.condition("Propagated")
    assert condition is not None
    assert said in condition[2]
    assert "alpha" not in condition[2]


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


def test_a_native_manifest_with_a_wrong_type_is_refused() -> None:
    body = {"metadata": {"name": "web"}, "spec": {"replicas": "three"}}
    with pytest.raises(InputError, match=r"spec\.replicas: got 'three', expected an integer"):
        checked(DEPLOYMENT, body)


def test_a_wrong_value_of_a_policy_is_left_to_its_condition() -> None:
    checked(PROPAGATION_POLICY.kind, {"metadata": {"name": "p"}, "spec": {"maxClusters": "two"}})


@pytest.mark.parametrize(
    ("kind", "spec", "said"),
    [
        (PROPAGATION_POLICY.kind, {"placment": []}, "unknown field 'placment'; did you mean"),
        (
            PROPAGATION_POLICY.kind,
            {"placement": [{"cluster": "a", "preferences": {"wieght": 1}}]},
            "spec.placement[0].preferences.wieght: unknown field 'wieght'; did you mean 'weight'?",
        ),
        (
            OVERRIDE_POLICY.kind,
            {"overrideRules": [{"targetCluster": {}}]},
            "spec.overrideRules[0].targetCluster: unknown field",
        ),
        (SCHEDULING_PROFILE.kind, {"plugins": {"filters": {}}}, "did you mean 'filter'?"),
        (WEBHOOK_CONFIGURATION.kind, {"urlPrefx": "x"}, "did you mean 'urlPrefix'?"),
        (DEPLOYMENT, {"repilcas": 3}, "Deployment web: spec.repilcas: unknown field 'repilcas'"),
    ],
)
def test_an_unknown_field_of_a_manifest_is_refused(
    kind: Kind, spec: dict[str, Any], said: str
) -> None:
    with pytest.raises(InputError, match=re.escape(said)):
        checked(kind, {"metadata": {"name": "web"}, "spec": spec})


@pytest.mark.parametrize(
    ("kind", "spec", "said"),
    [
        (PROPAGATION_POLICY.kind, {"schedulingMode": "Divded"}, "expected one of Duplicate"),
        (
            PROPAGATION_POLICY.kind,
            {"schedulingMode": "Divide", "maxClusters": -1},
            "maxClusters is -1",
        ),
        (
            PROPAGATION_POLICY.kind,
            {"schedulingMode": "Divide", "resourceSelectors": [{"kind": "Deploymnt"}]},
            "resourceSelectors[0].kind is Deploymnt, which is not federated",
        ),
        (OVERRIDE_POLICY.kind, {"overrideRules": "none"}, "spec.overrideRules: got 'none'"),
    ],
)
def test_a_policy_that_no_object_can_use_has_an_event(
    kind: Kind, spec: dict[str, Any], said: str
) -> None:
    world = FederationWorld()
    world.create(kind, "wrong", spec=spec)
    world.run()
    (event,) = (msgspec.json.decode(each.body) for each in world.host.list(EVENT).records)
    assert (event["reason"], event["involvedObject"]["kind"]) == ("InvalidPolicy", kind.kind)
    assert said in event["message"]


def test_a_problem_of_many_objects_has_few_events(world: FederationWorld) -> None:
    for number in range(EventLimits().each + 5):
        world.deployment(3, name=f"web-{number}")
    world.run()
    world.policy_patch(clusterSelector={"region": "nowhere"})
    world.run(70.0)
    events = [msgspec.json.decode(each.body) for each in world.host.list(EVENT).records]
    about = Counter((x["reason"], x["involvedObject"]["kind"]) for x in events)
    assert about["NoClusterFits", "Deployment"] == EventLimits().each
    assert about["NoClusterFits", "FederatedTypeConfig"] == 1


def test_objects_in_a_silent_member_have_no_events_of_their_own(world: FederationWorld) -> None:
    for number in range(8):
        world.deployment(3, name=f"web-{number}")
    world.run()
    world.fleet.members["gamma"].served.set_availability(ServerAvailability.SILENT)
    world.run(300.0)
    assert not world.host.list(EVENT).records


def test_an_object_that_a_label_keeps_from_the_federation_is_named(world: FederationWorld) -> None:
    labels = {"metadata": {"name": "web", "labels": {names.MANAGED: "false"}}}
    world.fleet.members["beta"].store.create(DEPLOYMENT, [msgspec.json.encode(labels)])
    world.deployment(3)
    world.run()
    condition = world.condition("Propagated")
    assert condition is not None
    assert condition[2].startswith(f"beta: an object of that name has the label {names.MANAGED}")
