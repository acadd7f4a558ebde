"""Bytes in JSON as Go reads and writes them: base64 with padding, without regard to line breaks."""

import base64
import binascii
import re
from typing import Final

_BREAKS: Final = re.compile(r"[\r\n]+")
_LETTERS: Final = frozenset(
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
)
_PAD: Final = ord("=")
_GROUP: Final = 4
"""Characters of three bytes."""


class Base64Error(Exception):
    """A text is not base64; the message is that of Go."""


def canonical_base64(text: str) -> str:
    """Return a text in base64 without line breaks and with unused bits of zero.

    Raises:
        Base64Error: the text is not base64.
    """
    joined = _BREAKS.sub("", text)
    try:
        found = base64.b64encode(base64.b64decode(joined, validate=True)).decode()
    except (binascii.Error, ValueError):
        found = ""
    if len(found) != len(joined):  # other decoders accept more than Go's
        raise Base64Error(f"illegal base64 data at input byte {_fault(text.encode())}")
    return found


def _fault(text: bytes) -> int:
    """Return the position that Go reports for a text that is not base64 (``decodeQuantum``)."""
    places = [at for at, each in enumerate(text) if each not in b"\r\n"]
    count = 0
    for number, at in enumerate(places):
        if text[at] in _LETTERS:
            count = (count + 1) % _GROUP
            continue
        if text[at] != _PAD or count < 2:
            return at
        after = places[number + 1 :]
        if count == _GROUP - 1:
            return after[0] if after else len(text)
        if not after:
            return len(text)
        if text[after[0]] != _PAD:
            return after[0] - 1
        return after[1] if len(after) > 1 else len(text)
    return len(text) - count
