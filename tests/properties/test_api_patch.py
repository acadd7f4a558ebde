"""Laws of patches for all documents."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from stretto.api.codec import without_nulls
from stretto.api.edit.json_patch import operated
from stretto.api.edit.patch import merge_patch
from stretto.api.edit.strategic import strategic_merge
from stretto.api.schema.kubernetes import struct
from stretto.api.schema.types import StructType

NAMES = st.sampled_from(["a", "b", "/", "~", "conditions", "taints"])
SCALARS = st.none() | st.booleans() | st.integers(0, 3) | NAMES
PLAIN = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner),
    max_leaves=10,
)
OPEN = StructType("", {}, is_open=True)
DOCUMENTS = st.dictionaries(st.sampled_from("abc"), PLAIN)
TYPES = st.sampled_from(["A", "B", "C", "D"])
CONDITIONS = st.lists(
    st.fixed_dictionaries({"type": TYPES}, optional={"status": NAMES}),
    unique_by=lambda x: x["type"],
)


@given(DOCUMENTS)
def test_an_empty_merge_patch_changes_nothing(document: Any) -> None:
    assert merge_patch(document, {}) == document


@given(DOCUMENTS, DOCUMENTS)
def test_a_merge_patch_applied_twice_is_applied_once(document: Any, patch: Any) -> None:
    once = merge_patch(document, patch)
    assert merge_patch(once, patch) == once


@given(DOCUMENTS)
def test_a_document_merged_into_nothing_is_itself_without_nulls(document: Any) -> None:
    members = {name: each for name, each in document.items() if not isinstance(each, list)}
    assert merge_patch({}, members) == without_nulls_outside_lists(members)


def without_nulls_outside_lists(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    return {
        name: without_nulls_outside_lists(each) for name, each in value.items() if each is not None
    }


@given(DOCUMENTS, DOCUMENTS)
def test_without_keyed_lists_a_strategic_merge_is_a_merge_patch(document: Any, patch: Any) -> None:
    assert strategic_merge(document, patch, OPEN) == merge_patch(document, nulls_outside(patch))


def nulls_outside(value: Any) -> Any:
    """A patch without nulls in the objects of its lists, which a strategic merge drops."""
    if isinstance(value, dict):
        return {name: nulls_outside(each) for name, each in value.items()}
    return without_nulls(value) if isinstance(value, list) else value


@given(CONDITIONS, CONDITIONS)
def test_conditions_merge_as_maps_do(old: list[Any], new: list[Any]) -> None:
    status = struct("core/v1.PodStatus")
    merged = strategic_merge({"conditions": old}, {"conditions": new}, status)["conditions"]
    as_maps = {each["type"]: dict(each) for each in old}
    for each in new:
        as_maps[each["type"]] = {**as_maps.get(each["type"], {}), **each}
    assert {each["type"]: each for each in merged} == as_maps
    assert len(merged) == len(as_maps)


@given(DOCUMENTS, st.sampled_from("abc"), PLAIN)
def test_adding_and_removing_leaves_no_trace(document: Any, name: str, value: Any) -> None:
    add = {"op": "add", "path": f"/{name}", "value": value}
    added = operated(document, [add, {"op": "test", "path": f"/{name}", "value": value}])
    assert added == {**document, name: value}
    removed = operated(added, [{"op": "remove", "path": f"/{name}"}])
    assert removed == {key: each for key, each in document.items() if key != name}


@given(DOCUMENTS.filter(bool))
def test_moving_there_and_back_changes_nothing(document: Any) -> None:
    name = min(document)
    there = {"op": "move", "from": f"/{name}", "path": "/elsewhere"}
    back = {"op": "move", "from": "/elsewhere", "path": f"/{name}"}
    assert operated(document, [there, back]) == document


@given(DOCUMENTS)
def test_nulls_are_gone_after_they_were_taken_out(document: Any) -> None:
    assert without_nulls(without_nulls(document)) == without_nulls(document)
