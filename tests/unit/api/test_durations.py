"""Durations as Go writes them."""

import pytest

from stretto.api.wire.durations import seconds_of
from stretto.base.errors import InputError


@pytest.mark.parametrize(
    ("text", "seconds"), [("1m", 60.0), ("1m30s", 90.0), ("500ms", 0.5), ("1.5h", 5400.0)]
)
def test_parts_add_up(text: str, seconds: float) -> None:
    assert seconds_of(text, "when") == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "5", "m5", "-1s", "1 s"])
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(InputError, match="such as 90s"):
        seconds_of(text, "when")
