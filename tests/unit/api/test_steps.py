"""Steps of the check of a value: patterns and alternatives cannot occupy the server."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stretto.api.checks.custom.values import check_value
from stretto.api.checks.fields.errors import MOST_ERRORS, FieldError, stated_errors
from stretto.api.checks.fields.patterns import pattern_of, program_of
from stretto.api.schema.structural import (
    TooManyDefaultsError,
    defaults_of,
    set_schema_defaults,
)
from stretto.cel.language.environment import Environment
from stretto.cel.language.types import STRING
from stretto.cel.programs import CelError, evaluate
from tests.support.calls import calls_of

MISSING = [{"required": [f"f{number}"]} for number in range(100)]
SCHEMAS: dict[str, tuple[dict[str, Any], Any]] = {
    "a pattern with many states": (
        {"type": "string", "pattern": "(a|b)*a(a|b){1000}c"},
        "ab" * 50_000,
    ),
    "a pattern with many characters": ({"type": "string", "pattern": r"^\pL{1000}$"}, "é"),
    "many alternatives": (
        {"type": "array", "items": {"type": "object", "anyOf": MISSING}},
        [{}] * 5_000,
    ),
    "many values of an enumeration": (
        {"type": "array", "items": {"enum": [str(number) for number in range(5_000)]}},
        ["x"] * 5_000,
    ),
}


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_value_that_needs_too_many_steps_is_refused(name: str) -> None:
    schema, value = SCHEMAS[name]
    found = []
    assert calls_of(lambda: found.extend(check_value(value, schema))) < 1_000_000
    assert (found[-1].reason, "steps" in found[-1].message) == ("FieldValueTooLong", True)


def test_a_check_ends_when_an_answer_cannot_contain_further_errors() -> None:
    schema = {"type": "array", "items": {"required": [str(number) for number in range(1_000)]}}
    found: list[FieldError] = []
    assert calls_of(lambda: found.extend(check_value([{}] * 5_000, schema))) < 100_000
    assert len(stated_errors(found)) == MOST_ERRORS + 1


def test_twenty_thousand_texts_match_a_pattern() -> None:
    texts = {
        "type": "array",
        "items": {"type": "string", "pattern": "^[a-z]([-a-z0-9]*[a-z0-9])?$"},
    }
    assert check_value(["name-12345"] * 20_000, texts) == []


@given(
    st.sampled_from(
        [r"^\w+$", r"\bx", "[^a]", ".b", "(?i)ab|c$", r"\pL", "[[:alpha:]]+", r"\x{100}?a"]
    ),
    st.text(alphabet="aAbBxX \n-", max_size=8),
)
def test_the_program_for_ascii_matches_as_that_for_all_texts(pattern: str, text: str) -> None:
    whole = pattern_of(pattern).search(text) is not None
    assert program_of(pattern, is_ascii=True).matches(text) is whole


def test_an_expression_that_searches_too_long_is_over_its_budget() -> None:
    expression = "self.matches('(a|b)*a(a|b){1000}c')"
    with pytest.raises(CelError, match="actual cost limit exceeded"):
        evaluate(expression, Environment({"self": STRING}), {"self": "ab" * 50_000})


def test_a_value_gets_no_more_defaults_than_its_limit() -> None:
    item = {"properties": {f"f{number}": {"default": number} for number in range(10)}}
    defaults = defaults_of({"items": item})
    assert set_schema_defaults([{}, {}], defaults, 20) == 0
    with pytest.raises(TooManyDefaultsError):
        set_schema_defaults([{}, {}, {}], defaults, 20)


def test_defaults_within_a_default_and_within_undeclared_members_are_set() -> None:
    inner = {"properties": {"b": {"default": 1}}}
    schema = {"properties": {"a": {"default": {}, **inner}}, "additionalProperties": inner}
    value: dict[str, Any] = {"x": {}}
    set_schema_defaults(value, defaults_of(schema))
    assert value == {"x": {"b": 1}, "a": {"b": 1}}


def test_three_thousand_networks_match_a_pattern_of_hundreds_of_instructions() -> None:
    part = "(25[0-5]|2[0-4][0-9]|[01]?[0-9][0-9]?)"
    pattern = f"^({part}\\.){{3}}{part}/([0-9]|[1-2][0-9]|3[0-2])$"
    networks = {
        "type": "array",
        "items": {"type": "string", "pattern": pattern + f"|{pattern}" * 5},
    }
    values = [f"10.{each // 250}.{each % 250}.0/24" for each in range(3_000)]
    assert check_value(values, networks) == []
