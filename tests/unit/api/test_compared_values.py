"""Comparison of leaves for the owners of fields: by their JSON types."""

from typing import Any

import pytest

from stretto.api.edit.apply.compare import compare
from stretto.api.schema.types import ANY


@pytest.mark.parametrize(
    ("old", "new", "differs"),
    [
        (True, 1, True),
        ([0], [False], True),
        ([{"a": 1}], [{"a": True}], True),
        (1, 1.0, False),
        ([True, {"a": 0}], [True, {"a": 0}], False),
    ],
)
def test_a_leaf_is_modified_if_its_value_or_type_differs(old: Any, new: Any, differs: bool) -> None:
    assert bool(compare({"x": old}, {"x": new}, ANY).modified) is differs
