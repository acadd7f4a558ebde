"""Values of custom objects: a scalar without limits needs the type of its schema."""

from typing import Any

import pytest

from stretto.api.checks.custom.values import check_value

INTEGERS = {"type": "object", "properties": {"a": {"type": "integer"}}}
TEXTS = {"type": "array", "items": {"type": "string"}}


@pytest.mark.parametrize("value", [True, "1", 1.5, 2**63])
def test_an_integer_without_limits_is_a_whole_number_of_64_bits(value: Any) -> None:
    assert "a" in [each.field for each in check_value({"a": value}, INTEGERS)]


@pytest.mark.parametrize("value", [0, -(2**63), 2**63 - 1, 2.0])
def test_whole_numbers_are_integers(value: Any) -> None:
    assert not check_value({"a": value}, INTEGERS)


def test_each_item_of_another_type_is_refused_at_its_place() -> None:
    found = check_value(["x", 1, None, "y", []], TEXTS)
    assert [each.field for each in found] == ["[1]", "[2]", "[4]"]
