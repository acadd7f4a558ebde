"""The first fault of a JSON text in the words of Go's scanner."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stretto.api.wire.syntax import json_fault


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "unexpected end of JSON input"),
        ("{", "unexpected end of JSON input"),
        ('{"a": [1, 2', "unexpected end of JSON input"),
        ("- op: add", "invalid character ' ' in numeric literal"),
        ("1.x", "invalid character 'x' after decimal point in numeric literal"),
        ("1e+", "unexpected end of JSON input"),
        ("1ex", "invalid character 'x' in exponent of numeric literal"),
        ("trux", "invalid character 'x' in literal true (expecting 'e')"),
        ("{'a': 1}", "invalid character '\\'' looking for beginning of object key string"),
        ('{"a" 1}', "invalid character '1' after object key"),
        ('{"a": 1 "b": 2}', "invalid character '\"' after object key:value pair"),
        ('{"a": 1,}', "invalid character '}' looking for beginning of object key string"),
        ("[1 2]", "invalid character '2' after array element"),
        ("[1,]", "invalid character ']' looking for beginning of value"),
        ('"a\nb"', "invalid character '\\n' in string literal"),
        ('"\\q"', "invalid character 'q' in string escape code"),
        ('"\\u12g4"', "invalid character 'g' in \\u hexadecimal character escape"),
        ("{} {}", "invalid character '{' after top-level value"),
        ("01", "invalid character '1' after top-level value"),
        ("\x00", "invalid character '\\x00' looking for beginning of value"),
        ("[" * 10_001, "exceeded max depth"),
    ],
)
def test_a_fault_is_named_with_its_place(text: str, fault: str) -> None:
    assert json_fault(text.encode()) == fault


_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@given(_VALUES, st.sampled_from([None, 1]), st.booleans())
def test_a_json_text_has_no_fault(value: object, indent: int | None, plain: bool) -> None:
    assert json_fault(json.dumps(value, indent=indent, ensure_ascii=plain).encode()) == ""


@given(_VALUES, st.data())
def test_a_text_has_a_fault_exactly_if_no_parser_reads_it(
    value: object, data: st.DataObject
) -> None:
    text = json.dumps(value).encode()
    place = data.draw(st.integers(0, len(text) - 1))
    broken = (
        text[:place]
        + data.draw(st.sampled_from([b"", b"{", b"]", b'"', b",", b"0", b" "]))
        + text[place + 1 :]
    )
    try:
        json.loads(broken)
    except ValueError:
        assert json_fault(broken)
    else:
        assert not json_fault(broken)
