"""Path elements of lists: those of a whole list are those of its items, one by one."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from stretto.api.edit.apply.walking import (
    ApplyError,
    Repeated,
    elements,
    grouped,
    item_element,
    items,
)
from stretto.api.schema.types import ANY, Form, Merge, ValueType

KEYED = ValueType(
    Form.LIST, ANY, merge=Merge.KEYED, keys=("port", "50% off"), key_defaults={"port": 80}
)
SCALARS = st.none() | st.booleans() | st.integers(0, 3) | st.text("a%\n\u2028", max_size=2)
ITEMS = st.dictionaries(st.sampled_from(["port", "50% off", "x"]), SCALARS)
LISTS = st.lists(ITEMS) | st.lists(ITEMS | SCALARS)


def one_by_one(values: list[Any]) -> list[str] | str:
    try:
        return [item_element(KEYED, each, index) for index, each in enumerate(values)]
    except ApplyError as error:
        return str(error)


def all_at_once(values: list[Any]) -> list[str] | str:
    try:
        return list(elements(KEYED, values))
    except ApplyError as error:
        return str(error)


@given(LISTS)
def test_the_elements_of_a_list_are_those_of_its_items(values: list[Any]) -> None:
    assert all_at_once(values) == one_by_one(values)


@given(st.lists(ITEMS))
def test_the_first_of_repeated_items_counts(values: list[Any]) -> None:
    names = one_by_one(values)
    wanted = {name: values[names.index(name)] for name in names}
    assert items(KEYED, values) == wanted


@given(st.lists(ITEMS))
def test_groups_contain_each_item_under_its_element(values: list[Any]) -> None:
    found = grouped(KEYED, values)
    wanted: dict[str, list[Any]] = {}
    for name, each in zip(one_by_one(values), values, strict=True):
        wanted.setdefault(name, []).append(each)
    assert found == {k: v[0] if len(v) == 1 else Repeated(v) for k, v in wanted.items()}
