"""A selector written as text and as a struct selects the same labels."""

from contextlib import suppress

from hypothesis import given
from hypothesis import strategies as st

from stretto.api.wire.meta import LabelSelector, SelectorRequirement
from stretto.api.wire.selectors import label_selector, parse_labels
from stretto.base.errors import InputError

KEYS = st.sampled_from(["a", "b", "example.com/c"])
VALUES = st.sampled_from(["", "x", "y", "z-1"])
LABELS = st.dictionaries(KEYS, VALUES)
EXPRESSIONS = st.one_of(
    st.builds(
        SelectorRequirement,
        key=KEYS,
        operator=st.sampled_from(["In", "NotIn"]),
        values=st.lists(VALUES, min_size=1, max_size=3).map(tuple),
    ),
    st.builds(SelectorRequirement, key=KEYS, operator=st.sampled_from(["Exists", "DoesNotExist"])),
)
STRUCTS = st.builds(
    LabelSelector,
    match_labels=LABELS,
    match_expressions=st.lists(EXPRESSIONS, max_size=4).map(tuple),
)


@given(STRUCTS, LABELS)
def test_a_printed_selector_reads_back_as_the_same(
    struct: LabelSelector, labels: dict[str, str]
) -> None:
    selector = label_selector(struct, "x")
    again = parse_labels(str(selector))
    assert again == selector
    assert again.matches(labels) == selector.matches(labels)


@given(STRUCTS, LABELS)
def test_a_selector_reads_no_label_beyond_its_keys(
    struct: LabelSelector, labels: dict[str, str]
) -> None:
    selector = label_selector(struct, "x")
    keys = selector.keys()
    seen = {key: value for key, value in labels.items() if key in keys}
    assert selector.matches(seen) == selector.matches(labels)


@given(LABELS, LABELS)
def test_match_labels_selects_supersets(wanted: dict[str, str], labels: dict[str, str]) -> None:
    selector = label_selector(LabelSelector(match_labels=wanted), "x")
    assert selector.matches(labels) == (wanted.items() <= labels.items())


@given(st.text(max_size=20))
def test_any_text_is_read_or_refused(text: str) -> None:
    with suppress(InputError):
        assert parse_labels(str(parse_labels(text))) == parse_labels(text)
