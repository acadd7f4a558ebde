"""Scenarios that share real servers: what belongs to each, its webhooks, and shared lists."""

import base64
import ssl
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from stretto.api.kinds.federation import FEDERATED_CLUSTER
from stretto.api.wire.kinds import CONFIG_MAP, NAMESPACE
from stretto.base.clock import ManualClock
from stretto.base.rng import Rng
from stretto.stores.embedded.memory import MemoryStore
from stretto.stores.store import Patch
from stretto.stores.webhooks import WebhookCall
from stretto_lab.conformance.wire.cases import compare
from stretto_lab.conformance.wire.outcome import outcome
from stretto_lab.conformance.wire.real.capacity import knows_capacities
from stretto_lab.conformance.wire.real.cases import _ended
from stretto_lab.conformance.wire.real.credentials import RecordedSecrets, address_of
from stretto_lab.conformance.wire.real.replay import SteadyState, serves_as_requested
from stretto_lab.conformance.wire.real.stores import RecentLists
from stretto_lab.conformance.wire.scenario import (
    NoteAction,
    RecordedCall,
    RecordedCluster,
    RecordedNote,
    UserStep,
    WireScenario,
)
from stretto_lab.conformance.wire.scope import EVERYTHING, scope_of
from stretto_lab.conformance.wire.shared import busy_pods
from stretto_lab.conformance.wire.webhooks import ScenarioWebhooks
from stretto_lab.control_plane.credentials import Credentials
from stretto_lab.control_plane.stages import stages
from tests.support.federation_world import FederationWorld


def step(path: str, name: str = "") -> UserStep:
    return UserStep(1.0, "host", "POST", path, body={"metadata": {"name": name}})


KINDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
CLUSTERS = "/apis/core.kubeadmiral.io/v1alpha1/federatedclusters"


@pytest.mark.parametrize(
    ("steps", "changes"),
    [
        ((UserStep(1.0, "host", "PATCH", f"{CLUSTERS}/one"),), False),
        ((UserStep(1.0, "host", "DELETE", f"{CLUSTERS}/one"),), True),
        ((RecordedNote(1.0, "one: the API server is stopped"),), True),
    ],
)
def test_a_scenario_that_changes_servers_needs_its_own(
    steps: tuple[UserStep | RecordedNote, ...], changes: bool
) -> None:
    found = WireScenario("one", "cluster", (RecordedCluster("one"),), steps)
    assert found.changes_servers == changes


def test_a_scenario_shows_what_its_user_has_created() -> None:
    steps = (
        step("/api/v1/namespaces", "own"),
        step("/api/v1/namespaces/used/configmaps", "conf"),
        step("/apis/rbac.authorization.k8s.io/v1/clusterroles", "reader"),
    )
    scope = scope_of(WireScenario("one", "scheduling", (), steps))
    shown = [("", "own"), ("used", "conf"), ("", "reader"), ("", "other"), ("other", "conf")]
    assert [scope.shows(*each) for each in shown] == [True, True, True, False, False]
    assert EVERYTHING.shows("other", "conf")


def test_an_outcome_leaves_out_the_objects_of_other_scenarios() -> None:
    host = MemoryStore(ManualClock(0.0), Rng(0))
    for name in ("own", "other"):
        host.create(NAMESPACE, [msgspec.json.encode({"metadata": {"name": name}})])
    steps = (step("/api/v1/namespaces", "own"),)
    found = outcome(host, {}, set(), scope_of(WireScenario("one", "scheduling", (), steps)))
    assert found == {"federated": {}, "members": {}, "source": {}}


def test_a_list_is_shared_until_it_is_old() -> None:
    clock = ManualClock(0.0)
    store = MemoryStore(clock, Rng(0))
    lists = RecentLists(store, clock, age=1.0)
    assert not lists.list(CONFIG_MAP).records
    store.create(CONFIG_MAP, [b'{"metadata":{"name":"conf","namespace":"own"}}'])
    assert not lists.list(CONFIG_MAP).records
    clock.advance(1.5)
    assert len(lists.list(CONFIG_MAP).records) == 1


def test_a_webhook_server_has_its_name_as_address() -> None:
    planes: Any = {"alpha": SimpleNamespace(server="https://127.0.0.1:6443")}
    found = [address_of(planes, each) for each in ("alpha", "webhook")]
    assert found == ["127.0.0.1:6443", "webhook"]


def test_a_state_is_steady_since_its_last_change() -> None:
    steady = SteadyState()
    states = [(0.0, {"a": 1}), (5.0, {"a": 1}), (6.0, {"a": 2}), (10.0, {"a": 2})]
    assert [steady.since(state, now) for now, state in states] == [0.0, 5.0, 0.0, 4.0]


def request(namespace: str) -> dict[str, object]:
    return {"schedulingUnit": {"kind": "Deployment", "namespace": namespace, "name": "web"}}


def test_each_scenario_has_the_answers_of_its_own_webhook() -> None:
    webhooks = ScenarioWebhooks(ManualClock(0.0))
    for name in ("one", "two"):
        webhooks.add([RecordedCall(1.0, "/filter", request(name), 200, {"from": name})], 0.0)
    calls = [
        WebhookCall("https://hook/filter", msgspec.json.encode(request(name)), 5.0)
        for name in ("two", "three")
    ]
    two, three = webhooks.send(calls)
    assert (two.body, "no recorded call" in three.problem) == (b'{"from":"two"}', True)


def test_pods_that_hang_never_get_ready() -> None:
    read = [msgspec.json.decode(each) for each in stages().split(b"\n---\n")]
    named = {each["metadata"]["name"]: each["spec"] for each in read}
    keys = {
        name: [x["key"] for x in named[name]["selector"]["matchExpressions"]]
        for name in ("pod-running", "pod-unready", "pod-failed", "pod-done")
    }
    assert all(".metadata.labels.sim" in each for each in keys.values())
    status = named["pod-unready"]["next"]["statusTemplate"]
    assert 'type: Ready, status: "False"' in status
    assert "ready: false" in status


def test_a_scenario_that_ends_early_disagrees_with_its_next_outcome() -> None:
    common: dict[str, object] = {"typeConfigs": []}
    case = _ended(WireScenario("one", "scheduling", (), ()), 2, common, "the server refuses it")
    found, rules = compare(case)
    assert ([each.id for each in found], rules) == (["one-2"], set())
    assert "the server refuses it" in str(found[0].got)


@pytest.mark.parametrize(("free", "known"), [("2", True), ("2000m", True), ("8", False)])
def test_a_scenario_that_ran_alone_begins_with_the_recorded_free_capacity(
    free: str, known: bool
) -> None:
    world = FederationWorld()
    status = {"status": {"resources": {"allocatable": {"cpu": "8"}, "available": {"cpu": free}}}}
    world.host.patch_status(FEDERATED_CLUSTER.kind, [Patch("", "alpha", status)])
    fleet = world.fleet.federation.fleet
    fleet.host.poll(0.0)
    recorded = RecordedCluster("alpha", resources={"available": {"cpu": "2"}})
    assert knows_capacities(fleet, [recorded]) == known


def test_pods_with_gpus_have_limits_as_api_servers_require() -> None:
    free = {"nvidia.com/gpu": "6"}
    (pod,) = busy_pods({"allocatable": {"nvidia.com/gpu": "8"}, "available": free})
    resources = pod["spec"]["containers"][0]["resources"]
    assert resources == {"requests": {"nvidia.com/gpu": "2"}, "limits": {"nvidia.com/gpu": "2"}}


@pytest.mark.parametrize(
    ("text", "server", "action"),
    [
        ("controller manager started again", "", NoteAction.START),
        ("controller manager stopped", "", NoteAction.STOP),
        ("one: the API server is stopped (SIGSTOP)", "one", NoteAction.SILENCE),
        ("one: the API server goes on", "one", NoteAction.RESUME),
        ("one: a remark", "one", None),
    ],
)
def test_a_note_names_a_server_and_an_action(
    text: str, server: str, action: NoteAction | None
) -> None:
    note = RecordedNote(1.0, text)
    assert (note.server, note.action) == (server, action)


@pytest.mark.parametrize(
    ("method", "path", "served", "known"),
    [
        ("POST", KINDS, "widgets", True),
        ("POST", KINDS, "gadgets", False),
        ("DELETE", f"{KINDS}/widgets.demo.example", "widgets", False),
        ("DELETE", f"{KINDS}/widgets.demo.example", "gadgets", True),
        ("POST", "/api/v1/namespaces", "gadgets", True),
    ],
)
def test_a_changed_kind_is_known_once_the_host_has_found_it(
    method: str, path: str, served: str, known: bool
) -> None:
    body = {"metadata": {"name": "widgets.demo.example"}} if method == "POST" else None
    status = {
        "apiResourceTypes": [
            {"pluralName": "pods"},
            {"group": "demo.example", "pluralName": served},
        ]
    }
    assert serves_as_requested(UserStep(1.0, "one", method, path, 200, body), status) == known


def test_lists_of_a_silenced_server_stay_as_they_were() -> None:
    store = MemoryStore(ManualClock(0.0), Rng(0))
    lists = RecentLists(store, ManualClock(0.0), age=-1.0)
    lists.list(CONFIG_MAP)
    store.create(CONFIG_MAP, [b'{"metadata":{"name":"conf","namespace":"own"}}'])
    lists.freeze()
    store.create(CONFIG_MAP, [b'{"metadata":{"name":"late","namespace":"own"}}'])
    assert [each.name for each in lists.list(CONFIG_MAP).records] == ["conf"]
    lists.thaw()
    assert len(lists.list(CONFIG_MAP).records) == 2


UNKNOWN_AUTHORITY = "x509: certificate signed by unknown authority"


@pytest.mark.parametrize(
    ("fault", "key", "is_own"),
    [
        ("", "certificate-authority-data", True),
        ("", "bootstrap-token-data", True),
        (UNKNOWN_AUTHORITY, "certificate-authority-data", False),
        ("Unauthorized", "certificate-authority-data", True),
        ("Unauthorized", "bootstrap-token-data", False),
    ],
)
def test_a_cluster_joins_with_the_credentials_of_its_member_unless_they_were_refused(
    fault: str, key: str, is_own: bool, tmp_path: Path
) -> None:
    member = Credentials(tmp_path)
    own = {
        "certificate-authority-data": member.ca.cert.read_bytes(),
        "bootstrap-token-data": member.tokens["admin"].encode(),
    }
    secrets = RecordedSecrets(joining("two", fault), {"one": SimpleNamespace(credentials=member)})
    value = secrets.of({"kind": "Secret", "metadata": {"name": "two-secret"}})(key)
    assert (base64.b64decode(value) == own[key]) == is_own


def test_the_key_of_a_secret_belongs_to_its_client_certificate(tmp_path: Path) -> None:
    member = SimpleNamespace(credentials=Credentials(tmp_path))
    secrets = RecordedSecrets(joining("two", ""), {"one": member})
    value = secrets.of({"kind": "Secret", "metadata": {"name": "two-secret"}})
    for name in ("client-certificate-data", "client-key-data"):
        (tmp_path / name).write_bytes(base64.b64decode(value(name)))
    trust = ssl.create_default_context()
    trust.load_cert_chain(tmp_path / "client-certificate-data", tmp_path / "client-key-data")


def test_a_refused_client_certificate_is_one_of_another_authority(tmp_path: Path) -> None:
    member = SimpleNamespace(credentials=Credentials(tmp_path))
    secrets = RecordedSecrets(joining("two", "Unauthorized"), {"one": member})
    value = secrets.of({"kind": "Secret", "metadata": {"name": "two-secret"}})
    assert base64.b64decode(value("client-certificate-data")).startswith(b"-----BEGIN CERT")
    assert (tmp_path / "foreign-client.crt").exists()


def joining(cluster: str, fault: str) -> WireScenario:
    """A scenario in which a cluster joins whose member is ``one``."""
    spec = {"apiEndpoint": "https://<endpoint:one>", "secretRef": {"name": f"{cluster}-secret"}}
    body = {"kind": "FederatedCluster", "metadata": {"name": cluster}, "spec": spec}
    steps = (UserStep(1.0, "host", "POST", CLUSTERS, 201, body),)
    return WireScenario("one", "cluster", (), steps, faults={cluster: fault} if fault else {})
