"""Names and hashes as controllers generate them, but the same in each run."""

import hashlib
from typing import Any, Final

import msgspec

from stretto.base.rng import Rng

_ALPHABET: Final = "bcdfghjklmnpqrstvwxz2456789"
"""Characters of generated names: none can form a word."""
_LENGTH: Final = 5
_LONGEST: Final = 58
"""Characters of the longest prefix of a generated name."""
_SUFFIXES: Final = len(_ALPHABET) ** _LENGTH
_STEP: Final = 8_675_309
"""Distance of two suffixes; it has no divisor in common with their number, so none repeats."""


def prefix_of(name: str, end: str = "-") -> str:
    """The prefix of the names of a controller's pods, cut as the API server cuts it."""
    whole = f"{name}{end}"
    return whole if len(whole) <= _LONGEST else f"{name[: _LONGEST - len(end)]}{end}"


def drawn_suffix(rng: Rng) -> str:
    """The suffix of a name from ``generateName``, as the API server draws it."""
    return "".join([rng.choice(_ALPHABET) for _ in range(_LENGTH)])


def suffix_of(owner: str, number: int) -> str:
    """The suffix of one pod of a controller; those of different numbers differ."""
    start = int.from_bytes(hashlib.sha256(owner.encode()).digest()[:8])
    value, text = (start + number * _STEP) % _SUFFIXES, ""
    for _ in range(_LENGTH):
        value, digit = divmod(value, len(_ALPHABET))
        text += _ALPHABET[digit]
    return text


def hash_label(template: dict[str, Any], owner: str) -> str:
    """The hash of a pod template as a label, such as ``6d4cf56db6``; other digits than Go's."""
    text = msgspec.json.encode([owner, template], order="deterministic")
    number = int.from_bytes(hashlib.sha256(text).digest()[:4])
    return "".join(_ALPHABET[ord(digit) % len(_ALPHABET)] for digit in str(number))
