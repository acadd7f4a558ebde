"""Values of Kubernetes in CEL that are no values of JSON: addresses, networks, amounts, versions.

Each is a map with one marked member, because functions in Python cannot add types to CEL.
"""

import ipaddress
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from stretto.api.wire.quantity import nano
from stretto.base.errors import InputError

CelValue = dict[str, Any]

_IP: Final = "ip"
_CIDR: Final = "cidr"
_NANO: Final = "nano"
_SEMVER: Final = "semver"
_UNIT: Final = 10**9
_INT64: Final = range(-(2**63), 2**63)
_NUMBER: Final = r"(0|[1-9]\d*)"
_IDENTIFIER: Final = r"(?:0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)"
_VERSION: Final = re.compile(
    rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}(?:-({_IDENTIFIER}(?:\.{_IDENTIFIER})*))?"
    r"(?:\+[0-9a-zA-Z-]+(?:\.[0-9a-zA-Z-]+)*)?",
    re.ASCII,
)
"""A version by the rules of semantic versioning 2.0.0."""

_Address = ipaddress.IPv4Address | ipaddress.IPv6Address
_Network = ipaddress.IPv4Network | ipaddress.IPv6Network


# ---------------------------------------------------------------- addresses and networks


def parse_ip(text: Any) -> CelValue:
    """An address, as ``ip()`` creates it."""
    return {_IP: str(_address(text))}


def is_ip(text: Any) -> bool:
    """True if a text is an address."""
    return _succeeds(_address, text)


def is_canonical(text: Any) -> bool:
    """True if a text is an address in its canonical form."""
    return str(_address(text)) == str(text)


def _address(value: Any) -> _Address:
    text = str(value[_IP] if isinstance(value, Mapping) else value)
    found = ipaddress.ip_address(text)
    if "%" in text or (isinstance(found, ipaddress.IPv6Address) and found.ipv4_mapped):
        raise ValueError(f"IP Address {text!r} has a zone or is an IPv4-mapped IPv6 address")
    return found


def is_global_unicast(value: Any) -> bool:
    """True if an address is unicast and none of those that are valid on one link or host only."""
    address = _address(value)
    broadcast = str(address) == "255.255.255.255"
    local = address.is_unspecified or address.is_loopback or address.is_link_local
    return not (address.is_multicast or local or broadcast)


def parse_cidr(text: Any) -> CelValue:
    """A network, as ``cidr()`` creates it; the address may have bits outside of the prefix."""
    _network(text)
    return {_CIDR: str(text)}


def is_cidr(text: Any) -> bool:
    """True if a text is a network."""
    return _succeeds(_network, text)


def _network(value: Any) -> _Network:
    text = str(value[_CIDR] if isinstance(value, Mapping) else value)
    address, slash, length = text.partition("/")
    if not slash or not length.isdecimal():
        raise ValueError(f"network address parse error during conversion from string: {text}")
    _address(address)
    return ipaddress.ip_network(text, strict=False)


def contains_ip(network: Any, address: Any) -> bool:
    """True if an address is in a network."""
    return _address(address) in _network(network)


def contains_cidr(network: Any, other: Any) -> bool:
    """True if a network is in another."""
    outer, inner = _network(network), _network(other)
    if outer.version != inner.version:
        return False
    return outer.prefixlen <= inner.prefixlen and inner.network_address in outer


def ip_of(network: Any) -> CelValue:
    """The address of a network as stated."""
    return parse_ip(str(network[_CIDR]).partition("/")[0])


# ---------------------------------------------------------------- amounts


def parse_quantity(text: Any) -> CelValue:
    """An amount, as ``quantity()`` creates it."""
    return {_NANO: str(nano(str(text), "quantity"))}


def is_quantity(text: Any) -> bool:
    """True if a text is an amount."""
    return _succeeds(parse_quantity, text)


def _amount(value: Any) -> int:
    """Billionths of an amount or of a whole number."""
    return int(value[_NANO]) if isinstance(value, Mapping) else int(value) * _UNIT


def added(one: Any, two: Any) -> CelValue:
    """The sum of an amount and another or a whole number."""
    return {_NANO: str(_amount(one) + _amount(two))}


def subtracted(one: Any, two: Any) -> CelValue:
    """The difference of an amount and another or a whole number."""
    return {_NANO: str(_amount(one) - _amount(two))}


def sign(value: Any) -> int:
    """-1, 0 or 1."""
    amount = _amount(value)
    return (amount > 0) - (amount < 0)


def is_integer(value: Any) -> bool:
    """True if an amount is a whole number of 64 bits."""
    return _amount(value) % _UNIT == 0 and _amount(value) // _UNIT in _INT64


def as_integer(value: Any) -> int:
    """An amount as a whole number.

    Raises:
        ValueError: it is none.
    """
    if not is_integer(value):
        raise ValueError("cannot convert value to integer")
    return _amount(value) // _UNIT


def as_float(value: Any) -> float:
    """An amount as the nearest float."""
    return _amount(value) / _UNIT


# ---------------------------------------------------------------- versions


def parse_semver(text: Any, normalizes: bool = False) -> CelValue:
    """A version, as ``semver()`` creates it.

    Args:
        text: the version.
        normalizes: True to accept a prefix ``v``, absent minor and patch numbers and leading zeros.
    """
    found = _VERSION.fullmatch(_normal(str(text)) if normalizes else str(text))
    if found is None:
        raise ValueError(f"invalid version {str(text)!r}, expected MAJOR.MINOR.PATCH")
    return {_SEMVER: [int(found[1]), int(found[2]), int(found[3])], "pre": found[4] or ""}


def is_semver(text: Any, normalizes: bool = False) -> bool:
    """True if a text is a version."""
    return _succeeds(lambda each: parse_semver(each, normalizes), text)


def _normal(text: str) -> str:
    numbers, mark, rest = re.fullmatch(r"v?([^-+]*)([-+]?)(.*)", text, re.DOTALL).groups()  # type: ignore[union-attr]  # matches every text
    parts = [each.lstrip("0") or "0" if each.isdecimal() else each for each in numbers.split(".")]
    return ".".join([*parts, *["0"] * (3 - len(parts))]) + mark + rest


def number_of(index: int) -> Callable[[Any], int]:
    """The function that returns the major, the minor or the patch number of a version."""
    return lambda value: int(value[_SEMVER][index])


def _precedence(value: Any) -> tuple[Any, ...]:
    """A key that orders versions: a release follows its pre-releases, numbers precede words."""
    words = str(value["pre"]).split(".") if value["pre"] else []
    ranks = [(0, int(each), "") if each.isdecimal() else (1, 0, each) for each in words]
    return (*(int(each) for each in value[_SEMVER]), not words, ranks)


# ---------------------------------------------------------------- comparisons


def order(one: Any, two: Any) -> int:
    """-1, 0 or 1: the order of two amounts or of two versions.

    Raises:
        ValueError: one value is no version, or the other.
    """
    if (_SEMVER in one) != (_SEMVER in two):
        raise ValueError("no such overload")
    key: Callable[[Any], Any] = _precedence if _SEMVER in one else _amount
    first, second = key(one), key(two)
    return int(first > second) - int(first < second)


ADDRESS_FUNCTIONS: Final[dict[str, Callable[[Any], Any]]] = {
    "family": lambda value: _address(value).version,
    "isUnspecified": lambda value: _address(value).is_unspecified,
    "isLoopback": lambda value: _address(value).is_loopback,
    "isLinkLocalMulticast": lambda value: _is_link_local_multicast(_address(value)),
    "isLinkLocalUnicast": lambda value: _address(value).is_link_local,
    "isGlobalUnicast": is_global_unicast,
    "masked": lambda value: {_CIDR: str(_network(value))},
    "prefixLength": lambda value: _network(value).prefixlen,
}
"""Functions of an address or a network without arguments."""


def _is_link_local_multicast(address: _Address) -> bool:
    network = "224.0.0.0/24" if address.version == 4 else "ff02::/16"
    return address in ipaddress.ip_network(network)


def _succeeds(parse: Callable[[Any], Any], text: Any) -> bool:
    try:
        parse(text)
    except (ValueError, InputError):
        return False
    return True
