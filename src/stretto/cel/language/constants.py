"""Values of literals: numbers, strings and bytes with their escapes.

The rules and the texts of problems are those of ``parser/unescape.go`` in cel-go.
"""

import math
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from stretto.cel.language.tokens import TokenKind
from stretto.cel.running.values import CelUint

_MOST_INT: Final = 1 << 63
_MOST_UINT: Final = 1 << 64
_ESCAPE: Final = re.compile(r"\\(x..|X..|u.{4}|U.{8}|[0-3]..|.)")
_LETTERS: Final = dict(zip("abfnrtv", "\a\b\f\n\r\t\v", strict=True))


class LiteralValueError(Exception):
    """A literal has no value; the text is that of cel-go."""


def literal_value(kind: TokenKind, text: str) -> Any:
    """Return the value of a literal.

    Args:
        kind: the kind of the token.
        text: its text; a number may have a sign.

    Raises:
        LiteralValueError: a number or a code point is out of its range.
    """
    return _VALUES[kind](text)


def _int(text: str) -> int:
    value = _whole(text)
    if not -_MOST_INT <= value < _MOST_INT:
        raise LiteralValueError("invalid int literal")
    return value


def _uint(text: str) -> CelUint:
    value = _whole(text[:-1])
    if value >= _MOST_UINT:
        raise LiteralValueError("invalid uint literal")
    return CelUint(value)


def _whole(text: str) -> int:
    """Return a whole number; 21 digits are enough to be beyond all types."""
    digits = text.removeprefix("-")
    value = int(digits, 16) if "x" in digits else int(digits.lstrip("0")[:21] or "0")
    return value if digits == text else -value


def _float(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise LiteralValueError("invalid double literal")
    return value


def _string(text: str) -> str:
    body, is_raw = _body(text)
    return body if is_raw else _ESCAPE.sub(_character, body)


def _bytes(text: str) -> bytes:
    body, is_raw = _body(text[1:])
    if is_raw:
        return body.encode("utf-8", "surrogatepass")
    found, at = b"", 0
    for match in _ESCAPE.finditer(body):
        found += body[at : match.start()].encode("utf-8", "surrogatepass") + _octet(match[1])
        at = match.end()
    return found + body[at:].encode("utf-8", "surrogatepass")


def _body(text: str) -> tuple[str, bool]:
    """Return the text between the quotes of a literal, and whether it has no escapes."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    is_raw = text[0] in "rR"
    text = text[is_raw:]
    size = 3 if len(text) >= 6 and text[:3] in ("'''", '"""') else 1
    return text[size:-size], is_raw


def _character(match: re.Match[str]) -> str:
    escape = match[1]
    if escape[0] in "xXuU":
        return _checked(int(escape[1:], 16))
    if escape[0] in "0123":
        return _checked(int(escape, 8))
    return _LETTERS.get(escape, escape)


def _checked(code: int) -> str:
    if code > 0x10FFFF or 0xD800 <= code < 0xE000:
        raise LiteralValueError("invalid unicode code point")
    return chr(code)


def _octet(escape: str) -> bytes:
    if escape[0] in "uU":
        raise LiteralValueError("unable to unescape string")
    if escape[0] in "xX":
        return bytes((int(escape[1:], 16),))
    if escape[0] in "0123":
        return bytes((int(escape, 8),))
    return _LETTERS.get(escape, escape).encode()


_VALUES: Final[Mapping[TokenKind, Callable[[str], Any]]] = {
    TokenKind.INT: _int,
    TokenKind.UINT: _uint,
    TokenKind.FLOAT: _float,
    TokenKind.STRING: _string,
    TokenKind.BYTES: _bytes,
    TokenKind.TRUE: lambda _: True,
    TokenKind.FALSE: lambda _: False,
    TokenKind.NULL: lambda _: None,
}
"""Functions that read literals by their kind."""
