"""Manifests: many objects in one text."""

import msgspec
import pytest

from stretto.api.edit.manifests import load_manifests
from stretto.api.edit.skipped import SkippedObjects
from stretto.base.errors import InputError

POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n"
QUEUE = "apiVersion: scheduling.stretto.dev/v1alpha1\nkind: Queue\nmetadata: {name: q}\n"


def names(text: str | bytes) -> list[tuple[str, str]]:
    return [
        (kind.kind, msgspec.json.decode(body)["metadata"]["name"])
        for kind, body in load_manifests(text, "f.yaml")
    ]


def test_every_document_is_an_object() -> None:
    assert names(f"{POD}---\n{QUEUE}---\n") == [("Pod", "a"), ("Queue", "q")]


def test_an_empty_text_holds_no_object() -> None:
    assert names("") == names("---\n---\n# nothing\n") == []


def test_json_is_read_too() -> None:
    assert names(b' {"apiVersion":"v1","kind":"Node","metadata":{"name":"n"}}') == [("Node", "n")]


def test_yaml_that_begins_like_json_is_yaml() -> None:
    assert names("{apiVersion: v1, kind: Node, metadata: {name: n1}}") == [("Node", "n1")]


def test_a_list_is_unfolded() -> None:
    items = '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"}}'
    assert names(f'{{"apiVersion":"v1","kind":"List","items":[{items},{items}]}}') == [
        ("Pod", "a"),
        ("Pod", "a"),
    ]


def test_the_items_of_a_typed_list_need_no_kind() -> None:
    text = "apiVersion: v1\nkind: NodeList\nitems:\n- metadata: {name: n1}\n- metadata: {name: n2}"
    assert names(text) == [("Node", "n1"), ("Node", "n2")]
    assert b'"kind":"Node"' in load_manifests(text, "f.yaml")[0].body


def test_a_list_without_items_is_empty() -> None:
    assert names("apiVersion: v1\nkind: PodList\nitems:\n") == []


def test_null_members_are_left_out() -> None:
    (manifest,) = load_manifests(POD + "spec:\nstatus: ~\n", "f.yaml")
    assert msgspec.json.decode(manifest.body).keys() == {"apiVersion", "kind", "metadata"}


def test_unknown_fields_are_kept() -> None:
    (manifest,) = load_manifests(POD + "spec: {brandNew: [1, {x: z}]}\n", "f.yaml")
    assert msgspec.json.decode(manifest.body)["spec"] == {"brandNew": [1, {"x": "z"}]}


def test_an_unknown_kind_names_the_nearest() -> None:
    said = r"f.yaml, line 1: kind: got 'v1 Pods'.*did you mean v1 Pod"
    with pytest.raises(InputError, match=said):
        load_manifests("apiVersion: v1\nkind: Pods", "f.yaml")


def skipping(text: str) -> tuple[list[str], list[str]]:
    """The kinds that are taken, and the sentences about the others."""
    skipped = SkippedObjects()
    found = load_manifests(text, "f.yaml", skipped=skipped)
    return [each.kind.kind for each in found], skipped.lines()


def test_kinds_without_pods_are_left_out_and_counted() -> None:
    text = f"apiVersion: v1\nkind: Secret\n---\n{POD}---\napiVersion: v1\nkind: Secret"
    assert skipping(text) == (["Pod"], ["skipped: 2 Secret (not scheduled)"])


@pytest.mark.parametrize(
    ("version", "kind"),
    [
        ("rbac.authorization.k8s.io/v1beta1", "Role"),
        ("extensions/v1beta1", "Ingress"),
        ("policy/v1beta1", "PodSecurityPolicy"),
        ("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy"),
        ("autoscaling/v2beta2", "HorizontalPodAutoscaler"),
    ],
)
def test_kinds_of_any_version_are_left_out(version: str, kind: str) -> None:
    assert skipping(f"apiVersion: {version}\nkind: {kind}") == (
        [],
        [f"skipped: 1 {kind} (not scheduled)"],
    )


def test_an_unknown_custom_kind_is_named_once() -> None:
    text = "apiVersion: example.org/v1\nkind: Fleet\n"
    taken, (line,) = skipping(f"{text}---\n{POD}---\n{text}")
    assert taken == ["Pod"]
    assert line.startswith("skipped: 2 Fleet of example.org/v1 (unknown kind")


@pytest.mark.parametrize(
    ("version", "kind", "hint"),
    [
        ("extensions/v1beta1", "Deployment", "this version is not served; use apps/v1 Deployment"),
        ("v1", "Secrets", "got 'v1 Secrets', expected a known kind"),
        ("scheduling.stretto.dev/v1alpha1", "Queu", "did you mean scheduling.stretto.dev/v1alpha1"),
    ],
)
def test_a_wrong_kind_of_a_known_group_is_refused(version: str, kind: str, hint: str) -> None:
    with pytest.raises(InputError) as refused:
        skipping(f"apiVersion: {version}\nkind: {kind}")
    assert hint in str(refused.value)


def test_a_list_may_contain_lists_and_nothing() -> None:
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}
    inner = {"apiVersion": "v1", "kind": "List", "items": [pod]}
    text = msgspec.json.encode({**inner, "items": [inner, None]}).decode()
    assert skipping(text) == (["Pod"], [])


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("kind: Pod", "f.yaml, line 1: apiVersion: got nothing"),
        (f"{POD}---\napiVersion: v1", "f.yaml, line 4: kind: got nothing"),
        ("apiVersion: 1\nkind: Pod", "apiVersion: got 1, expected a text"),
        ("just words", "expected an object with apiVersion and kind"),
        ("- a", "expected an object with apiVersion and kind"),
        ("apiVersion: v1\nkind: List\nitems: {a: b}", "items: got {'a': 'b'}, expected a list"),
        ("apiVersion: v1\nkind: List\nitems: [1]", "items[0]: got 1, expected an object"),
        ('{"apiVersion":"v1","kind":"Pod","x":%s}' % ("[" * 70 + "]" * 70), "at most 64 levels"),
        ("{" * 5000, "f.yaml, line 1"),
    ],
)  # fmt: skip
def test_what_is_no_object_is_refused_with_its_place(text: str, complaint: str) -> None:
    with pytest.raises(InputError) as refused:
        load_manifests(text, "f.yaml")
    assert complaint in str(refused.value)


def test_an_object_of_more_than_3_mib_is_refused() -> None:
    with pytest.raises(InputError, match="at most 3145728 bytes"):
        load_manifests(f"{POD}x: {'a' * (3 << 20)}", "f.yaml")
