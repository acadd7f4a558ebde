"""String formats in the schemas of custom resources."""

import base64
import binascii
import ipaddress
import re
from collections import Counter
from collections.abc import Callable, Mapping
from datetime import date, datetime
from typing import Final

from stretto.api.checks.fields.addresses import address_of
from stretto.api.checks.fields.texts import dns_label, dns_subdomain
from stretto.api.wire.names import LABEL_CHARS

_UUID: Final = r"(?i)[0-9a-f]{8}-?[0-9a-f]{4}-?%s-?[0-9a-f]{12}"
_ANY_UUID: Final = re.compile(_UUID % "[0-9a-f]{4}-?[0-9a-f]{4}")
_UUID3: Final = re.compile(_UUID % "3[0-9a-f]{3}-?[0-9a-f]{4}")
_UUID4: Final = re.compile(_UUID % "4[0-9a-f]{3}-?[89ab][0-9a-f]{3}")
_UUID5: Final = re.compile(_UUID % "5[0-9a-f]{3}-?[89ab][0-9a-f]{3}")
_HOST: Final = re.compile(
    r"[^\W_](-?[^\W_]{0,62})?|([^\W_](([^\W_]|-){0,61}[^\W_])?\.)+[^\W\d_]{2,63}"
)
"""One label with at most one dash, or labels that end with a word of letters."""
_HOST_CHARS: Final = 255
_MAIL: Final = re.compile(r"[^@\s<>]+@[^@\s<>]+|[^@<>]*<[^@\s<>]+@[^@\s<>]+>")
"""An address, or a name and an address in angle brackets."""
_MAC: Final = re.compile(r"([0-9a-fA-F]{2}[:-]){5}[0-9a-fA-F]{2}")
_DURATION: Final = re.compile(
    r"[+-]?(?:0|(?:(?:\d++(?:\.\d*+)?|\.\d++)(?:ns|us|µs|μs|ms|s|m|h))++)", re.ASCII
)
"""A duration in the notation of Go."""
_AMOUNT: Final = re.compile(r"(?<!\d)(\d++)\s*+([A-Za-zµ]++)", re.ASCII)
"""An amount with a unit; the search takes time by the length of the text alone."""
_MOST_DIGITS: Final = 19
"""Maximum digits of an amount, which has 64 bits."""
_UNITS: Final = (
    (("ns", "nano"), 1),
    (("us", "µs", "micro"), 10**3),
    (("ms", "milli"), 10**6),
    (("s", "sec"), 10**9),
    (("m", "min"), 60 * 10**9),
    (("h", "hr", "hour"), 3600 * 10**9),
    (("d", "day"), 86_400 * 10**9),
    (("w", "wk", "week"), 604_800 * 10**9),
)
"""Names of units, and their nanoseconds; a unit may have an ending after its last name."""
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:?\d\d)")
_URI: Final = re.compile(r"([a-zA-Z][-+.a-zA-Z0-9]*:|/)[^\s]*")
_COLOR: Final = re.compile(r"#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})")
_SHADE: Final = r"\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*"
_RGB: Final = re.compile(rf"rgb\({_SHADE},{_SHADE},{_SHADE}\)", re.ASCII)
_OBJECT_ID: Final = re.compile(r"[0-9a-fA-F]{24}")
_SOCIAL: Final = re.compile(r"\d{3}[- ]\d{2}[- ]\d{4}", re.ASCII)
_SEPARATORS: Final = re.compile(r"[\s-]+")
_NO_DIGITS: Final = re.compile(r"[^0-9]+")
_CARD: Final = re.compile(
    r"4[0-9]{12}([0-9]{3})?|5[1-5][0-9]{14}|6(011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}"
    r"|3(0[0-5]|[68][0-9])[0-9]{11}|(2131|1800|35[0-9]{3})[0-9]{11}"
)
_ISBN_10: Final = re.compile(r"[0-9]{9}[0-9X]")
_ISBN_13: Final = re.compile(r"[0-9]{13}")


_MOST_WORDED: Final = 10_000
"""Maximum characters of a duration in words."""


def worded_duration(text: str) -> int | None:
    """Return the nanoseconds of amounts with words such as ``2 days``; ``None`` without any.

    Everything else in the text has no meaning, as in ``strfmt/duration.go`` of kube-openapi. A text
    of many pages has no amount.
    """
    if len(text) > _MOST_WORDED:
        return None
    parts = Counter(_AMOUNT.findall(text))
    if any(len(amount) > _MOST_DIGITS < len(amount.lstrip("0")) for amount, _ in parts):
        return None
    units = {unit: _nanos_of(unit.lower()) for _, unit in parts}
    found = [
        int(amount.lstrip("0") or "0") * nanos * count
        for (amount, unit), count in parts.items()
        for nanos in units[unit]
    ]
    return sum(found) if found else None


def _nanos_of(unit: str) -> list[int]:
    return [nanos for names, nanos in _UNITS if unit in names or unit.startswith(names[-1])]


def _is_duration(text: str) -> bool:
    return bool(_DURATION.fullmatch(text)) or worded_duration(text) is not None


def _base64(text: str) -> None:
    """Refuse a text that is not base64; an empty one is not, as in kube-openapi."""
    if not text:
        raise ValueError(text)
    base64.b64decode(text, validate=True)


def _network(text: str) -> None:
    """Refuse a text that is not an address with the length of its prefix."""
    if "/" not in text:
        raise ValueError(text)
    ipaddress.ip_network(text, strict=False)


def _parses(parse: Callable[[str], object]) -> Callable[[str], bool]:
    def holds(text: str) -> bool:
        try:
            parse(text)
        except (ValueError, binascii.Error):
            return False
        return True

    return holds


def _matches(pattern: re.Pattern[str]) -> Callable[[str], bool]:
    return lambda text: pattern.fullmatch(text) is not None


def _is_host(text: str) -> bool:
    if len(text) > _HOST_CHARS or _HOST.fullmatch(text) is None:
        return False
    return all(len(label) <= LABEL_CHARS for label in text.split("."))


def _date_time(text: str) -> bool:
    if _TIME.fullmatch(text) is None:
        return False
    return _parses(datetime.fromisoformat)(text.upper().replace("Z", "+00:00"))


def _is_isbn_10(text: str) -> bool:
    digits = _SEPARATORS.sub("", text)
    if _ISBN_10.fullmatch(digits) is None:
        return False
    values = [10 if each == "X" else int(each) for each in digits]
    return sum(place * each for place, each in enumerate(values, 1)) % 11 == 0


def _is_isbn_13(text: str) -> bool:
    digits = _SEPARATORS.sub("", text)
    if _ISBN_13.fullmatch(digits) is None:
        return False
    return sum(int(each) * (3 if place % 2 else 1) for place, each in enumerate(digits)) % 10 == 0


def _is_card(text: str) -> bool:
    digits = _NO_DIGITS.sub("", text)
    if _CARD.fullmatch(digits) is None:
        return False
    doubled = [int(each) * (2 if place % 2 else 1) for place, each in enumerate(reversed(digits))]
    return sum(each - 9 if each > 9 else each for each in doubled) % 10 == 0


def _is_ipv4(text: str) -> bool:
    found = address_of(text)
    return found is not None and "." in text


FORMATS: Final[Mapping[str, Callable[[str], bool]]] = {
    "date-time": _date_time,
    "date": _parses(date.fromisoformat),
    "uuid": _matches(_ANY_UUID),
    "uuid3": _matches(_UUID3),
    "uuid4": _matches(_UUID4),
    "uuid5": _matches(_UUID5),
    "hostname": _is_host,
    "email": _matches(_MAIL),
    "mac": _matches(_MAC),
    "duration": _is_duration,
    "byte": _parses(_base64),
    "ipv4": _is_ipv4,
    "ipv6": _parses(ipaddress.IPv6Address),
    "cidr": _parses(_network),
    "uri": _matches(_URI),
    "hexcolor": _matches(_COLOR),
    "rgbcolor": _matches(_RGB),
    "bsonobjectid": _matches(_OBJECT_ID),
    "ssn": _matches(_SOCIAL),
    "isbn": lambda text: _is_isbn_10(text) or _is_isbn_13(text),
    "isbn10": _is_isbn_10,
    "isbn13": _is_isbn_13,
    "creditcard": _is_card,
    "password": lambda _text: True,
    "k8s-short-name": lambda text: not dns_label(text),
    "k8s-long-name": lambda text: not dns_subdomain(text),
}
"""Tests by format; all other formats are ignored."""
_BY_NAME: Final = {name.replace("-", ""): holds for name, holds in FORMATS.items()}
"""Tests by the names of formats without dashes, which have no meaning."""
_NUMERIC: Final = {"integer": ("int32", "int64"), "number": ("float", "double")}
"""Formats of numbers by their type."""


def format_test(name: str) -> Callable[[str], bool] | None:
    """Return the test of a format of texts; ``None`` for an unknown format."""
    return _BY_NAME.get(name.replace("-", ""))


def is_known_format(name: str, kind: str) -> bool:
    """Return whether a schema of a type can have a format."""
    if kind in ("", "string"):
        return format_test(name) is not None
    return name in _NUMERIC.get(kind, ())
