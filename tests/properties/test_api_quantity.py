"""The integer arithmetic of quantities against exact fractions."""

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from stretto.api.wire import quantity

POWERS = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "e-12": -12, "E3": 3, "e+4": 4}
NUMBERS = st.from_regex(r"[+-]?([0-9]{1,8}(\.[0-9]{0,8})?|\.[0-9]{1,8})", fullmatch=True).filter(
    str.isascii
)
COUNTS = st.integers(-quantity.INT64_MAX, quantity.INT64_MAX)


def away_from_zero(exact: Fraction) -> int:
    whole = -(-abs(exact.numerator) // exact.denominator)
    return whole if exact >= 0 else -whole


@given(NUMBERS, st.sampled_from(sorted(POWERS)))
def test_decimal_quantities_equal_the_exact_fraction_rounded_away(number: str, suffix: str) -> None:
    exact = Fraction(number) * Fraction(10) ** POWERS[suffix]
    assert quantity.value(number + suffix, "x") == away_from_zero(exact)
    assert quantity.milli(number + suffix, "x") == away_from_zero(exact * 1000)
    assert quantity.nano(number + suffix, "x") == away_from_zero(exact * 10**9)


@given(NUMBERS, st.sampled_from(["Ki", "Mi", "Gi"]))
def test_binary_quantities_equal_the_exact_fraction_rounded_away(number: str, suffix: str) -> None:
    exact = Fraction(number) * 1024 ** (["Ki", "Mi", "Gi"].index(suffix) + 1)
    assert quantity.value(number + suffix, "x") == away_from_zero(exact)


@given(COUNTS)
def test_what_is_printed_in_thousandths_reads_back_equal(count: int) -> None:
    assert quantity.milli(quantity.format_milli(count), "x") == count


@given(COUNTS)
def test_what_is_printed_in_units_or_bytes_reads_back_equal(count: int) -> None:
    assert quantity.value(quantity.format_value(count), "x") == count
    assert quantity.value(quantity.format_bytes(count), "x") == count


@given(st.integers(-(2**53), 2**53), st.floats(-1e15, 1e15))
def test_bare_numbers_read_as_their_text(whole: int, real: float) -> None:
    assert quantity.value(whole, "x") == whole
    assert quantity.value(real, "x") == away_from_zero(Fraction(str(real)))
