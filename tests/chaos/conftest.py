"""What the chaos tests share."""

import pytest

from stretto.base.clock import ManualClock


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()
