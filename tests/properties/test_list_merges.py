"""Applies to lists: the merged order and the removed fields are those of the step-by-step rules."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from stretto.api.edit.apply.compare import owned_fields
from stretto.api.edit.apply.fieldset import union
from stretto.api.edit.apply.merge import merge
from stretto.api.edit.apply.pruning import pruned
from stretto.api.edit.apply.walking import ApplyError
from stretto.api.schema.structural import value_type
from stretto.api.schema.types import Form, Merge, ValueType
from tests.support.references.merged_lists import merged_sets

SET = ValueType(Form.LIST, ValueType(Form.STRING), merge=Merge.SET)
NAMES = st.lists(st.sampled_from("abcdefgh"), unique=True)

TEXT = {"type": "string"}
ENTRY = {"type": "object", "properties": {"n": TEXT, "x": TEXT, "y": TEXT}}
KEYS = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["n"]}
FIELDS = {
    "a": TEXT,
    "inner": {"type": "object", "properties": {"a": TEXT, "b": TEXT}},
    "items": {"type": "array", "items": ENTRY, **KEYS},
    "names": {"type": "array", "items": TEXT, "x-kubernetes-list-type": "set"},
}
KIND = value_type({"type": "object", "properties": FIELDS})
ENTRIES = st.dictionaries(
    st.sampled_from("pqr"), st.dictionaries(st.sampled_from("xy"), st.just("1"))
).map(lambda found: [{"n": name, **each} for name, each in found.items()])
OBJECTS = st.fixed_dictionaries(
    {},
    optional={
        "a": st.just("1"),
        "inner": st.dictionaries(st.sampled_from("ab"), st.just("1")),
        "items": ENTRIES,
        "names": NAMES,
    },
)


@given(NAMES, NAMES)
def test_new_items_keep_their_order_and_others_their_place(old: list[str], new: list[str]) -> None:
    assert merge(old, new, SET) == merged_sets(old, new)


def left(merged: Any, last: Any, named: Any, held: Any) -> Any:
    """What a removal leaves of an object; the text of the error if it fails."""
    try:
        return pruned(merged, ("v1", last), named, {"v1": held}, lambda each, _: (each, KIND))
    except ApplyError as error:
        return str(error)


@given(OBJECTS, OBJECTS, OBJECTS, st.booleans())
def test_a_removal_that_restores_everything_is_skipped(
    live: Any, config: Any, other: Any, with_items: bool
) -> None:
    merged = merge(merge(live, other, KIND), config, KIND)
    named = owned_fields(config, KIND)
    held = union(named, owned_fields(other, KIND))
    last = {key: node for key, node in named.items() if with_items or key != "f:items"}
    assert left(merged, last, named, held) == left(merged, last, {"f:none": {}}, held)
