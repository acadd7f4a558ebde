"""Rules of schemas that other checks refuse: only rules of other schemas are compiled."""

from typing import Any

from stretto.web.api.cel.checks import expression_errors

KEY = ("apiextensions.k8s.io", "CustomResourceDefinition")
ROOT = "spec.validation.openAPIV3Schema"


def definition(**properties: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties}
    version = {"name": "v1", "schema": {"openAPIV3Schema": schema}}
    return {"metadata": {"name": "a"}, "spec": {"versions": [version]}}


def text(*rules: str) -> dict[str, Any]:
    return {"type": "string", "x-kubernetes-validations": [{"rule": each} for each in rules]}


def test_rules_beside_a_refused_schema_are_compiled() -> None:
    item = definition(a=text("self > 1"), b=text("self > 1"))
    refused = [f"{ROOT}.properties[a].x-kubernetes-validations[0].fieldPath"]
    found = expression_errors(KEY, item, None, refused)
    assert [each.field for each in found] == [
        f"{ROOT}.properties[b].x-kubernetes-validations[0].rule"
    ]


def test_no_rule_of_a_schema_without_a_type_is_compiled() -> None:
    item = definition(a=text("self > 1"))
    assert expression_errors(KEY, item, None, [f"{ROOT}.type"]) == []


def test_the_type_of_a_rule_has_a_name_of_its_own() -> None:
    inner = {"type": "object", "x-kubernetes-validations": [{"rule": "self > 1"}]}
    outer = {**inner, "properties": {"o": inner}}
    found = expression_errors(KEY, definition(a=outer), None, [])
    names = [each.message.partition("applied to '(")[2].partition(",")[0] for each in found]
    assert all(each.removeprefix("selfType").isdigit() for each in names)
    assert len(set(names)) == 2
