"""The table of kinds: look-ups, facts, and kinds that are registered at run time."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from stretto.api import codec
from stretto.api.edit.manifests import load_manifests
from stretto.api.kinds import table
from stretto.api.kinds.crds import entry_of_crd
from stretto.api.kinds.entry import KindEntry, ManifestUse
from stretto.api.kinds.registry import KindTable, guessed_plural
from stretto.api.kinds.table import all_kinds, entry_of, kind_named, kind_of, typed_kinds, word_of
from stretto.api.types.raw import RawObject
from stretto.api.validation import validate
from stretto.api.wire import kinds
from stretto.api.wire.kinds import Kind
from stretto.base.clock import ManualClock
from stretto.base.errors import InputError, UnknownNameError
from stretto.base.rng import Rng
from stretto.inputs.objects.admission import ADMISSION_KINDS
from stretto.inputs.objects.reading import read_manifests
from stretto.inputs.objects.recordings import (
    FORMAT,
    RecordingHeader,
    RecordingWriter,
    load_recording,
)
from stretto.sim.history.recording import RecordingSession, recorded_words
from stretto.state.ingest.by_kind import APPLY
from stretto.state.ingest.whole_objects import CURES
from stretto.stores.embedded.memory import MemoryStore
from stretto.stores.embedded.sqlite import SqliteStore, read_store
from stretto.stores.store import EventType, Patch, WriteOutcome

CRDS = Path(__file__).resolve().parents[3] / "deploy" / "crds"
DEFINITION: dict[str, Any] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "policies.example.org"},
    "spec": {
        "group": "example.org",
        "scope": "Namespaced",
        "names": {
            "kind": "Policy",
            "plural": "policies",
            "singular": "policy",
            "shortNames": ["pol"],
            "categories": ["all"],
        },
        "versions": [
            {"name": "v1alpha1", "served": True, "storage": False},
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {"status": {}, "scale": {}},
                "additionalPrinterColumns": [
                    {"name": "Mode", "type": "string", "jsonPath": ".spec.mode", "priority": 1}
                ],
            },
        ],
    },
}
POLICY = {
    "apiVersion": "example.org/v1",
    "kind": "Policy",
    "metadata": {"name": "web", "namespace": "default"},
    "spec": {"mode": "spread"},
}


@pytest.fixture
def policy() -> Iterator[Kind]:
    kind = table.register_crd(DEFINITION, recorded=True)
    yield kind
    table.unregister(kind)


def new_store() -> MemoryStore:
    return MemoryStore(ManualClock(), Rng(1))


# ---------------------------------------------------------------- look-ups


def test_a_kind_is_found_by_what_a_manifest_writes() -> None:
    assert kind_of("v1", "Pod") is kinds.POD
    assert kind_of("scheduling.godel.kubewharf.io/v1alpha1", "PodGroup") is kinds.POD_GROUP


@pytest.mark.parametrize("name", ["pod", "Pod", "PODS", "po"])
def test_a_kind_is_found_by_what_a_user_calls_it(name: str) -> None:
    assert kind_named(name) is kinds.POD


def test_a_kind_is_found_by_its_plural_and_group() -> None:
    assert kind_named("deployments.apps") is kinds.DEPLOYMENT
    assert kind_named("podgroups.scheduling.k8s.io") is kinds.WORKLOAD_POD_GROUP


def test_every_kind_comes_back_from_its_own_names() -> None:
    for kind in typed_kinds():
        assert kind_of(kind.api_version, kind.kind) is kind
        assert kind_named(kind.resource) is kind
    for kind in all_kinds():
        assert kind_of(kind.api_version, kind.kind) is kind
        found = table.kind_with_word(word_of(kind))
        assert found is not None
        assert (found.group, found.kind) == (kind.group, kind.kind)


def test_a_bare_name_belongs_to_one_kind() -> None:
    assert kind_named("podgroup") is kinds.POD_GROUP
    assert kind_named("ev") is kinds.EVENT
    assert word_of(kinds.POD_GROUP) == "PodGroup"
    assert word_of(kinds.WORKLOAD_POD_GROUP) == "PodGroup.scheduling.k8s.io"


def test_the_newer_version_of_a_kind_has_its_names() -> None:
    assert kind_named("hpa").version == "v2"
    assert kind_of("autoscaling/v1", "HorizontalPodAutoscaler").version == "v1"


def test_the_api_version_of_the_core_has_no_group() -> None:
    assert kinds.POD.api_version == "v1"
    assert kinds.QUEUE.api_version == "scheduling.stretto.dev/v1alpha1"


def test_a_misspelt_kind_names_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="v1 Pod"):
        kind_of("v1", "Podd")


def test_a_known_kind_in_a_wrong_version_names_the_right_one() -> None:
    with pytest.raises(UnknownNameError, match="apps/v1 Deployment"):
        kind_of("extensions/v1beta1", "Deployment")


def test_a_name_no_kind_has_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="nodes"):
        kind_named("node5")


def test_a_lenient_lookup_makes_a_generic_kind() -> None:
    kind = kind_of("example.org/v1", "NetworkPolicy", lenient=True)
    assert (kind.resource, kind.namespaced) == ("networkpolicies.example.org", True)
    assert word_of(kind) == "NetworkPolicy.example.org"
    assert kind_of("v1", "Pod", lenient=True) is kinds.POD
    assert entry_of(kind).struct is None


@pytest.mark.parametrize(
    ("kind", "plural"),
    [
        ("Pod", "pods"),
        ("NetworkPolicy", "networkpolicies"),
        ("Ingress", "ingresses"),
        ("Gateway", "gateways"),
        ("Endpoints", "endpoints"),
        ("Patch", "patches"),
    ],
)
def test_a_plural_is_guessed(kind: str, plural: str) -> None:
    assert guessed_plural(kind) == plural


# ---------------------------------------------------------------- facts


def test_every_watched_kind_has_a_function_that_applies_its_events() -> None:
    assert set(APPLY) == set(table.watched_kinds())


def test_every_kind_that_rules_read_has_a_cure() -> None:
    assert set(CURES) == set(table.TABLE.where(lambda entry: entry.referenced))


def test_a_recording_holds_only_what_is_listed_and_keeps_some_of_it() -> None:
    recorded = set(table.recorded_kinds())
    assert recorded <= set(table.examined_kinds())
    assert all(entry_of(kind).kept for kind in recorded)
    assert kinds.CONFIG_MAP not in recorded
    assert kind_of("v1", "Secret") not in recorded


def test_kinds_come_after_those_that_they_need() -> None:
    order = table.recorded_kinds()
    assert order.index(kinds.NODE) < order.index(kinds.POD) == len(order) - 1
    seen = table.examined_kinds()
    assert seen[0] is kinds.POD
    assert all(seen.index(kind) < seen.index(kinds.NODE) for kind in (kinds.POD, kinds.POD_GROUP))


def test_a_plan_lists_every_kind_that_admission_reads() -> None:
    listed, rights = set(table.examined_kinds()), ("list", "watch")
    for kind in ADMISSION_KINDS:
        grants = {each.role: each.verbs for each in entry_of(kind).all_grants()}
        assert (kind in listed, grants["reader"]) == (True, rights), kind


def test_every_kind_without_a_struct_is_left_out_of_inputs() -> None:
    raw = [entry for entry in table.TABLE.entries() if entry.struct is None]
    assert raw
    assert all(entry.manifests is not ManifestUse.TAKEN for entry in raw)


@pytest.mark.parametrize("file", sorted(CRDS.glob("*.yaml")), ids=lambda file: file.stem)
def test_an_entry_equals_its_definition(file: Path) -> None:
    stated = entry_of_crd(yaml.safe_load(file.read_text(encoding="utf-8")))
    kind = kind_of(stated.kind.api_version, stated.kind.kind)
    known = entry_of(kind)
    assert (kind.plural, kind.namespaced) == (stated.kind.plural, stated.kind.namespaced)
    for fact in ("singular", "short_names", "categories", "subresources", "columns"):
        assert getattr(known, fact) == getattr(stated, fact), fact


# ---------------------------------------------------------------- kinds at run time


def test_a_definition_becomes_a_kind(policy: Kind) -> None:
    entry = entry_of(policy)
    assert kind_of("example.org/v1", "Policy") is policy
    assert {kind_named(name) for name in ("policy", "policies", "pol")} == {policy}
    assert entry.subresources == ("scale", "status")
    assert (entry.columns[0].path, entry.columns[0].priority) == (".spec.mode", 1)
    assert entry.categories == ("all",)


def test_a_definition_without_a_storage_version_is_refused() -> None:
    spec = {**DEFINITION["spec"], "versions": []}
    with pytest.raises(InputError, match="storage: true"):
        table.register_crd({**DEFINITION, "spec": spec})
    with pytest.raises(InputError, match="CustomResourceDefinition"):
        table.register_crd({"spec": {"group": "example.org"}})


def test_a_definition_of_stretto_changes_nothing() -> None:
    text = (CRDS / "queues.yaml").read_text(encoding="utf-8")
    before = entry_of(kinds.QUEUE)
    assert table.register_crd(yaml.safe_load(text)) is kinds.QUEUE
    assert entry_of(kinds.QUEUE) is before


def test_a_name_that_another_kind_has_is_refused() -> None:
    own = KindTable([KindEntry(kind=kinds.POD)])
    with pytest.raises(InputError, match="qualified=True"):
        own.register(KindEntry(kind=Kind("example.org", "v1", "Pod", "pods")))
    with pytest.raises(InputError, match="unregister"):
        own.register(KindEntry(kind=Kind("", "v1", "Pod", "podz")))
    other = Kind("example.org", "v1", "Pod", "pods")
    own.register(KindEntry(kind=other, qualified=True))
    assert own.named("pods") is kinds.POD
    assert own.named("pods.example.org") is other
    own.unregister(other)
    assert other not in own


def test_objects_without_a_struct_stay_raw(policy: Kind) -> None:
    body = msgspec.json.encode(POLICY)
    read = codec.decode(policy, body)
    assert isinstance(read, RawObject)
    assert (read.metadata.name, codec.encode(read)) == ("web", body)
    assert codec.kind_of_struct(read) is policy
    validate(read)
    with pytest.raises(InputError, match=r"policy Web: metadata\.name"):
        validate(codec.decode(policy, b'{"metadata":{"name":"Web"}}'))
    with pytest.raises(InputError, match=r"policy: metadata\.name"):
        codec.decode(policy, b'{"metadata":{"name":1}}')


def test_a_store_holds_objects_of_a_new_kind(policy: Kind) -> None:
    store = new_store()
    watch = store.watch(policy, store.version)
    (reply,) = store.create(policy, [msgspec.json.encode(POLICY)])
    assert reply.outcome is WriteOutcome.OK
    patch = Patch("default", "web", {"status": {"phase": "Ready"}})
    (reply,) = store.patch_status(policy, [patch])
    assert reply.outcome is WriteOutcome.OK
    (record,) = store.list(policy).records
    assert msgspec.json.decode(record.body)["status"] == {"phase": "Ready"}
    assert [event.type for event in watch.poll()] == [EventType.ADDED, EventType.MODIFIED]


def test_a_manifest_holds_objects_of_a_new_kind(policy: Kind, tmp_path: Path) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text(yaml.safe_dump(POLICY), encoding="utf-8")
    (found,) = read_manifests(path)
    assert (found.kind, found.key) == (policy, ("Policy", "default", "web"))
    listed = {"apiVersion": "example.org/v1", "kind": "PolicyList", "items": [POLICY]}
    assert [each.kind for each in load_manifests(yaml.safe_dump(listed), "x")] == [policy]


def test_a_manifest_of_an_unknown_kind_is_refused_or_raw() -> None:
    text = yaml.safe_dump(POLICY)
    with pytest.raises(InputError, match="a known kind"):
        load_manifests(text, "x")
    (found,) = load_manifests(text, "x", any_kind=True)
    assert found.kind == kind_of("example.org/v1", "Policy", lenient=True)
    listed = {"apiVersion": "example.org/v1", "kind": "PolicyList", "items": [POLICY]}
    assert len(load_manifests(yaml.safe_dump(listed), "x", any_kind=True)) == 1


def test_a_raw_kind_of_kubernetes_is_refused_in_inputs_and_loaded_as_any_kind() -> None:
    text = "apiVersion: v1\nkind: ComponentStatus\nmetadata: {name: q}\n"
    with pytest.raises(InputError, match="a known kind"):
        load_manifests(text, "x")
    (found,) = load_manifests(text, "x", any_kind=True)
    assert found.kind.plural == "componentstatuses"


def test_a_recording_holds_objects_of_a_new_kind(policy: Kind, tmp_path: Path) -> None:
    store, clock, path = new_store(), ManualClock(), tmp_path / "one.jsonl"
    store.create(policy, [msgspec.json.encode(POLICY)])
    header = RecordingHeader(FORMAT, "", recorded_words())
    session = RecordingSession(store, RecordingWriter(path, header), clock)
    second = {**POLICY, "metadata": {"name": "db", "namespace": "default"}}
    store.create(policy, [msgspec.json.encode(second)])
    clock.advance(1.0)
    session.run(0.0, lambda *_: None)
    found = load_recording(path)
    assert [(each.kind, each.name) for each in (*found.start, *found.changes)] == [
        (policy, "web"),
        (policy, "db"),
    ]
    assert found.start[0].body["spec"] == POLICY["spec"]
    table.unregister(policy)
    assert load_recording(path).start[0].kind == policy


def test_a_durable_store_gives_objects_of_a_new_kind_back(policy: Kind, tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with closing(SqliteStore(path, ManualClock(), Rng(1))) as store:
        store.create(policy, [msgspec.json.encode(POLICY)])
        store.create(kinds.WORKLOAD_POD_GROUP, [b'{"metadata":{"name":"g","namespace":"default"}}'])
    assert {record.kind for record in read_store(path)} == {policy, kinds.WORKLOAD_POD_GROUP}
