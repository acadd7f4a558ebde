"""Rules of the schemas in definitions: which causes kube-apiserver reports."""

from typing import Any

import pytest

from stretto.api.checks.fields.patterns import program_of, regex_problem
from stretto.api.checks.kinds.extension.locations import PathError, schema_at
from stretto.api.checks.kinds.extension.schemas import check_schema

Json = dict[str, Any]

TEXT = {"type": "string"}
ITEM = {"type": "object", "required": ["k"], "properties": {"k": TEXT}}
LIST = {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]}
PRESERVE = "x-kubernetes-preserve-unknown-fields"
EMBEDDED = "x-kubernetes-embedded-resource"
EITHER = "x-kubernetes-int-or-string"


def fields(schema: Json, **options: Any) -> list[str]:
    return [each.field for each in check_schema({"type": "object", **schema}, "s", **options)]


def of_a(schema: Json) -> list[str]:
    """The refused fields of a property, without its path."""
    found = fields({"properties": {"a": schema}})
    return [each.removeprefix("s.properties[a].") for each in found]


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", PRESERVE: True},
        {"type": "object", "additionalProperties": True},
        {EITHER: True, "anyOf": [{"type": "integer"}, {"type": "string"}]},
        {EITHER: True, "allOf": [{"anyOf": [{"type": "integer"}, {"type": "string"}]}]},
        {**LIST, "items": ITEM},
        {"type": "string", "pattern": r"^\p{L}+(?<n>a)$"},
        {"type": "object", "properties": {"b": TEXT}, "anyOf": [{"required": ["b"]}]},
    ],
)
def test_a_structural_schema_is_accepted(schema: Json) -> None:
    assert of_a(schema) == []


@pytest.mark.parametrize(
    ("schema", "refused"),
    [
        ({}, ["type"]),
        ({"type": "array"}, ["items"]),
        ({"type": "array", "items": {}}, ["items.type"]),
        ({"type": "null"}, ["type", "type"]),
        ({"type": "string", EMBEDDED: True}, ["properties", "type"]),
        ({EITHER: True, PRESERVE: True}, [PRESERVE]),
        ({"type": "object", "properties": {"b": TEXT}, "additionalProperties": False},
         ["additionalProperties"]),
        ({"type": "string", "uniqueItems": True}, ["uniqueItems"]),
        ({"type": "string", "$ref": "x"}, ["$ref"]),
        ({"type": "string", "definitions": {"x": TEXT}}, ["definitions"]),
        ({"type": "array", "items": [TEXT]}, ["items"]),
        ({"type": "string", PRESERVE: False}, [PRESERVE]),
        ({"type": "string", "pattern": "[a"}, ["pattern"]),
        ({"type": "string", "default": 1}, ["default"]),
        ({"type": "object", "default": {"x": 1}}, ["default"]),
    ],
)  # fmt: skip
def test_a_schema_that_is_not_structural_is_refused(schema: Json, refused: list[str]) -> None:
    assert of_a(schema) == refused


@pytest.mark.parametrize(
    ("inner", "refused"),
    [
        ({"type": "string"}, ["type"]),
        ({"nullable": True, "title": "t"}, ["nullable", "title"]),
        ({"default": 1}, ["default"]),
        ({"additionalProperties": True}, ["additionalProperties"]),
        ({PRESERVE: True}, [PRESERVE]),
        ({"allOf": [{"description": "d"}]}, ["allOf[0].description"]),
    ],
)
def test_a_junctor_only_validates_values(inner: Json, refused: list[str]) -> None:
    found = of_a({"type": "string", "oneOf": [inner]})
    assert found == [f"oneOf[0].{each}" for each in refused]


def test_a_junctor_validates_only_declared_fields() -> None:
    assert fields({"allOf": [{"properties": {"b": {}}}]}) == ["s.properties[b]"]


@pytest.mark.parametrize(
    ("schema", "refused"),
    [
        ({**LIST, "items": TEXT}, ["items.type"]),
        ({**LIST, "x-kubernetes-list-map-keys": []}, ["items", "x-kubernetes-list-map-keys"]),
        ({**LIST, "x-kubernetes-list-map-keys": ["k", "k"], "items": ITEM},
         ["x-kubernetes-list-map-keys"]),
        ({**LIST, "items": {**ITEM, "required": []}}, ["items.properties[k].default"]),
        ({**LIST, "items": {**ITEM, "nullable": True}}, ["items.nullable"]),
        ({"type": "string", "x-kubernetes-list-type": "atomic"}, ["type"]),
        ({"type": "string", "x-kubernetes-map-type": "x"}, ["type", "x-kubernetes-map-type"]),
        ({"type": "array", "items": TEXT, "x-kubernetes-list-map-keys": ["k"]},
         ["x-kubernetes-list-type"]),
    ],
)  # fmt: skip
def test_the_types_of_lists_and_maps_are_checked(schema: Json, refused: list[str]) -> None:
    assert set(of_a(schema)) >= set(refused)


@pytest.mark.parametrize(
    ("rule", "refused"),
    [
        ({"rule": " "}, "rule"),
        ({"rule": "true", "message": " "}, "message"),
        ({"rule": "true", "message": "a\nb"}, "message"),
        ({"rule": "true\n&& true"}, "message"),
        ({"rule": "true", "messageExpression": " "}, "messageExpression"),
        ({"rule": "true", "reason": "x"}, "reason"),
        ({"rule": "true", "fieldPath": ".x"}, "fieldPath"),
    ],
)
def test_a_rule_has_texts_and_a_valid_path(rule: Json, refused: str) -> None:
    where = "x-kubernetes-validations"
    schema = {"type": "object", "properties": {"b": TEXT}, where: [rule]}
    assert of_a(schema) == [f"{where}[0].{refused}"]


@pytest.mark.parametrize(
    ("schema", "refused"),
    [
        ({"additionalProperties": TEXT}, ["s.additionalProperties"]),
        ({"nullable": True}, ["s.nullable"]),
        ({"properties": {"metadata": {"type": "object", "nullable": True}}},
         ["s.properties[metadata]"]),
        ({"properties": {"kind": {"type": "integer"}}}, ["s.properties[kind].type"]),
        ({"properties": {"kind": {"type": "string", "default": "x"}}},
         ["s.properties[kind].default"]),
    ],
)  # fmt: skip
def test_the_root_of_a_schema_is_an_object_of_kubernetes(schema: Json, refused: list[str]) -> None:
    assert fields(schema) == refused


def test_with_a_status_the_root_has_few_members() -> None:
    assert fields({"maxProperties": 5}, has_status=True) == ["s"]


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        (".", "unexpected end of JSON path"),
        ("a", "expected [ or . but got: a"),
        (".x", "does not refer to a valid field"),
        (".m[a]", "expected single quoted string but got a"),
        (".m['a'", "unexpected end of JSON path"),
    ],
)
def test_a_path_that_names_no_field_has_a_reason(path: str, problem: str) -> None:
    schema = {"properties": {"m": {"additionalProperties": TEXT}}}
    with pytest.raises(PathError, match=f"^{problem.replace('[', '.')}$"):
        schema_at(schema, path)


def test_a_path_finds_the_values_of_a_map() -> None:
    assert schema_at({"properties": {"m": {"additionalProperties": TEXT}}}, ".m['a.b']") == TEXT


@pytest.mark.parametrize(
    ("pattern", "problem"),
    [
        ("a{2,1}", "invalid repeat count: `{2,1}`"),
        ("x*+", "invalid nested repetition operator: `*+`"),
        ("(?=a)", "invalid or unsupported Perl syntax: `(?=`"),
        ("[a", "missing closing ]: `[a`"),
        ("(a", "missing closing ): `(a`"),
        ("a\\", "trailing backslash at end of expression: ``"),
        (r"\C", r"invalid escape sequence: `\C`"),
        (r"\p{Foo}", r"invalid character class range: `\p{Foo}`"),
        ("(?P<n", "invalid named capture: `(?P<n`"),
    ],
)
def test_a_regular_expression_has_the_errors_of_go(pattern: str, problem: str) -> None:
    assert regex_problem(pattern) == f"error parsing regexp: {problem}"


@pytest.mark.parametrize(
    ("pattern", "text", "holds"),
    [
        (r"^\p{L}+$", "né", True),
        (r"^[\p{L}0-9]+$", "n-", False),
        (r"^\P{L}$", "1", True),
        (r"^[[:alpha:]]+\z", "ab", True),
        (r"^[[:alpha:]]+\z", "a1", False),
        (r"^\pN{2}$", "12", True),
        (r"(?P<n>a)(?i)B", "ab", True),
        (r"^\Qa.b\E$", "axb", False),
    ],
)
def test_a_text_matches_a_pattern_in_the_syntax_of_go(pattern: str, text: str, holds: bool) -> None:
    assert program_of(pattern, is_ascii=text.isascii()).matches(text) is holds


@pytest.mark.parametrize(
    "pattern", [r"a\z", r"\Qa.b\E", r"a(?i)b", r"[\p{L}0-9]", r"\\C", r"\pL{1000}"]
)
def test_an_expression_that_only_go_accepts_is_valid(pattern: str) -> None:
    assert regex_problem(pattern) == ""
