"""Networks of addresses: the fast readers agree with the standard library."""

import ipaddress

from hypothesis import given
from hypothesis import strategies as st

from stretto.api.checks.fields.addresses import (
    address_of,
    address_problems,
    is_address,
    network_problems,
    network_warnings,
    subnet_of,
)

OCTETS = st.sampled_from(["0", "1", "10", "127", "255", "256", "", "x", "1e"])
ADDRESSES = st.lists(OCTETS, min_size=3, max_size=5).map(".".join)
GROUPS = st.sampled_from(["0", "1", "ffff", "FFFF", "0ab", "", "", "00001", "x", "1.2.3.4"])
NEW_ADDRESSES = st.lists(GROUPS, min_size=2, max_size=9).map(":".join)
LENGTHS = st.sampled_from(["0", "8", "31", "32", "33", "x"])


def is_valid(text: str) -> bool:
    try:
        ipaddress.ip_network(text, strict=False)
    except ValueError:
        return False
    return True


@given(ADDRESSES, LENGTHS)
def test_a_network_is_valid_as_in_the_standard_library(address: str, length: str) -> None:
    text = f"{address}/{length}"
    found = subnet_of(text)
    assert (found is not None) is is_valid(text)
    if found is not None:
        known = ipaddress.ip_network(text, strict=False)
        assert found == (known.version, int(known[0]), int(known[-1]))


@given(ADDRESSES)
def test_an_address_is_valid_as_in_the_standard_library(address: str) -> None:
    assert is_address(address) is is_valid(f"{address}/32")


@given(NEW_ADDRESSES)
def test_an_address_of_ipv6_is_read_as_in_the_standard_library(address: str) -> None:
    if is_valid(f"{address}/128"):
        assert address_of(address) == ipaddress.ip_address(address)
    elif "00001" not in address:  # the library refuses leading zeros
        assert not is_address(address)


def test_a_network_is_within_a_larger_one_of_its_version() -> None:
    names = ("10.1.0.0/16", "10.0.0.0/8", "11.0.0.0/8", "::/0")
    inner, outer, other, six = (subnet_of(name) for name in names)
    found = [bool(inner and each and inner.is_within(each)) for each in (outer, other, six, inner)]
    assert found == [True, False, False, False]


@given(ADDRESSES.filter(lambda text: text[0].isdigit()), LENGTHS)
def test_leading_zeros_do_not_change_a_network_but_are_refused(address: str, length: str) -> None:
    plain, padded = f"{address}/{length}", f"0{address}/0{length}"
    assert subnet_of(padded) == subnet_of(plain)
    assert network_problems(padded)


@given(st.integers(0, 2**128 - 1), st.integers(0, 128))
def test_a_network_has_no_bits_behind_its_prefix(number: int, bits: int) -> None:
    text = f"{ipaddress.IPv6Address(number)}/{bits}"
    is_aligned = ipaddress.ip_network(text, strict=False)[0] == ipaddress.IPv6Address(number)
    is_mapped = number >> 32 == 0xFFFF
    assert (network_problems(text, canonical=True) == []) == (is_aligned and not is_mapped)


@given(st.ip_addresses(v=6))
def test_an_address_in_its_canonical_form_has_no_problems(address: ipaddress.IPv6Address) -> None:
    if address.ipv4_mapped is None:
        assert address_problems(str(address), canonical=True) == []


@given(st.ip_addresses(v=6), st.sampled_from([0, 32, 64, 96, 112]))
def test_the_canonical_form_is_that_of_the_standard_library(
    address: ipaddress.IPv6Address, zeros: int
) -> None:
    text = f"{ipaddress.IPv6Address(int(address) >> zeros)}/128"
    assert network_warnings("x", text) == []
