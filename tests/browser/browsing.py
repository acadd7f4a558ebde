"""Waiting for what a page shows, with limits for a busy machine."""

import time
from collections.abc import Callable
from typing import Any

LONGEST_S = 120.0
"""Seconds until a page must show something: ten times what a busy machine needs."""


def until(condition: Callable[[], object]) -> None:
    """Wait for a condition; the pages' policy forbids the browser's own way of waiting."""
    end = time.monotonic() + LONGEST_S
    while not condition():
        assert time.monotonic() < end, "the page does not show it"
        time.sleep(0.05)


def frames(page: Any) -> int:
    return int(page.get_attribute("#grid", "data-frames") or 0)
