"""Fixed-width integers of Go: sums that exceed their width wrap around."""

from typing import Final

INT32_MAX: Final = 2**31 - 1


def int32(number: int) -> int:
    """The low 32 bits of ``number``, signed."""
    return (number + 2**31) % 2**32 - 2**31


def int64(number: int) -> int:
    """The low 64 bits of ``number``, signed."""
    return (number + 2**63) % 2**64 - 2**63
