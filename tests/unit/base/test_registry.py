"""Registries: one literal table, the nearest name, no doubles."""

import pytest

from stretto.base.errors import UnknownNameError
from stretto.base.registry import Registry

TABLE = Registry("policy", {"fgd": 1, "best-fit": 2})


def test_a_known_name_is_found() -> None:
    assert TABLE.get("fgd") == 1


def test_an_unknown_name_is_answered_with_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="unknown policy 'best_fit'; did you mean best-fit"):
        TABLE.get("best_fit")


def test_names_keep_the_order_of_the_table() -> None:
    assert (TABLE.names(), list(TABLE), len(TABLE)) == (("fgd", "best-fit"), ["fgd", "best-fit"], 2)


def test_merging_adds_and_leaves_the_first_alone() -> None:
    merged = TABLE.merged({"mine": 3})
    assert ("mine" in merged, "mine" in TABLE, merged.items()[-1]) == (True, False, ("mine", 3))


def test_merging_refuses_doubles() -> None:
    with pytest.raises(ValueError, match="policy named twice: fgd"):
        TABLE.merged({"fgd": 3})


def test_a_later_change_of_the_source_changes_nothing() -> None:
    source = {"a": 1}
    table = Registry("letter", source)
    source["b"] = 2
    assert table.names() == ("a",)
