"""Times and bytes in JSON are read and written as by Go, with its messages."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stretto.api.schema.octets import Base64Error, canonical_base64
from stretto.api.schema.times import TimeTextError, go_time

SECONDS = "2006-01-02T15:04:05Z07:00"
MICRO = "2006-01-02T15:04:05.000000Z07:00"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("2026-01-01T00:00:00+02:00", "2025-12-31T22:00:00Z"),
        ("2026-01-01T00:00:00+00:00", "2026-01-01T00:00:00Z"),
        ("2026-01-01T00:00:00.5Z", "2026-01-01T00:00:00Z"),
        ("2026-01-01T00:00:00,123Z", "2026-01-01T00:00:00Z"),
        ("2026-01-01T0:00:00Z", "2026-01-01T00:00:00Z"),
        ("2026-01-01T00:00:00+24:60", "2025-12-30T23:00:00Z"),
        ("2024-02-29T12:30:45Z", "2024-02-29T12:30:45Z"),
    ],
)
def test_a_time_is_written_in_utc(text: str, found: str) -> None:
    assert go_time(text, micro=False) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("2026-01-01T00:00:00.000001-00:30", "2026-01-01T00:30:00.000001Z"),
        ("2024-02-29T12:30:45,123456Z", "2024-02-29T12:30:45.123456Z"),
    ],
)
def test_a_time_keeps_its_microseconds(text: str, found: str) -> None:
    assert go_time(text, micro=True) == found


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("2026-13-01T00:00:00Z", ": month out of range"),
        ("2026-02-30T00:00:00Z", ": day out of range"),
        ("2026-01-01T24:00:00Z", ": hour out of range"),
        ("2026-01-01T00:60:00Z", ": minute out of range"),
        ("2026-01-01T00:00:60Z", ": second out of range"),
        ("2026-01-01T00:00:00+25:00", ": time zone offset hour out of range"),
        ("2026-01-01T00:00:00+24:61", ": time zone offset minute out of range"),
        ("2026-01-01T00:00:00Zx", ': extra text: "x"'),
        ("2026-1-1T0:00:00Z", f' as "{SECONDS}": cannot parse "1-1T0:00:00Z" as "01"'),
        ("2026-01-01 00:00:00Z", f' as "{SECONDS}": cannot parse " 00:00:00Z" as "T"'),
        ("2026-01-01T00:00:00", f' as "{SECONDS}": cannot parse "" as "Z07:00"'),
        ("2026-01-01T00:00:00*01:00", f' as "{SECONDS}": cannot parse "*01:00" as "Z07:00"'),
        ("2026", f' as "{SECONDS}": cannot parse "" as "-"'),
        ("x", f' as "{SECONDS}": cannot parse "x" as "2006"'),
    ],
)
def test_a_wrong_time_is_refused_as_by_go(text: str, problem: str) -> None:
    with pytest.raises(TimeTextError) as refused:
        go_time(text, micro=False)
    assert str(refused.value) == f'parsing time "{text}"{problem}'


@pytest.mark.parametrize(
    ("text", "rest", "element"),
    [
        ("2026-01-01T00:00:00Z", "Z", ".000000"),
        ("2026-01-01T00:00:00.5Z", ".5Z", ".000000"),
        ("2026-01-01T00:00:00.1234567Z", "7Z", "Z07:00"),
    ],
)
def test_a_time_without_its_microseconds_is_refused(text: str, rest: str, element: str) -> None:
    with pytest.raises(TimeTextError) as refused:
        go_time(text, micro=True)
    found = f'parsing time "{text}" as "{MICRO}": cannot parse "{rest}" as "{element}"'
    assert str(refused.value) == found


def test_characters_outside_ascii_are_quoted_as_bytes() -> None:
    with pytest.raises(TimeTextError, match=r'cannot parse "\\xc3\\xa9\\"\\\\" as "2006"'):
        go_time('é"\\', micro=False)


@given(st.datetimes().map(lambda time: f"{time:%Y-%m-%dT%H:%M:%S}".zfill(19)))
def test_a_time_in_utc_keeps_its_text(text: str) -> None:
    assert go_time(f"{text}Z", micro=False) == f"{text}Z"
    assert go_time(f"{text}.000009Z", micro=True) == f"{text}.000009Z"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("YQ==", "YQ=="),
        ("YQ==\n", "YQ=="),
        ("YW\r\nJj", "YWJj"),
        ("YQ=\n=", "YQ=="),
        ("YR==", "YQ=="),
        ("YWJ=", "YWI="),
        ("", ""),
    ],
)
def test_base64_is_written_in_one_form(text: str, found: str) -> None:
    assert canonical_base64(text) == found


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("YQ", 0),
        ("Y\nQ", 1),
        ("YQ==YQ==", 4),
        ("YQ===", 4),
        ("Y=Q=", 1),
        ("YQ=", 3),
        ("YQ=Q", 2),
        ("YWI=Q", 4),
        ("a b", 1),
        ("YWJj-_", 4),
        ("é", 0),
    ],
)
def test_the_place_of_a_fault_in_base64_is_that_of_go(text: str, place: int) -> None:
    with pytest.raises(Base64Error, match=f"^illegal base64 data at input byte {place}$"):
        canonical_base64(text)
