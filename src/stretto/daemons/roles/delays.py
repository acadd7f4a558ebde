"""How long a decision waits that was refused again and again, whoever is kept waiting."""

from typing import Final

FIRST: Final = 0.5
"""Seconds after the second refusal; doubles with each further one."""
LONGEST: Final = 30.0
"""Seconds at most."""


def backoff_after(count: int) -> float:
    """Seconds after so many refusals: the first is bad luck, and waits for nothing."""
    return float(min(LONGEST, FIRST * 2.0 ** min(count - 2, 16))) if count > 1 else 0.0
