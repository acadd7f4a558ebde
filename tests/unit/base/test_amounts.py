"""Sums of amounts by key."""

from stretto.base.amounts import add_amounts, total_of


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
