"""Objects that decoding does not change: their fast recognition agrees with the decoding."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stretto.api.schema.decoding import Decoding, decode
from stretto.api.schema.exact import is_exact
from stretto.api.schema.kubernetes import kind_versions, struct
from stretto.api.schema.types import Form, StructType, ValueType

SCALARS: dict[Form, list[Any]] = {
    Form.STRING: ["", "a"],
    Form.BYTES: ["", "YQ=="],
    Form.BOOL: [False, True],
    Form.INT32: [0, 1, -1, 2**31],
    Form.INT64: [0, 1, -1, 2**31],
    Form.DOUBLE: [0, 0.5],
    Form.TIME: ["2026-01-01T00:00:00Z", "2026-01-01T00:00:00.5Z", "2026-01-01T00:00:00+01:00"],
    Form.MICRO_TIME: ["2026-01-01T00:00:00.000001Z"],
    Form.DURATION: ["", "1s"],
    Form.QUANTITY: ["1", "100m", "1000m", "1Gi", "1024Mi", "1n", "1500u", 2, ""],
    Form.INT_OR_STRING: [0, 1, "http", ""],
    Form.ANY: [{}, {"a": 1}, [], "x", 0],
}
WRONG = [None, None, 1.0, "x", [], {}, True]


def values(kind: ValueType, depth: int) -> st.SearchStrategy[Any]:
    """Values of a type, now and then wrong ones."""
    if kind.form is Form.STRUCT:
        found = objects(kind.struct, depth - 1)
    elif kind.item is not None:
        inner = values(kind.item, depth)
        keys = st.sampled_from(["cpu", "b"])
        is_list = kind.form is Form.LIST
        found = st.lists(inner, max_size=2) if is_list else st.dictionaries(keys, inner, max_size=2)
    else:
        found = st.sampled_from(SCALARS[kind.form])
    return st.integers(0, 30).flatmap(lambda n: found if n else st.sampled_from(WRONG))


def objects(kind: StructType, depth: int) -> st.SearchStrategy[dict[str, Any]]:
    """Objects of a struct with a few of its members, and all that Go always encodes."""
    if depth < 0:
        return st.just({})
    always = [each.name for each in kind.emitted]
    names = st.lists(st.sampled_from(sorted(kind.fields) or ["x"]), max_size=4).map(
        lambda some: dict.fromkeys([*some, *always])
    )
    return names.flatmap(
        lambda some: st.fixed_dictionaries(
            {
                name: values(kind.fields[name].type, depth) if name in kind.fields else st.just(1)
                for name in some
            }
        )
    )


KINDS = sorted(set(kind_versions().values()))


@given(
    st.sampled_from(KINDS).flatmap(lambda name: st.tuples(st.just(name), objects(struct(name), 4)))
)
def test_decoding_does_not_change_an_exact_object(found: tuple[str, dict[str, Any]]) -> None:
    kind, item = struct(found[0]), found[1]
    if is_exact(item, kind):
        assert json.dumps(decode(item, kind, Decoding())) == json.dumps(item)


def pod(**spec: Any) -> dict[str, Any]:
    """A pod as the server stores it."""
    requests = {"requests": {"cpu": "100m", "memory": "1Gi"}}
    container = {"name": "web", "image": "nginx", "resources": requests, "stdin": True}
    metadata = {"name": "a", "creationTimestamp": "2026-01-01T00:00:00Z", "labels": {"x": ""}}
    whole = {"containers": [container], "priority": 0, "securityContext": {}, **spec}
    return {"metadata": metadata, "spec": whole, "status": {"phase": "Pending"}}


def test_a_stored_pod_is_recognised() -> None:
    assert is_exact(pod(terminationGracePeriodSeconds=30), struct("core/v1.Pod"))


@pytest.mark.parametrize(
    "spec",
    [
        {"hostNetwork": False}, {"nodeName": ""}, {"volumes": []}, {"unknown": 1},
        {"affinity": None}, {"overhead": {"cpu": "1000m"}}, {"priority": 2.0},
    ],
)  # fmt: skip
def test_an_object_that_decoding_changes_is_not_recognised(spec: dict[str, Any]) -> None:
    assert not is_exact(pod(**spec), struct("core/v1.Pod"))
