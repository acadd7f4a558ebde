"""IP addresses and networks, with the rules and messages of kube-apiserver.

Like Go's older parsers, kube-apiserver reads numbers with leading zeros, and refuses them later
with a message of its own.
"""

import ipaddress
import re
from functools import lru_cache
from socket import AF_INET, AF_INET6, inet_ntop, inet_pton
from typing import Final, NamedTuple

from stretto.api.checks.fields.errors import quoted
from stretto.api.checks.fields.texts import ADDRESS_TEXT, NETWORK_TEXT

IpAddress = ipaddress.IPv4Address | ipaddress.IPv6Address

_ZEROS: Final = re.compile(r"(?<![0-9a-fA-F])0+(?=[0-9a-fA-F])")
"""Pattern of the leading zeros of a part of an address."""
_BITS: Final = {4: 32, 6: 128}
_MAPPED: Final = 0xFFFF
"""First 96 bits of an address of IPv6 that maps one of IPv4."""
_LOW: Final = 0xFFFFFFFF
"""Last 32 bits of such an address: the address of IPv4."""
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


class _Address(NamedTuple):
    """An address as a number."""

    #: 4 or 6.
    version: int
    #: Its number.
    number: int

    @property
    def is_mapped(self) -> bool:
        """Return whether an address of IPv6 maps one of IPv4."""
        return self.version == 6 and self.number >> 32 == _MAPPED

    @property
    def shown(self) -> str:
        """Its canonical form."""
        if self.version == 4:
            return inet_ntop(AF_INET, self.number.to_bytes(4, "big"))
        found = inet_ntop(AF_INET6, self.number.to_bytes(16, "big"))
        return str(ipaddress.IPv6Address(self.number)) if "." in found else found


class _Network(NamedTuple):
    """A network as stated."""

    #: The stated address.
    address: _Address
    #: Bits of its prefix.
    bits: int
    #: Its addresses.
    subnet: Subnet

    @property
    def shown(self) -> str:
        """Its canonical form."""
        return f"{self.address.shown}/{self.bits}"


def address_of(text: str) -> IpAddress | None:
    """Return an address, whose parts may have leading zeros; ``None`` for another text."""
    found = _address(text)
    if found is None:
        return None
    kind = ipaddress.IPv4Address if found.version == 4 else ipaddress.IPv6Address
    return kind(found.number)


def is_address(text: str) -> bool:
    """Return whether a text is an IP address."""
    return _address(text) is not None


def address_problems(text: str, *, canonical: bool = False) -> list[str]:
    """Return the problems of an address.

    Args:
        text: the address.
        canonical: whether it must have its canonical form.
    """
    address = _address(text)
    if address is None:
        return [ADDRESS_TEXT]
    if _plain(text) is None:
        return [_NO_ZEROS]
    if address.is_mapped:
        return ["must not be an IPv4-mapped IPv6 address"]
    return _form_problems(text, address.shown) if canonical else []


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
    if length != str(network.bits) or _plain(stated) is None:
        return [f"{_NO_ZEROS} in IP or prefix length"]
    if network.address.is_mapped:
        return ["must not have an IPv4-mapped IPv6 address"]
    if network.subnet.first != network.address.number:
        return ["must not have bits set beyond the prefix length"]
    return _form_problems(text, network.shown) if canonical else []


def address_warnings(field: str, text: str) -> list[str]:
    """Return the warnings about an address in a form that is not recommended."""
    address = _address(text)
    if address is None:
        return []
    is_mapped = address.is_mapped
    shown = _Address(4, address.number & _LOW).shown if is_mapped else address.shown
    if _plain(text) is None or is_mapped:
        problem = f"non-standard IP address {quoted(text)} is invalid: use {quoted(shown)}"
        return [f"{field}: {problem}"]
    return [] if shown == text else [f"{field}: IPv6 address {_canonical(text, shown)}"]


def network_warnings(field: str, text: str) -> list[str]:
    """Return the warnings about a valid network in a form that is not recommended."""
    stated, _, length = text.partition("/")
    if ":" not in text or (_is_canonical(stated) and not length.startswith("0")):
        return []
    network = _network(text)
    if network is None:
        return []
    shown = network.shown
    return [] if shown == text else [f"{field}: IPv6 CIDR value {_canonical(text, shown)}"]


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
    address, bits = _address(stated), int(digits)
    if address is None or bits > _BITS[address.version]:
        return None
    version, number = address
    span = (1 << (_BITS[version] - bits)) - 1
    return _Network(address, bits, Subnet(version, number & ~span, number | span))


def _address(text: str) -> _Address | None:
    """Return an address, whose parts may have leading zeros; ``None`` for another text."""
    return _plain(text) or _plain(_ZEROS.sub("", text))


def _is_canonical(text: str) -> bool:
    """Return whether a text is certainly an address of IPv6 in its canonical form."""
    try:
        return "." not in text and inet_ntop(AF_INET6, inet_pton(AF_INET6, text)) == text
    except (OSError, ValueError):
        return False


@lru_cache(maxsize=4)
def _plain(text: str) -> _Address | None:
    """Return an address without leading zeros beyond four digits of IPv6; ``None`` otherwise.

    The functions of the system are several times faster than ``ipaddress``.
    """
    is_new = ":" in text
    try:
        packed = inet_pton(AF_INET6 if is_new else AF_INET, text)
    except (OSError, ValueError):
        return None
    return _Address(6 if is_new else 4, int.from_bytes(packed, "big"))


def _unmapped(address: IpAddress) -> IpAddress:
    """Return the IPv4 address that an address of IPv6 maps, or the address itself."""
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return mapped or address


def _form_problems(text: str, shown: str) -> list[str]:
    return [] if shown == text else [f"must be in canonical form ({quoted(shown)})"]


def _is_link_local_group(address: IpAddress) -> bool:
    if isinstance(address, ipaddress.IPv4Address):
        return address in _LINK_LOCAL_GROUPS
    return int(address) >> 112 & _SCOPE == _LINK_LOCAL_SCOPE
