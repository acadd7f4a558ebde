"""Fixtures of the chaos tests."""

import pytest

from stretto.base.clock import ManualClock


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()
