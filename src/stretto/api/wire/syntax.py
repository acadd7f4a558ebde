"""The first error in a JSON text, in the words of Go's scanner, as in Kubernetes' messages."""

import re
from collections.abc import Callable
from typing import Final

MAX_NESTING: Final = 10_000
"""Number of levels at which Go's scanner gives up."""

_SPACE: Final = re.compile(rb"[ \t\r\n]*")
_PLAIN: Final = re.compile(rb'[^"\\\x00-\x1f]*')
_MEMBERS: Final = re.compile(rb'[ \t\r\n]*\{[ \t\r\n]*"[^"\\\x00-\x1f]*"[ \t\r\n]*:')
"""Pattern of the start of an object up to its first value, which deep texts repeat."""
_DIGITS: Final = re.compile(rb"[0-9]*")
_HEX: Final = re.compile(rb"[0-9A-Fa-f]*")
_NUMBER_STARTS: Final = b"-0123456789"
_LITERALS: Final = {b"t": b"true", b"f": b"false", b"n": b"null"}
_NAMES: Final = {
    "\n": "\\n",
    "\t": "\\t",
    "\r": "\\r",
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\v": "\\v",
    "'": "\\'",
    "\\": "\\\\",
}


class JsonFaultError(Exception):
    """A text is not JSON; the message is that of Go's scanner."""


def json_fault(text: bytes) -> str:
    """Return the error in a JSON text; empty if it is valid."""
    try:
        _Scan(text).run()
    except JsonFaultError as error:
        return str(error)
    return ""


class _Scan:
    """One pass over a text; each step reads a token and selects the next step."""

    def __init__(self, text: bytes) -> None:
        self._text = text
        self._at = 0
        #: The closing brackets of open objects and lists, the outermost first.
        self._open: list[bytes] = []
        #: Reads the next token.
        self._step: Callable[[], None] = self._value

    def run(self) -> None:
        """Read one value and nothing after it."""
        while self._open or self._step != self._after_value:
            self._step()
        self._take(_SPACE)
        if self._at < len(self._text):
            raise self._unexpected("after top-level value")

    def _value(self) -> None:
        """Read a scalar, or the start of an object or list."""
        while match := _MEMBERS.match(self._text, self._at):
            self._deepen(b"}")
            self._at = match.end()
        found = self._next()
        self._step = self._after_value
        if found in (b"{", b"["):
            self._begin(found)
        elif found == b'"':
            self._string()
        elif found in _LITERALS:
            self._literal(_LITERALS[found])
        elif found in _NUMBER_STARTS:
            self._number()
        else:
            raise self._unexpected("looking for beginning of value")

    def _begin(self, bracket: bytes) -> None:
        """Read the start of an object or list, and its end if it is empty."""
        closing = b"]" if bracket == b"[" else b"}"
        self._deepen(closing)
        self._at += 1
        if self._next() == closing:
            self._at += 1
            self._open.pop()
            return
        self._step = self._value if bracket == b"[" else self._member

    def _deepen(self, closing: bytes) -> None:
        """Record an object or list that begins."""
        if len(self._open) >= MAX_NESTING:
            raise JsonFaultError("exceeded max depth")
        self._open.append(closing)

    def _member(self) -> None:
        """Read the name of a member."""
        if self._next() != b'"':
            raise self._unexpected("looking for beginning of object key string")
        self._string()
        if self._next() != b":":
            raise self._unexpected("after object key")
        self._at += 1
        self._step = self._value

    def _after_value(self) -> None:
        """Read the end of the innermost object or list, or the comma before its next value."""
        closing, found = self._open[-1], self._next()
        if found == closing:
            self._open.pop()
        elif found == b",":
            self._step = self._value if closing == b"]" else self._member
        else:
            inside = "array element" if closing == b"]" else "object key:value pair"
            raise self._unexpected(f"after {inside}")
        self._at += 1

    def _string(self) -> None:
        self._at += 1
        while True:
            self._take(_PLAIN)
            found = self._here()
            if found == b'"':
                self._at += 1
                return
            if found != b"\\":
                raise self._unexpected("in string literal")
            self._at += 1
            self._escape()

    def _escape(self) -> None:
        found = self._here()
        if found not in b'bfnrt\\/"u':
            raise self._unexpected("in string escape code")
        self._at += 1
        if found == b"u":
            end = self._at + 4
            self._take(_HEX, end)
            if self._at < end:
                self._here()
                raise self._unexpected("in \\u hexadecimal character escape")

    def _literal(self, word: bytes) -> None:
        for letter in word:
            if self._here()[0] != letter:
                place = f"in literal {word.decode()} (expecting '{chr(letter)}')"
                raise self._unexpected(place)
            self._at += 1

    def _number(self) -> None:
        if self._here() == b"-":
            self._at += 1
            self._digit("in numeric literal")
        if self._here() == b"0":
            self._at += 1
        else:
            self._take(_DIGITS)
        if self._text[self._at : self._at + 1] == b".":
            self._at += 1
            self._digit("after decimal point in numeric literal")
            self._take(_DIGITS)
        if self._text[self._at : self._at + 1] in (b"e", b"E"):
            self._at += 1
            if self._here() in b"+-":
                self._at += 1
            self._digit("in exponent of numeric literal")
            self._take(_DIGITS)

    def _digit(self, place: str) -> None:
        """Check that a digit follows."""
        if not self._here().isdigit():
            raise self._unexpected(place)

    def _take(self, pattern: re.Pattern[bytes], end: int | None = None) -> None:
        found = pattern.match(self._text, self._at, len(self._text) if end is None else end)
        self._at = found.end() if found else self._at

    def _next(self) -> bytes:
        """Return the next byte that is not white space."""
        self._take(_SPACE)
        return self._here()

    def _here(self) -> bytes:
        """Return the byte at the position.

        Raises:
            JsonFaultError: the text ends.
        """
        found = self._text[self._at : self._at + 1]
        if not found:
            raise JsonFaultError("unexpected end of JSON input")
        return found

    def _unexpected(self, place: str) -> JsonFaultError:
        """Return the error of the byte at the position."""
        found = chr(self._text[self._at])
        shown = _NAMES.get(found, found)
        if not shown.isprintable():
            shown = f"\\x{ord(found):02x}" if ord(found) < 0x80 else f"\\u{ord(found):04x}"
        return JsonFaultError(f"invalid character '{shown}' {place}")
