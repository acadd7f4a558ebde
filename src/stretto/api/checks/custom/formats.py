"""String formats in the schemas of custom resources."""

import base64
import binascii
import ipaddress
import re
from collections import Counter
from collections.abc import Callable, Mapping
from datetime import date, datetime
from typing import Final

from stretto.api.wire.names import LABEL_CHARS

_UUID: Final = re.compile(r"(?i)[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}")
_HOST: Final = re.compile(
    r"[^\W_](-?[^\W_]{0,62})?|([^\W_](([^\W_]|-){0,61}[^\W_])?\.)+[^\W\d_]{2,63}"
)
"""One label with at most one dash, or labels that end with a word of letters."""
_HOST_CHARS: Final = 255
_MAIL: Final = re.compile(r"[^@\s<>]+@[^@\s<>]+")
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


FORMATS: Final[Mapping[str, Callable[[str], bool]]] = {
    "date-time": _date_time,
    "date": _parses(date.fromisoformat),
    "uuid": _matches(_UUID),
    "uuid3": _matches(_UUID),
    "uuid4": _matches(_UUID),
    "uuid5": _matches(_UUID),
    "hostname": _is_host,
    "email": _matches(_MAIL),
    "mac": _matches(_MAC),
    "duration": _is_duration,
    "byte": _parses(_base64),
    "ipv4": _parses(ipaddress.IPv4Address),
    "ipv6": _parses(ipaddress.IPv6Address),
    "cidr": _parses(_network),
    "uri": _matches(_URI),
    "hexcolor": _matches(_COLOR),
}
"""Tests by format; all other formats are ignored."""
