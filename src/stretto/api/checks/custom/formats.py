"""String formats in the schemas of custom resources."""

import base64
import binascii
import ipaddress
import re
from collections.abc import Callable, Mapping
from datetime import date, datetime
from typing import Final

_UUID: Final = re.compile(r"(?i)[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}")
_HOST: Final = re.compile(
    r"[a-zA-Z0-9]([-a-zA-Z0-9]*[a-zA-Z0-9])?(\.[a-zA-Z0-9]([-a-zA-Z0-9]*[a-zA-Z0-9])?)*\.?"
)
_MAIL: Final = re.compile(r"[^@\s<>]+@[^@\s<>]+")
_MAC: Final = re.compile(r"([0-9a-fA-F]{2}[:-]){5}[0-9a-fA-F]{2}")
_UNITS: Final = (
    "ns|nano|us|µs|micro|ms|milli|s|sec|m|min|h|hr|hour|d|day|w|wk|week|"
    "nanosecond|microsecond|millisecond|second|minute"
)
_DURATION: Final = re.compile(rf"-?(\d+(\.\d+)?\s*({_UNITS})s?\s*)+|0", re.IGNORECASE)
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:?\d\d)")
_URI: Final = re.compile(r"([a-zA-Z][-+.a-zA-Z0-9]*:|/)[^\s]*")
_COLOR: Final = re.compile(r"#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})")


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
    "hostname": _matches(_HOST),
    "email": _matches(_MAIL),
    "mac": _matches(_MAC),
    "duration": _matches(_DURATION),
    "byte": _parses(lambda text: base64.b64decode(text, validate=True)),
    "ipv4": _parses(ipaddress.IPv4Address),
    "ipv6": _parses(ipaddress.IPv6Address),
    "cidr": _parses(lambda text: ipaddress.ip_network(text, strict=False)),
    "uri": _matches(_URI),
    "hexcolor": _matches(_COLOR),
}
"""Tests by format; all other formats are ignored."""
