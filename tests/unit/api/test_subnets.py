"""Networks of addresses: the fast reader of IPv4 agrees with the standard library."""

import ipaddress

from hypothesis import given
from hypothesis import strategies as st

from stretto.api.checks.kinds.values import is_address, subnet_of

OCTETS = st.sampled_from(["0", "1", "10", "127", "255", "256", "01", "", "x", "1e"])
ADDRESSES = st.lists(OCTETS, min_size=3, max_size=5).map(".".join)
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


def test_a_network_is_within_a_larger_one_of_its_version() -> None:
    names = ("10.1.0.0/16", "10.0.0.0/8", "11.0.0.0/8", "::/0")
    inner, outer, other, six = (subnet_of(name) for name in names)
    found = [bool(inner and each and inner.is_within(each)) for each in (outer, other, six, inner)]
    assert found == [True, False, False, False]
