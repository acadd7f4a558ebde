"""Back-off of decisions that were rejected repeatedly."""

from typing import Final

FIRST: Final = 0.5
"""Back-off in seconds after the second rejection; it doubles with each further rejection."""
LONGEST: Final = 30.0
"""Longest back-off in seconds."""


def backoff_after(count: int) -> float:
    """Back-off in seconds after ``count`` rejections; 0 after the first rejection."""
    return float(min(LONGEST, FIRST * 2.0 ** min(count - 2, 16))) if count > 1 else 0.0
