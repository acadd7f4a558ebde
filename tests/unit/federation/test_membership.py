"""Clusters join, are watched and leave."""

import base64
from typing import Any

import msgspec
import pytest

from stretto.api.kinds.federation import (
    FEDERATED_CLUSTER,
    FEDERATED_OBJECT,
    FEDERATED_TYPE_CONFIG,
    PROPAGATION_POLICY,
)
from stretto.api.wire.kinds import DEPLOYMENT, EVENT, NAMESPACE, Kind
from stretto.base.clock import ManualClock
from stretto.base.rng import Rng
from stretto.federation import names
from stretto.federation.bootstrap import bootstrap
from stretto.federation.objects.membership.kinds import CLUSTER_ROLE, SECRET
from stretto.federation.objects.membership.rights import ROLE
from stretto.federation.settings import FederationSettings
from stretto.reconcile.cache import StoredObject
from stretto.sim.fleet.fleet import EmbeddedFleet
from stretto.sim.fleet.server.availability import ServerAvailability
from stretto.stores.embedded.memory import MemoryStore
from stretto.stores.render import render
from stretto.stores.store import Deletion, Patch, Store
from stretto.testing import make_node

Fields = dict[str, Any]
SPACE = names.SYSTEM_NAMESPACE
SETTINGS = FederationSettings(
    health_period=10.0, health_threshold=30.0, join_timeout=60.0, leave_timeout=60.0
)
START = 1_000_000.0


class Clusters:
    """A host with the kind Deployment, and one member whose cluster has not joined."""

    def __init__(self) -> None:
        self.fleet = EmbeddedFleet(ManualClock(START), SETTINGS)
        self.host: Store = self.fleet.host
        source = {
            "group": "apps",
            "version": "v1",
            "kind": "Deployment",
            "pluralName": "deployments",
            "scope": "Namespaced",
        }
        config = {
            "sourceType": source,
            "controllers": [[names.SCHEDULER]],
            "pathDefinition": {"replicasSpec": "spec.replicas"},
        }
        self.create(FEDERATED_TYPE_CONFIG.kind, "deployments.apps", spec=config)
        self.member = self.fleet.add_member("east", [make_node("east-0", cpu=8)])

    def create(self, kind: Kind, name: str, **fields: Any) -> None:
        metadata = {"name": name, **fields.pop("metadata", {})}
        self.host.create(kind, [msgspec.json.encode({"metadata": metadata, **fields})])

    def secret(self, **data: str) -> None:
        encoded = {
            key.replace("_", "-"): base64.b64encode(value.encode()).decode()
            for key, value in data.items()
        }
        self.create(SECRET, "east-secret", metadata={"namespace": SPACE}, data=encoded)

    def cluster(self, name: str = "east", **spec: Any) -> None:
        whole = {"apiEndpoint": "https://east", "secretRef": {"name": "east-secret"}, **spec}
        self.create(FEDERATED_CLUSTER.kind, name, spec=whole)

    def join(self, **spec: Any) -> None:
        self.secret(bootstrap_token_data="t")
        self.cluster(**spec)
        self.fleet.settle()

    def deploy(self, replicas: int = 2) -> None:
        self.create(NAMESPACE, "team")
        space = {"namespace": "team"}
        mode = {"schedulingMode": "Duplicate"}
        self.create(PROPAGATION_POLICY.kind, "all", metadata=space, spec=mode)
        template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "m"}]}}
        selector = {"matchLabels": {"app": "web"}}
        spec = {"replicas": replicas, "selector": selector, "template": template}
        labels = {"labels": {names.POLICY: "all"}}
        self.create(DEPLOYMENT, "web", metadata={**space, **labels}, spec=spec)
        self.fleet.settle()

    def leave(self) -> None:
        self.host.delete(FEDERATED_CLUSTER.kind, [Deletion("", "east")])
        self.fleet.settle()

    def after(self, seconds: float) -> None:
        self.fleet.run_until(self.fleet.clock.monotonic() + seconds)

    def shown(self, name: str = "east") -> Fields:
        record = self.host.get(FEDERATED_CLUSTER.kind, "", name)
        return msgspec.json.decode(render(record)) if record is not None else {}

    def condition(self, type_: str, name: str = "east") -> tuple[str, str, str]:
        found = self.shown(name)["status"]["conditions"]
        each = next(each for each in found if each["type"] == type_)
        return each["status"], each["reason"], each["message"]

    def in_member(self, kind: Kind, namespace: str, name: str) -> Fields | None:
        record = self.member.store.get(kind, namespace, name)
        return msgspec.json.decode(render(record)) if record is not None else None


@pytest.fixture
def clusters() -> Clusters:
    return Clusters()


def test_a_cluster_that_joins_owns_the_system_namespace_of_its_member(clusters: Clusters) -> None:
    clusters.join()
    found = clusters.in_member(NAMESPACE, "", SPACE)
    assert found is not None
    uid = clusters.shown()["metadata"]["uid"]
    assert found["metadata"]["annotations"] == {names.CLUSTER_UID: uid}
    assert clusters.condition("Joined")[:2] == ("True", "ClusterJoined")


def test_a_joined_cluster_shows_its_health_its_capacity_and_its_kinds(clusters: Clusters) -> None:
    clusters.join()
    status = clusters.shown()["status"]
    assert clusters.condition("Ready") == ("True", "ClusterReady", "Cluster is ready")
    assert clusters.condition("Offline")[0] == "False"
    assert status["resources"]["allocatable"]["cpu"] == "8"
    assert {"Deployment", "Pod"} <= {each["kind"] for each in status["apiResourceTypes"]}


def test_pods_of_a_member_reduce_what_is_available(clusters: Clusters) -> None:
    clusters.join()
    container = {"name": "m", "resources": {"requests": {"cpu": "1500m"}}}
    pod = {"metadata": {"name": "p", "namespace": "n"}, "spec": {"containers": [container]}}
    clusters.member.store.create(Kind("", "v1", "Pod", "pods"), [msgspec.json.encode(pod)])
    clusters.after(10.0)
    assert clusters.shown()["status"]["resources"]["available"]["cpu"] == "6500m"


def test_a_service_account_has_rights_on_configured_kinds_and_no_others(
    clusters: Clusters,
) -> None:
    clusters.join(useServiceAccount=True)
    clusters.after(2.0)
    role = clusters.in_member(CLUSTER_ROLE, "", ROLE)
    assert role is not None
    rights = [(rule.get("resources"), rule["verbs"]) for rule in role["rules"]]
    assert "*" not in msgspec.json.encode([each for each, _ in rights if each]).decode()
    written = [each for each, verbs in rights if "create" in verbs]
    assert written == [["deployments"]]


def test_the_token_of_the_service_account_is_kept_in_the_secret(clusters: Clusters) -> None:
    clusters.join(useServiceAccount=True)
    clusters.after(2.0)
    record = clusters.host.get(SECRET, SPACE, "east-secret")
    assert record is not None
    assert "service-account-token-data" in msgspec.json.decode(render(record))["data"]


def test_a_kind_that_is_configured_later_extends_the_rights(clusters: Clusters) -> None:
    clusters.join(useServiceAccount=True)
    clusters.after(2.0)
    source = {"version": "v1", "kind": "Secret", "pluralName": "secrets", "scope": "Namespaced"}
    clusters.create(FEDERATED_TYPE_CONFIG.kind, "secrets", spec={"sourceType": source})
    clusters.fleet.settle()
    role = clusters.in_member(CLUSTER_ROLE, "", ROLE)
    assert role is not None
    assert ["secrets"] in [rule.get("resources") for rule in role["rules"]]


def test_a_missing_secret_is_named_and_joining_goes_on_once_it_exists(clusters: Clusters) -> None:
    clusters.cluster()
    clusters.fleet.settle()
    status, reason, message = clusters.condition("Joined")
    assert (status, reason) == ("False", "TokenNotObtained")
    assert "kube-admiral-system/east-secret" in message
    assert "create it" in message
    clusters.secret(bootstrap_token_data="t")
    clusters.fleet.settle()
    assert clusters.condition("Joined")[0] == "True"


def test_a_secret_without_credentials_is_refused_with_the_keys_it_needs(
    clusters: Clusters,
) -> None:
    clusters.secret()
    clusters.cluster()
    clusters.fleet.settle()
    assert "client-certificate-data" in clusters.condition("Joined")[2]


def test_a_member_of_another_cluster_object_is_unjoinable(clusters: Clusters) -> None:
    clusters.join()
    clusters.cluster("twin")
    clusters.fleet.settle()
    assert clusters.condition("Joined", "twin")[:2] == ("False", "ClusterUnjoinable")


def test_joining_is_given_up_after_its_timeout(clusters: Clusters) -> None:
    clusters.secret(bootstrap_token_data="t")
    clusters.cluster(apiEndpoint="https://nowhere")
    clusters.after(100.0)
    status, reason, message = clusters.condition("Joined")
    assert (status, reason) == ("False", "JoinTimeoutExceeded")
    assert "create it again" in message


def test_a_short_silence_of_a_member_changes_nothing(clusters: Clusters) -> None:
    clusters.join()
    clusters.member.served.set_availability(ServerAvailability.SILENT)
    clusters.after(35.0)
    assert clusters.condition("Ready")[0] == "True"


def test_a_long_silence_makes_a_cluster_offline_until_it_answers_for_long(
    clusters: Clusters,
) -> None:
    clusters.join()
    clusters.member.served.set_availability(ServerAvailability.SILENT)
    clusters.after(45.0)
    assert clusters.condition("Offline")[:2] == ("True", "ClusterNotReachable")
    assert clusters.condition("Ready")[0] == "Unknown"
    clusters.member.served.set_availability(ServerAvailability.ANSWERS)
    clusters.after(45.0)
    assert clusters.condition("Ready")[0] == "True"


def test_a_member_that_answers_429_is_not_ready_but_not_offline(clusters: Clusters) -> None:
    clusters.join()
    clusters.member.served.set_availability(ServerAvailability.BUSY)
    clusters.after(45.0)
    assert clusters.condition("Ready")[:2] == ("False", "HealthzNotOk")
    assert clusters.condition("Offline")[0] == "False"


def test_expired_credentials_are_named_with_what_to_do(clusters: Clusters) -> None:
    clusters.join()
    clusters.member.served.set_availability(ServerAvailability.REFUSES)
    clusters.after(45.0)
    status, reason, message = clusters.condition("Ready")
    assert (status, reason) == ("False", "CredentialsRefused")
    assert "renew those in the secret" in message


def test_a_malformed_kind_does_not_stop_the_others(clusters: Clusters) -> None:
    clusters.create(FEDERATED_TYPE_CONFIG.kind, "broken", spec={"sourceType": "Deployment"})
    clusters.join()
    clusters.deploy()
    assert clusters.in_member(DEPLOYMENT, "team", "web") is not None


def test_a_silent_member_does_not_delay_the_others(clusters: Clusters) -> None:
    clusters.join()
    west = clusters.fleet.add_member("west", [make_node("west-0", cpu=8)])
    clusters.create(FEDERATED_CLUSTER.kind, "west", spec={"apiEndpoint": "https://west"})
    clusters.fleet.settle()
    clusters.member.served.set_availability(ServerAvailability.SILENT)
    clusters.after(15.0)
    clusters.deploy()
    assert west.store.get(DEPLOYMENT, "team", "web") is not None
    record = clusters.host.get(FEDERATED_OBJECT.kind, "team", "web-deployments.apps")
    assert record is not None
    states = msgspec.json.decode(render(record))["status"]["clusters"]
    assert states == [
        {"cluster": "east", "status": "ClusterNotReady"},
        {"cluster": "west", "status": "OK"},
    ]


def propagated(clusters: Clusters, name: str) -> Fields:
    record = clusters.host.get(FEDERATED_OBJECT.kind, "team", name)
    assert record is not None
    found = msgspec.json.decode(render(record))["status"]["conditions"]
    return next(each for each in found if each["type"] == "Propagated")


def test_a_kind_that_a_member_does_not_serve_is_named(clusters: Clusters) -> None:
    source = {"group": "x.example", "version": "v1", "kind": "Gear", "pluralName": "gears"}
    config = {"sourceType": {**source, "scope": "Namespaced"}}
    clusters.create(FEDERATED_TYPE_CONFIG.kind, "gears.x.example", spec=config)
    clusters.join()
    gear = Kind("x.example", "v1", "Gear", "gears")
    clusters.create(gear, "one", metadata={"namespace": "team"})
    clusters.fleet.settle()
    name = "one-gears.x.example"
    placed = [{"controller": "example/other", "placement": [{"cluster": "east"}]}]
    change = {"spec": {"placements": placed}}
    clusters.host.patch(FEDERATED_OBJECT.kind, [Patch("team", name, change)])
    clusters.fleet.settle()
    message = propagated(clusters, name)["message"]
    assert "does not serve gears.x.example" in message
    assert "serve Gear in that cluster" in message


def test_a_member_refuses_a_field_of_a_wrong_type(clusters: Clusters) -> None:
    clusters.join()
    clusters.deploy()
    patches = [{"op": "replace", "path": "/spec/replicas", "value": "many"}]
    entry = {"controller": "example/other", "clusters": [{"cluster": "east", "patches": patches}]}
    change = {"spec": {"overrides": [entry]}}
    clusters.host.patch(FEDERATED_OBJECT.kind, [Patch("team", "web-deployments.apps", change)])
    clusters.fleet.settle()
    found = clusters.in_member(DEPLOYMENT, "team", "web")
    assert found is not None
    assert found["spec"]["replicas"] == 2
    assert "spec.replicas" in propagated(clusters, "web-deployments.apps")["message"]


def test_a_cluster_that_leaves_keeps_its_objects(clusters: Clusters) -> None:
    clusters.join()
    clusters.deploy()
    clusters.leave()
    assert clusters.shown() == {}
    assert clusters.in_member(NAMESPACE, "", SPACE) is None
    assert clusters.in_member(DEPLOYMENT, "team", "web") is not None


def test_a_cluster_that_is_deleted_while_nothing_runs_leaves_nothing_in_its_member(
    clusters: Clusters,
) -> None:
    clusters.join()
    clusters.fleet.stop()
    clusters.host.delete(FEDERATED_CLUSTER.kind, [Deletion("", "east")])
    clusters.fleet.start()
    clusters.fleet.settle()
    assert clusters.shown() == {}
    assert clusters.in_member(NAMESPACE, "", SPACE) is None


def test_a_cluster_that_leaves_with_cascading_deletion_loses_its_objects(
    clusters: Clusters,
) -> None:
    clusters.join()
    clusters.deploy()
    change = {"metadata": {"annotations": {names.CASCADE: "true"}}}
    clusters.host.patch(FEDERATED_CLUSTER.kind, [Patch("", "east", change)])
    clusters.leave()
    clusters.after(15.0)
    assert clusters.shown() == {}
    assert clusters.in_member(DEPLOYMENT, "team", "web") is None


def test_a_silent_member_blocks_leaving_until_the_timeout(clusters: Clusters) -> None:
    clusters.join()
    clusters.member.served.set_availability(ServerAvailability.SILENT)
    clusters.leave()
    assert clusters.condition("Joined")[1] == "ClusterLeaving"
    assert "60" in clusters.condition("Joined")[2]
    clusters.after(130.0)
    assert clusters.shown() == {}


def test_a_cascading_deletion_that_fails_is_one_event_that_counts(clusters: Clusters) -> None:
    clusters.join()
    clusters.deploy()
    change = {"metadata": {"annotations": {names.CASCADE: "true"}}}
    clusters.host.patch(FEDERATED_CLUSTER.kind, [Patch("", "east", change)])
    clusters.fleet.settle()
    clusters.member.served.set_availability(ServerAvailability.SILENT)
    clusters.leave()
    clusters.after(40.0)
    (event,) = [StoredObject(each).fields for each in clusters.host.list(EVENT).records]
    assert (event["reason"], event["type"]) == ("CascadingDeletionFailed", "Warning")
    assert event["involvedObject"]["name"] == "east"
    assert event["count"] > 1


def test_what_a_cluster_kept_when_it_left_stays_when_it_joins_again(clusters: Clusters) -> None:
    clusters.join()
    clusters.deploy()
    clusters.leave()
    clusters.after(5.0)
    change = {"metadata": {"labels": {names.POLICY: None}}}
    clusters.host.patch(DEPLOYMENT, [Patch("team", "web", change)])
    clusters.cluster()
    clusters.after(5.0)
    assert clusters.condition("Joined")[0] == "True"
    assert clusters.in_member(DEPLOYMENT, "team", "web") is not None


def test_a_new_secret_renews_the_connection(clusters: Clusters) -> None:
    clusters.join()
    before = clusters.fleet.federation.fleet.member("east")
    data = {"bootstrap-token-data": base64.b64encode(b"other").decode()}
    clusters.host.patch(SECRET, [Patch(SPACE, "east-secret", {"data": data})])
    clusters.fleet.settle()
    after = clusters.fleet.federation.fleet.member("east")
    assert after is not None
    assert after is not before


def test_controllers_that_start_again_write_nothing(clusters: Clusters) -> None:
    clusters.join()
    clusters.deploy()
    clusters.after(20.0)
    before = clusters.fleet.host.version
    clusters.fleet.start()
    clusters.fleet.settle()
    assert clusters.fleet.host.version == before


def test_bootstrap_credentials_may_go_once_a_service_account_is_there(clusters: Clusters) -> None:
    clusters.join(useServiceAccount=True)
    clusters.after(2.0)
    data = {"bootstrap-token-data": None}
    clusters.host.patch(SECRET, [Patch(SPACE, "east-secret", {"data": data})])
    clusters.fleet.start()
    clusters.after(20.0)
    assert clusters.condition("Ready")[:2] == ("True", "ClusterReady")


def test_a_new_host_gets_its_namespace_and_kinds_once() -> None:
    host = MemoryStore(ManualClock(START), Rng(1))
    made = bootstrap(host)
    assert made[0] == "Namespace kube-admiral-system"
    assert "FederatedTypeConfig deployments.apps" in made
    assert bootstrap(host) == []
    host.delete(FEDERATED_TYPE_CONFIG.kind, [Deletion("", "configmaps")])
    assert bootstrap(host) == []
