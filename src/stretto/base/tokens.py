"""Secrets that must not be guessable: the only values that no seed repeats."""

import secrets
from typing import Final

_BYTES: Final = 24
_SEED_BITS: Final = 63


def new_token() -> str:
    """A fresh token of 192 bits, for URLs and headers."""
    return secrets.token_urlsafe(_BYTES)


def unique_seed() -> int:
    """Return a seed for identities that no other process has."""
    return secrets.randbits(_SEED_BITS)
