"""Errors of labels and finalizers: an object with many has no more than an answer contains."""

from stretto.api.checks.fields.errors import MOST_ERRORS
from stretto.api.checks.fields.metadata import check_own_finalizers, check_plain_metadata
from stretto.api.checks.fields.texts import check_annotations, check_labels

MANY = {f"a b{number}": "x y" for number in range(2 * MOST_ERRORS)}


def test_errors_of_keys_and_values_alternate() -> None:
    found = check_labels({"b c": "x", "a b": "x y"}, "f")
    assert [each.message.split('"')[1] for each in found] == ["a b", "x y", "b c"]


def test_the_checks_of_metadata_end_at_the_errors_of_an_answer() -> None:
    own = {"metadata": check_plain_metadata({"finalizers": [*MANY]})}
    own["own"] = check_own_finalizers({"finalizers": [*MANY]})
    own["labels"] = check_labels(MANY, "f")
    own["annotations"] = check_annotations(MANY, "f")
    assert {len(each) for each in own.values()} == {MOST_ERRORS + 1}
