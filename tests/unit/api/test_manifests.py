"""Manifests: many objects in one text."""

import msgspec
import pytest

from stretto.api.edit.manifests import dump_manifests, dump_yaml, load_manifests
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


def test_kinds_that_are_to_be_passed_over_are_left_out() -> None:
    text = f"apiVersion: v1\nkind: Secret\n---\n{POD}"
    assert [each.kind.kind for each in load_manifests(text, "f.yaml", skip=True)] == ["Pod"]


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
        (
            "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: List",
            "a list must not contain a list",
        ),
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


def test_yaml_is_written_in_the_order_humans_look() -> None:
    text = dump_yaml(b'{"spec":{"b":1,"a":2},"kind":"Pod","metadata":{"uid":"u","name":"x"}}')
    assert text == "kind: Pod\nmetadata:\n  name: x\n  uid: u\nspec:\n  a: 2\n  b: 1\n"


def test_written_manifests_are_read_back() -> None:
    bodies = [manifest.body for manifest in load_manifests(f"{POD}---\n{QUEUE}", "f.yaml")]
    again = load_manifests(dump_manifests(bodies), "g.yaml")
    assert [manifest.body for manifest in again] == bodies
