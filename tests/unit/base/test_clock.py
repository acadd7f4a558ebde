"""Clocks: virtual time moves on request, the wall clock may jump, durations are unaffected."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stretto.base.clock import ManualClock, WallClock, parse_timestamp, timestamp
from stretto.base.errors import InputError


def test_a_manual_clock_stands_still() -> None:
    clock = ManualClock(5.0)
    assert (clock.now(), clock.monotonic()) == (5.0, 5.0)


def test_sleeping_on_a_manual_clock_passes_time_at_once() -> None:
    clock = ManualClock()
    clock.sleep(3600)
    assert clock.monotonic() == 3600


def test_a_negative_sleep_passes_no_time() -> None:
    clock = ManualClock()
    clock.sleep(-1)
    assert clock.monotonic() == 0


def test_monotonic_time_does_not_go_back() -> None:
    clock = ManualClock(10)
    with pytest.raises(ValueError, match="cannot go back"):
        clock.set(9)


def test_a_wall_jump_leaves_durations_alone() -> None:
    clock = ManualClock(10)
    clock.jump_wall(-7)
    clock.advance(1)
    assert (clock.now(), clock.monotonic()) == (4, 11)


def test_the_wall_clock_never_goes_back() -> None:
    clock = WallClock()
    before = clock.monotonic()
    clock.sleep(0.001)
    assert clock.monotonic() - before >= 0.001


def test_the_wall_clock_has_the_epoch() -> None:
    assert WallClock().now() > parse_timestamp("2024-01-01T00:00:00Z")


@given(st.integers(-(10**10), 10**11))
def test_a_timestamp_reads_back_what_it_wrote(seconds: int) -> None:
    assert parse_timestamp(timestamp(seconds)) == seconds


@given(st.floats(-1e9, 4e9))
def test_a_timestamp_is_that_of_the_standard_library(seconds: float) -> None:
    known = datetime.fromtimestamp(seconds, UTC).isoformat()
    assert timestamp(seconds) == known.replace("+00:00", "Z")


def test_a_timestamp_may_have_nanoseconds() -> None:
    assert parse_timestamp("1970-01-01T00:00:01.500000000Z") == 1.5


@pytest.mark.parametrize("text", ["", "yesterday", "2024-05-01", "2024-05-01T12:00:00", "12:00Z"])
def test_a_timestamp_without_date_time_or_offset_is_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"spec\.renewTime.*RFC 3339"):
        parse_timestamp(text, where="spec.renewTime")
