"""Objects arrive as JSON, are read as structs, and are changed as bytes."""

import gc

import msgspec
import pytest

from stretto.api import codec
from stretto.api.kinds.table import TABLE, typed_kinds
from stretto.api.types.godel import Queue, QueuePolicy
from stretto.api.types.pod import Pod
from stretto.api.wire import kinds, refusals
from stretto.api.wire.limits import MAX_BYTES
from stretto.api.wire.meta import ObjectMeta
from stretto.base.errors import InputError

AN_AMOUNT = "a quantity such as 500m or 2"


def pod(spec: str, metadata: str = '{"name":"web","namespace":"default"}') -> bytes:
    return f'{{"metadata":{metadata},"spec":{spec}}}'.encode()


def refusal(body: bytes, kind: kinds.Kind = kinds.POD) -> str:
    with pytest.raises(InputError) as refused:
        codec.decode(kind, body)
    return str(refused.value)


def test_every_struct_has_one_kind() -> None:
    structs = [codec.struct_of(kind) for kind in typed_kinds()]
    assert [TABLE.of_struct(struct) for struct in structs] == list(typed_kinds())
    assert kinds.POD in typed_kinds()


def test_a_pod_is_read_as_a_struct() -> None:
    read = codec.decode_as(Pod, pod('{"nodeName":"n1","containers":[{"image":"x"}]}'))
    assert (read.metadata.name, read.spec.node_name) == ("web", "n1")
    assert read.spec.containers[0].image == "x"


def test_structs_cost_the_garbage_collector_nothing() -> None:
    read = codec.decode_as(Pod, pod('{"containers":[{"image":"x"}]}'))
    assert not any(gc.is_tracked(part) for part in (read, read.metadata, read.spec, read.status))


def test_a_struct_is_written_with_its_kind_and_without_defaults() -> None:
    body = codec.encode(Queue(metadata=ObjectMeta(name="a")))
    assert body.startswith(b'{"apiVersion":"scheduling.stretto.dev/v1alpha1","kind":"Queue",')
    assert codec.decode_as(Queue, body).spec.policy == QueuePolicy.FIFO
    assert b"status" not in body or b'"status":{}' in body


def test_null_counts_as_absent() -> None:
    read = codec.decode_as(Pod, pod('{"nodeName":null,"containers":null,"priority":null}'))
    assert (read.spec.node_name, read.spec.containers) == ("", ())


@pytest.mark.parametrize(
    ("spec", "path", "found"),
    [
        ('{"containers":[{"resources":{"requests":{"cpu":"1x"}}}]}',
         ".containers[0].resources.requests.cpu", f"'1x', expected {AN_AMOUNT}"),
        ('{"containers":[{},{"resources":{"limits":{"cpu":"1","memory":[1]}}}]}',
         ".containers[1].resources.limits.memory", f"[1], expected {AN_AMOUNT}"),
        ('{"overhead":{"memory":"lots"}}', ".overhead.memory", f"'lots', expected {AN_AMOUNT}"),
        ('{"containers":{}}', ".containers", "{}, expected a list"),
        ('{"nodeSelector":{"a":"b","c":1}}', ".nodeSelector.c", "1, expected a text"),
        ('{"priority":"high"}', ".priority", "'high', expected a whole number"),
        ('{"priority":1.5}', ".priority", "1.5, expected a whole number"),
        ('{"hostNetwork":1}', ".hostNetwork", "1, expected true or false"),
        ('{"schedulingGates":[{}]}', ".schedulingGates[0].name",
         "nothing, expected a value, it is required"),
        ("[]", "", "[], expected an object"),
    ],
)  # fmt: skip
def test_a_malformed_field_is_refused_with_its_path(spec: str, path: str, found: str) -> None:
    assert refusal(pod(spec)) == f"pod default/web: spec{path}: got {found}"


def test_the_path_is_right_next_to_nulls_too() -> None:
    body = pod('{"nodeName":null,"containers":[{"image":7}]}')
    assert refusal(body) == "pod default/web: spec.containers[0].image: got 7, expected a text"


class Choice(msgspec.Struct):
    policy: QueuePolicy


def test_a_wrong_choice_lists_the_choices() -> None:
    body = b'{"policy":"Fifo"}'
    with pytest.raises(msgspec.ValidationError) as wrong:
        msgspec.json.decode(body, type=Choice)
    text = str(refusals.refusal(wrong.value, body, "queue a", Choice))
    assert "queue a: policy: got 'Fifo', expected one of FIFO, Priority" in text


def test_a_list_of_the_wrong_length_names_the_length() -> None:
    with pytest.raises(msgspec.ValidationError) as wrong:
        msgspec.convert([1], tuple[int, int])
    text = str(refusals.refusal(wrong.value, b"[1]", "pair"))
    assert text == "pair: got [1], expected a list of 2 items"


@pytest.mark.parametrize("body", [b"", b"{", b"\xff\xfe", b'{"a":1,}', b"nonsense", b"\0" * 99])
def test_what_is_no_json_is_refused(body: bytes) -> None:
    assert "expected JSON" in refusal(body)


@pytest.mark.parametrize("body", [b"[]", b"1", b'"x"', b"{}", b'{"spec":{}}'])
def test_json_that_is_no_object_of_the_kind_is_refused(body: bytes) -> None:
    assert refusal(body).startswith("pod: ")


@pytest.mark.parametrize("bracket", [b"[", b'{"a":'])
def test_deep_nesting_is_refused_before_it_is_parsed(bracket: bytes) -> None:
    assert "at most 64 levels" in refusal(bracket * 100_000)


@pytest.mark.parametrize("opening", ["[[", '[{"a":', '{"a":['])
def test_nesting_of_64_levels_is_read_and_of_66_not(opening: str) -> None:
    closing = "".join({"[": "]", "{": "}"}.get(each, "") for each in reversed(opening))
    codec.decode(kinds.POD, pod(f'{{"x":{opening * 31}1{closing * 31}}}'))
    assert "at most 64" in refusal(pod(f'{{"x":{opening * 32}1{closing * 32}}}'))


def test_brackets_inside_texts_are_no_depth() -> None:
    text = "[{" * 500 + r"\"[["
    codec.decode(kinds.POD, pod(f'{{"x":"{text}","y":[[[]]]}}'))


def test_a_huge_object_is_refused_before_it_is_parsed() -> None:
    assert "at most 3145728 bytes" in refusal(b" " * (MAX_BYTES + 1))


def test_setting_a_field_keeps_all_else_byte_by_byte() -> None:
    body = b'{"zz":1e400,"spec":{"b":{"x": 1.50},"a":2},"metadata":{"name":"\\u0041"}}'
    after = codec.set_fields(body, {("spec", "nodeName"): "n1"})
    assert after == (
        b'{"zz":1e400,"spec":{"b":{"x": 1.50},"a":2,"nodeName":"n1"},"metadata":{"name":"\\u0041"}}'
    )


def test_missing_objects_on_the_way_are_made() -> None:
    after = codec.set_fields(b'{"status":null}', {("status", "a", "b"): 1, ("x",): [2]})
    assert msgspec.json.decode(after) == {"status": {"a": {"b": 1}}, "x": [2]}


def test_none_removes_a_field_and_makes_nothing() -> None:
    after = codec.set_fields(b'{"a":{"b":1,"c":2}}', {("a", "b"): None, ("d", "e"): None})
    assert after == b'{"a":{"c":2}}'


def test_list_items_are_set_by_index() -> None:
    after = codec.set_fields(b'{"a":[{"x":1},2]}', {("a", 0, "y"): 3, ("a", 1): 4})
    assert after == b'{"a":[{"x":1,"y":3},4]}'


@pytest.mark.parametrize("path", [("a", "b"), ("c", 5), ("a", 0)])
def test_a_path_that_leads_nowhere_is_refused(path: tuple[str | int, ...]) -> None:
    with pytest.raises(InputError):
        codec.set_fields(b'{"a":1,"c":[]}', {path: 1})


def test_setting_nothing_changes_nothing() -> None:
    assert codec.set_fields(b"[1]", {}) == b"[1]"
