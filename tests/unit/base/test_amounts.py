"""Sums of amounts by key."""

import pytest

from stretto.base.amounts import add_amounts, covers, positive_rest, total_of


def test_amounts_are_added_to_the_sums_of_their_keys() -> None:
    sums = {"cpu": 1}
    add_amounts(sums, [("cpu", 2), ("memory", 3)])
    assert sums == {"cpu": 3, "memory": 3}


def test_a_negative_number_subtracts_amounts() -> None:
    sums = {"cpu": 5}
    add_amounts(sums, [("cpu", 2)], -2)
    assert sums == {"cpu": 1}


def test_the_total_leaves_its_parts_unchanged() -> None:
    parts = [{"cpu": 1}, {"cpu": 2}]
    assert total_of(parts) == {"cpu": 3}
    assert parts == [{"cpu": 1}, {"cpu": 2}]


def test_a_rest_has_only_amounts_above_zero() -> None:
    assert positive_rest({"cpu": 3, "memory": 1}, {"cpu": 1, "memory": 2, "gpu": 1}) == {"cpu": 2}


@pytest.mark.parametrize(("part", "is_covered"), [({"cpu": 2}, True), ({"gpu": 1}, False)])
def test_amounts_cover_others_that_are_at_most_as_large(
    part: dict[str, int], is_covered: bool
) -> None:
    assert covers({"cpu": 2, "memory": 1}, part) is is_covered
