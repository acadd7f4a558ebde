"""Patches do what the RFCs and Kubernetes say."""

from typing import Any

import pytest

from stretto.api.edit.json_patch import FailedTestError, OperationError, operated, value_at
from stretto.api.edit.patch import merge_patch

# ---------------------------------------------------------------- RFC 7386, its appendix


@pytest.mark.parametrize(
    ("target", "patch", "result"),
    [
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        (["a", "b"], ["c", "d"], ["c", "d"]),
        ({"a": "b"}, ["c"], ["c"]),
        ({"a": "foo"}, None, None),
        ({"a": "foo"}, "bar", "bar"),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ([1, 2], {"a": "b", "c": None}, {"a": "b"}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
    ],
)
def test_a_merge_patch_does_what_its_rfc_shows(target: Any, patch: Any, result: Any) -> None:
    assert merge_patch(target, patch) == result


# ---------------------------------------------------------------- RFC 6902, its appendix


def operation(op: str, path: str, **more: Any) -> dict[str, Any]:
    return {"op": op, "path": path, **{name.rstrip("_"): value for name, value in more.items()}}


@pytest.mark.parametrize(
    ("document", "change", "result"),
    [
        ({"foo": "bar"}, operation("add", "/baz", value="qux"), {"baz": "qux", "foo": "bar"}),
        ({"foo": [1, 3]}, operation("add", "/foo/1", value=2), {"foo": [1, 2, 3]}),
        ({"foo": [1]}, operation("add", "/foo/-", value=[2]), {"foo": [1, [2]]}),
        ({"foo": [1]}, operation("add", "/foo/1", value=2), {"foo": [1, 2]}),
        ({"foo": 1}, operation("replace", "", value={"a": 1}), {"a": 1}),
        ({"baz": 1, "foo": 2}, operation("remove", "/baz"), {"foo": 2}),
        ({"foo": [1, 2, 3]}, operation("remove", "/foo/1"), {"foo": [1, 3]}),
        ({"foo": 1}, operation("replace", "/foo", value=2), {"foo": 2}),
        ({"a": {"b": 1}, "c": 2}, operation("move", "/d", from_="/a/b"), {"a": {}, "c": 2, "d": 1}),
        ({"a": [1, 2, 3]}, operation("move", "/a/2", from_="/a/0"), {"a": [2, 3, 1]}),
        ({"a": {"b": 1}}, operation("copy", "/c", from_="/a"), {"a": {"b": 1}, "c": {"b": 1}}),
        ({"a/b": 1, "m~n": 2}, operation("test", "/a~1b", value=1), {"a/b": 1, "m~n": 2}),
        ({"~1": 1}, operation("remove", "/~01"), {}),
        ({"": 1}, operation("replace", "/", value=2), {"": 2}),
        ({"a": None}, operation("test", "/a", value=None), {"a": None}),
    ],
)  # fmt: skip
def test_a_json_patch_does_what_its_rfc_shows(document: Any, change: Any, result: Any) -> None:
    assert operated(document, [change]) == result


@pytest.mark.parametrize(
    ("document", "change", "result"),
    [
        ({}, operation("replace", "/a", value=1), {"a": 1}),
        ({}, operation("test", "/a", value=None), {}),
        ({}, operation("copy", "/a", from_="/b"), {"a": None}),
        ({"a": [1, 2]}, operation("add", "/a/-1", value=3), {"a": [1, 2, 3]}),
    ],
)
def test_a_json_patch_differs_from_its_rfc_as_the_api_server_does(
    document: Any, change: Any, result: Any
) -> None:
    assert operated(document, [change]) == result


@pytest.mark.parametrize(
    "change",
    [
        operation("add", "/a/b", value=1),
        operation("add", "/list/5", value=1),
        operation("add", "/list/x", value=1),
        operation("add", "x", value=1),
        operation("remove", "/missing"),
        operation("remove", "/list/-"),
        operation("replace", "/missing/a", value=1),
        operation("replace", "", value=[]),
        operation("move", "/list/0/x", from_="/list/1"),
        operation("copy", "/x", from_="/missing/a"),
        operation("copy", "/x"),
        operation("jump", "/x"),
        {"op": ["add"], "path": "/x", "value": 1},
        operation("test", "/missing", value=1),
        operation("test", "/list/-", value=1),
        operation("move", "/x", from_="x"),
        operation("add", f"/list/{10**30}", value=1),
        operation("remove", f"/list/{10**30}"),
        {"op": "remove"},
        "remove",
    ],
)
def test_an_operation_that_does_not_apply_is_refused(change: Any) -> None:
    with pytest.raises(OperationError):
        operated({"list": [{}], "a": 1}, [change])


@pytest.mark.parametrize(
    ("found", "requested"), [(1, 2), (1, True), ([1], [1, 2]), ({"a": 0}, {"a": False})]
)
def test_a_failed_test_is_an_error_of_its_own(found: Any, requested: Any) -> None:
    with pytest.raises(FailedTestError):
        operated({"a": found}, [operation("test", "/a", value=requested)])


def test_a_json_patch_never_changes_its_arguments() -> None:
    document: Any = {"a": [1]}
    value: Any = {"b": []}
    steps = [operation("add", "/a/-", value=value), operation("add", "/a/1/b/-", value=1)]
    operated(document, steps)
    assert (document, value) == ({"a": [1]}, {"b": []})


def test_more_than_10_000_operations_are_refused() -> None:
    with pytest.raises(OperationError, match="10001 operations, more than 10000"):
        operated({}, [operation("add", "/a", value=1)] * 10_001)


def test_copies_of_copies_are_stopped_before_they_fill_memory() -> None:
    bomb = [operation("copy", f"/a/{at}", from_="/a") for at in range(100)]
    with pytest.raises(OperationError, match="copies of"):
        operated({"a": {"x": "y" * 100}}, bomb)


def test_a_copy_into_its_own_value_counts_the_bytes_before_it() -> None:
    document: Any = {"a": {"x": "y" * (2 << 20)}}
    changed = operated(document, [operation("copy", "/a/b", from_="/a")])
    assert changed["a"]["b"] == document["a"]


@pytest.mark.parametrize(
    ("path", "value"),
    [("/a", [1, 2]), ("/a/1", 2), ("/a/2", None), ("/b", None), ("/a/0/b", None), ("", None)],
)
def test_a_value_is_found_by_its_pointer(path: str, value: Any) -> None:
    assert value_at({"a": [1, 2]}, path) == value
