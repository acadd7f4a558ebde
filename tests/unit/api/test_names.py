"""A batch check of names equals the check of each name."""

from hypothesis import given
from hypothesis import strategies as st

from stretto.api.checks.fields.texts import (
    check_annotations,
    check_labels,
    label_key,
    label_value,
    qualified_name,
)
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


_PARTS = st.text("aB9-._/\n é", max_size=4) | st.sampled_from(["a" * 63, "a" * 64, "b." * 130])
_KEYS = st.lists(_PARTS, max_size=3).map("".join)


@given(st.dictionaries(_KEYS, _KEYS, max_size=3))
def test_labels_are_valid_if_each_key_and_each_value_is(labels: dict[str, str]) -> None:
    wrong = [*map(label_key, labels), *map(label_value, labels.values())]
    assert bool(check_labels(labels, "l")) is any(wrong)


@given(st.lists(_KEYS, max_size=3))
def test_annotations_are_valid_if_each_key_is(keys: list[str]) -> None:
    wrong = [qualified_name(each.lower()) for each in keys]
    assert bool(check_annotations(dict.fromkeys(keys, "v"), "a")) is any(wrong)
