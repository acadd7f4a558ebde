"""Names that are similar to a wrong one."""

import pytest

from stretto.base.errors import did_you_mean, suggestion
from stretto.base.nearest import nearest


def test_capital_letters_do_not_count() -> None:
    assert nearest("PRIORITYCLASSNAME", ["priorityClassName", "nodeName"]) == ["priorityClassName"]


def test_a_name_that_shares_little_is_no_suggestion() -> None:
    assert nearest("web-0", [f"job-{n:03d}" for n in range(100)]) == []


def test_only_names_about_as_similar_as_the_best_one_are_listed() -> None:
    assert nearest("worker-12", ["worker-13", "walker"]) == ["worker-13"]


def test_the_search_covers_the_names_of_a_large_cluster() -> None:
    names = [f"node-{n:06d}" for n in range(50_000)]
    assert nearest("node-04999", names)[0].startswith("node-04")


@pytest.mark.parametrize(
    ("value", "hint"),
    [("cout", "did you mean 'count'?"), ("zzz", "add it"), (7, "add it")],
)
def test_a_near_key_replaces_the_other_hint(value: object, hint: str) -> None:
    assert did_you_mean(value, ["count", "memory"], "add it") == hint


def test_several_names_are_alternatives() -> None:
    assert suggestion(["a", "b"]) == "did you mean a or b?"


def test_half_of_a_name_of_three_letters_is_not_enough() -> None:
    assert nearest("rnu", ["rules", "run"]) == ["run"]
