"""Long texts: a check of a text takes time by its length, not by its square or cube."""

from collections.abc import Callable

import pytest

from stretto.api.checks.custom.formats import FORMATS, worded_duration
from stretto.api.checks.kinds.pods.references import check_field_ref
from stretto.api.schema.decoding import DecodeError, Decoding, decode
from stretto.api.schema.kubernetes import struct
from stretto.api.wire.durations import duration_problem
from stretto.cel.functions.conversions import to_double
from stretto.cel.running.values import EvaluationError

DIGITS = "1" * 200_000


def amount_problem(text: str) -> str:
    with pytest.raises(DecodeError) as found:
        decode({"hard": {"cpu": text}}, struct("core/v1.ResourceQuotaStatus"), Decoding())
    return str(found.value)


def double_problem(text: str) -> str:
    with pytest.raises(EvaluationError) as found:
        to_double(text)
    return str(found.value)


def reference_problem(text: str) -> str:
    return "".join(each.message for each in check_field_ref({"fieldPath": text}, "x"))


@pytest.mark.parametrize(
    ("check", "text", "problem"),
    [
        (amount_problem, f"{DIGITS}x", "quantities must match the regular expression"),
        (amount_problem, f"{DIGITS}k", "unable to parse quantity's suffix"),
        (double_problem, f"{DIGITS}x", "type conversion error"),
        (reference_problem, "['" * 100_000, "field label not supported"),
        (duration_problem, f"{'1s' * 100_000}x", 'time: unknown unit "sx"'),
    ],
)
def test_a_long_text_is_refused(check: Callable[[str], str], text: str, problem: str) -> None:
    assert problem in check(text)


@pytest.mark.parametrize("text", [DIGITS, f"{DIGITS}x", f"{DIGITS} days"])
def test_a_long_text_is_no_duration(text: str) -> None:
    assert not FORMATS["duration"](text)


def test_an_amount_of_time_has_64_bits() -> None:
    assert worded_duration(f"{10**19} days") is None


def test_an_amount_of_time_may_begin_with_many_zeros() -> None:
    assert worded_duration(f"{'0' * 5000}1 s 2 s") == 3_000_000_000


def test_a_subscript_begins_at_the_first_bracket() -> None:
    found = reference_problem("metadata.labels['a['b']")
    assert '"a[\'b"' in found
