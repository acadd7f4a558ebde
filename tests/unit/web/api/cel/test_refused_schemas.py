"""Rules of schemas that other checks refuse: only rules of other schemas are compiled."""

from typing import Any

import pytest

from stretto.web.api.cel.checks import expression_errors

KEY = ("apiextensions.k8s.io", "CustomResourceDefinition")
ROOT = "spec.validation.openAPIV3Schema"


def definition(**properties: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties}
    version = {"name": "v1", "schema": {"openAPIV3Schema": schema}}
    return {"metadata": {"name": "a"}, "spec": {"versions": [version]}}


def text(*rules: str) -> dict[str, Any]:
    return {"type": "string", "x-kubernetes-validations": [{"rule": each} for each in rules]}


def compiled(**properties: Any) -> list[str]:
    """The names of the properties whose rules are compiled."""
    found = expression_errors(KEY, definition(**properties), None, [ROOT])
    return [each.field.partition("[")[2].partition("]")[0] for each in found]


def test_rules_beside_a_refused_schema_are_compiled() -> None:
    refused = {**text("self > 1"), "uniqueItems": True}
    assert compiled(a=refused, b=text("self > 1")) == ["b"]


def test_the_rule_of_a_part_that_only_the_outer_schema_refuses_is_compiled() -> None:
    outer = {"type": "array", "items": text("self > 1"), "x-kubernetes-list-type": "map"}
    assert compiled(a=outer) == ["a"]


@pytest.mark.parametrize(
    "other",
    [{"type": "array"}, {"type": "string", "default": 1}, {"type": "string", "pattern": "["}],
)
def test_no_rule_is_compiled_beside_a_schema_that_is_not_structural(other: Any) -> None:
    assert compiled(a=text("self > 1"), b=other) == []


def test_the_type_of_a_rule_has_a_name_of_its_own() -> None:
    inner = {"type": "object", "x-kubernetes-validations": [{"rule": "self > 1"}]}
    outer = {**inner, "properties": {"o": inner}}
    found = expression_errors(KEY, definition(a=outer), None, [])
    names = [each.message.partition("applied to '(")[2].partition(",")[0] for each in found]
    assert all(each.removeprefix("selfType").isdigit() for each in names)
    assert len(set(names)) == 2
