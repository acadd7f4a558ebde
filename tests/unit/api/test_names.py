"""A batch check of names equals the check of each name."""

from hypothesis import given
from hypothesis import strategies as st

from stretto.api.wire.names import SUBDOMAIN_CHARS, are_dns_subdomains, is_dns_subdomain

_NAMES = st.one_of(
    st.sampled_from(
        ["web-1", "a", "x.y", "", "a,b", ",", "-a", "a-", "a..b", "A", "\ufffd", "a\n"]
    ),
    st.text("ab1-.,A", max_size=6),
    st.integers(SUBDOMAIN_CHARS - 1, SUBDOMAIN_CHARS + 1).map(lambda length: "a" * length),
)


@given(st.lists(_NAMES, max_size=5))
def test_all_are_sound_if_each_of_them_is(names: list[str]) -> None:
    assert are_dns_subdomains(names) == all(map(is_dns_subdomain, names))
