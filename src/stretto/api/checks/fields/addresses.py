"""IP addresses and networks, with the rules and messages of kube-apiserver.

Like Go's older parsers, kube-apiserver reads numbers with leading zeros, and refuses them later
with a message of its own.
"""

import ipaddress
import re
from functools import lru_cache
from typing import Final, NamedTuple

from stretto.api.checks.fields.errors import quoted
from stretto.api.checks.fields.texts import ADDRESS_TEXT, NETWORK_TEXT

IpAddress = ipaddress.IPv4Address | ipaddress.IPv6Address

_ZEROS: Final = re.compile(r"(?<![0-9a-fA-F])0+(?=[0-9a-fA-F])")
"""Pattern of the leading zeros of a part of an address."""
_BITS: Final = {4: 32, 6: 128}
_OCTETS: Final = {str(number): number for number in range(256)}
_IPV4_PARTS: Final = 4
_MAPPED: Final = 0xFFFF
"""First 96 bits of an address of IPv6 that maps one of IPv4."""
_NO_ZEROS: Final = "must not have leading 0s"
_LINK_LOCAL_GROUPS: Final = ipaddress.ip_network("224.0.0.0/24")
_LINK_LOCAL_SCOPE: Final = 0xFF02
_SCOPE: Final = 0xFF0F
"""Bits of the first 16 of an IPv6 address that state a multicast address and its scope."""
_REACHABLE: Final = frozenset(map(str, {*range(1, 224)} - {127, 169}))
"""First bytes of IPv4 addresses that all are reachable by other hosts."""


class Subnet(NamedTuple):
    """A network of addresses."""

    #: 4 or 6.
    version: int
    #: Its first address as a number.
    first: int
    #: Its last address as a number.
    last: int

    def is_within(self, other: "Subnet") -> bool:
        """Return whether a network is a part of another one, and not all of it."""
        is_part = other.first <= self.first and self.last <= other.last
        return self.version == other.version and self != other and is_part


class _Network(NamedTuple):
    """A network as stated."""

    #: Version of its addresses, and the number of the stated one.
    version: int
    number: int
    #: Bits of its prefix.
    bits: int

    @property
    def subnet(self) -> Subnet:
        """Its addresses."""
        span = (1 << (_BITS[self.version] - self.bits)) - 1
        return Subnet(self.version, self.number & ~span, self.number | span)


@lru_cache(maxsize=4)
def address_of(text: str) -> IpAddress | None:
    """Return an address, whose parts may have leading zeros; ``None`` for another text."""
    if "%" in text:
        return None
    try:
        return ipaddress.ip_address(_ZEROS.sub("", text))
    except ValueError:
        return None


def is_address(text: str) -> bool:
    """Return whether a text is an IP address."""
    return _ipv4(text) is not None or address_of(text) is not None


def address_problems(text: str, *, canonical: bool = False) -> list[str]:
    """Return the problems of an address.

    Args:
        text: the address.
        canonical: whether it must have its canonical form.
    """
    if _ipv4(text) is not None:
        return []
    address = address_of(text)
    if address is None:
        return [ADDRESS_TEXT]
    if not _is_plain(text):
        return [_NO_ZEROS]
    if _is_mapped(address):
        return ["must not be an IPv4-mapped IPv6 address"]
    return _form_problems(text, str(address)) if canonical else []


def network_problems(text: str, *, canonical: bool = False) -> list[str]:
    """Return the problems of a network such as ``10.0.0.0/8``.

    Args:
        text: the network.
        canonical: whether it must have its canonical form.
    """
    network = _network(text)
    if network is None:
        return [NETWORK_TEXT]
    stated, _, length = text.partition("/")
    if length != str(network.bits) or not _is_plain(stated):
        return [f"{_NO_ZEROS} in IP or prefix length"]
    if network.version == 6 and network.number >> 32 == _MAPPED:
        return ["must not have an IPv4-mapped IPv6 address"]
    if network.subnet.first != network.number:
        return ["must not have bits set beyond the prefix length"]
    return _form_problems(text, _shown(network)) if canonical else []


def address_warnings(field: str, text: str) -> list[str]:
    """Return the warnings about an address in a form that is not recommended."""
    address = address_of(text)
    if address is None:
        return []
    shown = str(_unmapped(address))
    if not _is_plain(text) or _is_mapped(address):
        problem = f"non-standard IP address {quoted(text)} is invalid: use {quoted(shown)}"
        return [f"{field}: {problem}"]
    return [] if shown == text else [f"{field}: IPv6 address {_canonical(text, shown)}"]


def network_warnings(field: str, text: str) -> list[str]:
    """Return the warnings about a valid network in a form that is not recommended."""
    network = _network(text)
    if network is None or network.version == 4:
        return []
    shown = _shown(network)
    return [] if shown == text else [f"{field}: IPv6 CIDR value {_canonical(text, shown)}"]


def _shown(network: _Network) -> str:
    """Return the canonical form of a network."""
    if network.version == 4:
        return f"{ipaddress.IPv4Address(network.number)}/{network.bits}"
    return f"{ipaddress.IPv6Address(network.number)}/{network.bits}"


def _canonical(text: str, shown: str) -> str:
    return f"{quoted(text)} should be in RFC 5952 canonical format ({quoted(shown)})"


def subnet_of(text: str) -> Subnet | None:
    """Return the addresses of a network such as ``10.0.0.0/8``; ``None`` for another text."""
    network = _network(text)
    return None if network is None else network.subnet


def unreachable(text: str) -> list[str]:
    """Return why other hosts cannot reach an address, which is valid."""
    if text.partition(".")[0] in _REACHABLE:
        return []
    address = address_of(text)
    assert address is not None  # the address is valid
    address = _unmapped(address)
    checks = (
        (address.is_unspecified, f"may not be unspecified ({text})"),
        (address.is_loopback, "may not be in the loopback range (127.0.0.0/8, ::1/128)"),
        (
            address.is_link_local,
            "may not be in the link-local range (169.254.0.0/16, fe80::/10)",
        ),
        (
            _is_link_local_group(address),
            "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)",
        ),
    )
    return [detail for applies, detail in checks if applies]


@lru_cache(maxsize=4)
def _network(text: str) -> _Network | None:
    stated, _, length = text.partition("/")
    digits = length.lstrip("0") or length[-1:]
    if not (digits.isascii() and digits.isdecimal() and len(digits) <= 3):
        return None
    bits, number = int(digits), _ipv4(stated)
    if number is not None:
        return _Network(4, number, bits) if bits <= _BITS[4] else None
    address = address_of(stated)
    if address is None or bits > _BITS[address.version]:
        return None
    return _Network(address.version, int(address), bits)


def _ipv4(text: str) -> int | None:
    """Return the number of an IPv4 address, several times faster than ``ipaddress``."""
    parts = text.split(".")
    if len(parts) != _IPV4_PARTS or not _OCTETS.keys() >= set(parts):
        return None
    a, b, c, d = (_OCTETS[each] for each in parts)
    return a << 24 | b << 16 | c << 8 | d


def _is_plain(text: str) -> bool:
    """Return whether an address has no leading zeros beyond four digits of IPv6."""
    if not _ZEROS.search(text):
        return True
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _unmapped(address: IpAddress) -> IpAddress:
    """Return the IPv4 address that an address of IPv6 maps, or the address itself."""
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return mapped or address


def _is_mapped(address: IpAddress) -> bool:
    return _unmapped(address) is not address


def _form_problems(text: str, shown: str) -> list[str]:
    return [] if shown == text else [f"must be in canonical form ({quoted(shown)})"]


def _is_link_local_group(address: IpAddress) -> bool:
    if isinstance(address, ipaddress.IPv4Address):
        return address in _LINK_LOCAL_GROUPS
    return int(address) >> 112 & _SCOPE == _LINK_LOCAL_SCOPE
