"""Addresses and networks: the values of ``ip()`` and ``cidr()``."""

import ipaddress
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from stretto.api.checks.fields.errors import quoted
from stretto.cel.functions.netip import address_problem
from stretto.cel.language.types import CelType, parsed_type
from stretto.cel.running.values import CelOpaque, EvaluationError

_Address = ipaddress.IPv4Address | ipaddress.IPv6Address
_Network = ipaddress.IPv4Network | ipaddress.IPv6Network
_LENGTH: Final = re.compile(r"0|[1-9]\d{0,17}", re.ASCII)
_MULTICAST: Final = tuple(map(ipaddress.ip_network, ("224.0.0.0/24", "ff02::/16")))
_UNICAST: Final = ipaddress.ip_network("169.254.0.0/16")
_IP: Final = parsed_type("net.IP")
_CIDR: Final = parsed_type("net.CIDR")


@dataclass(frozen=True)
class IpValue(CelOpaque):
    """An address."""

    #: The address.
    address: _Address
    kind: CelType = _IP

    def __str__(self) -> str:
        return str(self.address)

    @property
    def native(self) -> str:
        """Go's type and text of the value."""
        return f"(netip.Addr){self}"


@dataclass(frozen=True)
class CidrValue(CelOpaque):
    """A network; its address may have bits outside of the prefix."""

    #: The address as stated.
    address: _Address
    #: Bits of the prefix.
    length: int
    kind: CelType = _CIDR

    def __str__(self) -> str:
        return f"{self.address}/{self.length}"

    @property
    def native(self) -> str:
        """Go's type and text of the value."""
        return f"(netip.Prefix){self}"

    @property
    def network(self) -> _Network:
        """The addresses of the network."""
        return ipaddress.ip_network(str(self), strict=False)

    @property
    def bytes_compared(self) -> int:
        """The bytes of the prefix, which determine the cost of a comparison."""
        return -(-self.length // 8)


def _address(text: str) -> _Address:
    try:
        found = ipaddress.ip_address(text)
    except ValueError as error:
        problem = f"IP Address {quoted(text)} parse error during conversion from string: "
        raise EvaluationError(problem + address_problem(text)) from error
    if isinstance(found, ipaddress.IPv6Address):
        if found.scope_id is not None:
            raise EvaluationError(f"IP address {quoted(text)} with zone value is not allowed")
        if found.ipv4_mapped is not None:
            problem = f"IPv4-mapped IPv6 address {quoted(text)} is not allowed"
            raise EvaluationError(problem)
    return found


def _ip(value: Any) -> IpValue:
    """Return the address of a text or of a network."""
    return IpValue(value.address if isinstance(value, CidrValue) else _address(value))


def _cidr(text: str) -> CidrValue:
    head = "network address parse error during conversion from string: "
    address, slash, length = text.rpartition("/")
    parse = f"{head}{head}netip.ParsePrefix({quoted(text)}): "
    if not slash:
        raise EvaluationError(f"{parse}no '/'")
    try:
        found = ipaddress.ip_address(address)
    except ValueError as error:
        raise EvaluationError(parse + address_problem(address)) from error
    if isinstance(found, ipaddress.IPv6Address) and found.scope_id is not None:
        raise EvaluationError(f"{parse}IPv6 zones cannot be present in a prefix")
    if not _LENGTH.fullmatch(length):
        raise EvaluationError(f"{parse}bad bits after slash: {quoted(length)}")
    if int(length) > found.max_prefixlen:
        raise EvaluationError(f"{parse}prefix length out of range")
    if isinstance(found, ipaddress.IPv6Address) and found.ipv4_mapped is not None:
        problem = f"IPv4-mapped IPv6 address {quoted(text)} is not allowed"
        raise EvaluationError(f"{head}{problem}")
    return CidrValue(found, int(length))


def _succeeds(parse: Callable[[str], Any]) -> Callable[[str], bool]:
    def succeeds(text: str) -> bool:
        try:
            parse(text)
        except EvaluationError:
            return False
        return True

    return succeeds


def _contains_ip(network: CidrValue, other: Any) -> bool:
    """Return whether a network contains an address; kube-apiserver does not state its problem."""
    try:
        address = _address(other) if isinstance(other, str) else other.address
    except EvaluationError as error:
        raise EvaluationError("no such overload") from error
    return address in network.network


def _contains_cidr(network: CidrValue, other: Any) -> bool:
    inner = _cidr(other) if isinstance(other, str) else other
    if network.address.version != inner.address.version:
        return False
    return network.length <= inner.length and inner.network.network_address in network.network


def _masked(network: CidrValue) -> CidrValue:
    return CidrValue(network.network.network_address, network.length)


def _is_global_unicast(value: IpValue) -> bool:
    address = value.address
    if str(address) == "255.255.255.255" or address.is_unspecified or address.is_multicast:
        return False
    return not (address.is_loopback or _is_link_local_unicast(value))


def _is_link_local_unicast(value: IpValue) -> bool:
    address = value.address
    return address in _UNICAST if address.version == 4 else address.is_link_local


def _is_link_local_multicast(value: IpValue) -> bool:
    return any(value.address in each for each in _MULTICAST)


ADDRESSES: Final[Mapping[str, Any]] = {
    "ip": _ip,
    "cidr": _cidr,
    "isIP": _succeeds(_address),
    "isCIDR": _succeeds(_cidr),
    "ip.isCanonical": lambda text: str(_address(text)) == text,
    "containsIP": _contains_ip,
    "containsCIDR": _contains_cidr,
    "masked": _masked,
    "prefixLength": lambda network: network.length,
    "family": lambda value: value.address.version,
    "isUnspecified": lambda value: value.address.is_unspecified,
    "isLoopback": lambda value: value.address.is_loopback,
    "isLinkLocalMulticast": _is_link_local_multicast,
    "isLinkLocalUnicast": _is_link_local_unicast,
    "isGlobalUnicast": _is_global_unicast,
}
"""Functions of addresses and networks by name."""
