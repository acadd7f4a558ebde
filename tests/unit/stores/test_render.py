import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from stretto.api.edit.patch import merge_patch
from stretto.api.wire.kinds import NODE, POD
from stretto.stores.embedded.json_edit import merged, with_annotations, with_status_of
from stretto.stores.render import render, rendered_fields
from stretto.stores.store import Record

BODY = b'{ "spec":{"z":1.50,"a":[1e2,{"k" : null}]}, "metadata":{"labels":{"b":"1"}},"x":{"y":2}}'
POD_RECORD = Record(POD, "space", "web", "the-uid", 7, BODY, "n1", {"gpu": "3"}, "then", "later")


def test_fields_of_the_record_win_and_keep_their_place() -> None:
    shown = json.loads(render(POD_RECORD))
    assert shown["metadata"] == {
        "labels": {"b": "1"},
        "name": "web",
        "namespace": "space",
        "uid": "the-uid",
        "resourceVersion": "7",
        "generation": 1,
        "creationTimestamp": "then",
        "deletionTimestamp": "later",
        "annotations": {"gpu": "3"},
    }
    assert shown["spec"]["nodeName"] == "n1"
    assert (shown["apiVersion"], shown["kind"]) == ("v1", "Pod")


def test_what_the_record_does_not_contain_keeps_its_bytes_and_order() -> None:
    text = render(POD_RECORD)
    assert b'"z":1.50,"a":[1e2,{"k" : null}]' in text
    assert text.index(b'"spec"') < text.index(b'"metadata"') < text.index(b'"x":{"y":2}')


def test_a_record_with_fewer_fields_removes_those_of_a_dump() -> None:
    body = b'{"metadata":{"namespace":"old","uid":"old","deletionTimestamp":"old","name":"n1"}}'
    shown = json.loads(render(Record(NODE, "", "n1", "u", 1, body)))
    assert shown["metadata"] == {"name": "n1", "uid": "u", "resourceVersion": "1"}


def test_annotations_of_a_bind_are_part_of_the_body_on_request() -> None:
    record = Record(POD, "", "a", "u", 1, b'{"metadata":{"annotations":{"a":"1"}}}', "", {"b": "2"})
    notes = json.loads(with_annotations(record))["metadata"]["annotations"]
    assert notes == {"a": "1", "b": "2"}


def test_a_merge_keeps_the_bytes_that_it_does_not_touch() -> None:
    assert merged(BODY, {"x": {"y": None, "n": 1}}).startswith(b'{"spec":{"z":1.50,"a":[1e2,')


def test_an_update_takes_the_old_status_or_none() -> None:
    old, bare = b'{"status":{"a":1.0}}', b'{"x":1}'
    assert with_status_of(b'{"status":{"b":2}}', old) == b'{"status":{"a":1.0}}'
    assert with_status_of(bare, old) == b'{"x":1,"status":{"a":1.0}}'
    assert with_status_of(b'{"status":{},"x":1}', bare) == b'{"x":1}'
    assert with_status_of(bare, b"{}") is bare


keys = st.sampled_from(["a", "b", "c"])
leaves = st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=3)
documents = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(keys, inner), max_leaves=12
)
objects = st.dictionaries(keys, documents)


@given(objects, objects)
def test_a_merge_on_bytes_is_the_merge_on_the_document(
    document: dict[str, Any], patch: dict[str, Any]
) -> None:
    assert json.loads(merged(json.dumps(document).encode(), patch)) == merge_patch(document, patch)


@given(
    st.sampled_from(
        [
            BODY,
            b"{}",
            b'{"metadata":null}',
            b'{"kind":"Node","metadata":{"generation":4,"uid":"old","deletionTimestamp":"old"}}',
            b'{"apiVersion":"v1","kind":"Node","metadata":{"generation":"x","annotations":{"a":""}}}',
        ]
    ),
    st.sampled_from([POD, NODE]),
    st.sampled_from(["", "n1"]),
    st.sampled_from([None, {"gpu": "3"}]),
    st.sampled_from(["", "later"]),
)
def test_the_decoded_form_is_that_of_the_rendered_bytes(
    body: bytes, kind: Any, node: str, notes: dict[str, str] | None, deleting: str
) -> None:
    record = Record(kind, "", "a", "u", 3, body, node, notes, "then", deleting)
    found = rendered_fields(record)
    assert json.dumps(found) == json.dumps(json.loads(render(record)))
