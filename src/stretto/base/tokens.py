"""Secrets that must not be guessed: the only values that no seed repeats."""

import secrets  # noqa: TID251  (a token that a seed repeats is no secret)
from typing import Final

_BYTES: Final = 18


def new_token() -> str:
    """A fresh token of 144 bits, for URLs and headers."""
    return secrets.token_urlsafe(_BYTES)
