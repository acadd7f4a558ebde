"""CEL rules of definitions: the compiler knows the types of the schema."""

from typing import Any

import pytest

from stretto.web.api.cel.schemas import escaped

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
PATH = "/apis/ex.io/v1/namespaces/default/tests"
TEXT = {"type": "string"}
SHORT = {**TEXT, "maxLength": 9}
PROPERTIES: dict[str, Any] = {
    "s": TEXT,
    "i": {"type": "integer"},
    "t": {"type": "string", "format": "date-time"},
    "e": {"x-kubernetes-int-or-string": True},
    "l": {"type": "array", "items": SHORT, "maxItems": 9},
    "ll": {"type": "array", "items": {"type": "array", "items": TEXT}},
    "m": {"type": "object", "additionalProperties": {"type": "integer"}, "maxProperties": 9},
    "o": {"type": "object", "properties": {"x": TEXT}},
    "namespace": TEXT,
    "a-b": TEXT,
    "a_b": {"type": "object", "additionalProperties": TEXT},
    "aB": {"type": "object", "additionalProperties": TEXT},
    "MEntry": TEXT,
}


def definition(rule: dict[str, Any], properties: dict[str, Any] = PROPERTIES) -> dict[str, Any]:
    spec = {"type": "object", "properties": properties, "x-kubernetes-validations": [rule]}
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema}
    names = {"plural": "tests", "kind": "Test", "singular": "test", "listKind": "TestList"}
    body = {"group": "ex.io", "scope": "Namespaced", "names": names, "versions": [version]}
    return {"metadata": {"name": "tests.ex.io"}, "spec": body}


@pytest.mark.parametrize(
    "rule",
    [
        "self.s == 'a' && self.i > 1",
        "self.t > timestamp('2020-01-01T00:00:00Z')",
        "self.e == 1 || self.e == 'a'",
        "self.l.all(x, x.startsWith('a'))",
        "self.ll[0][0] == 'a'",
        "self.m['a'] > 1 && self.m.all(k, k != '')",
        "has(self.o.x) && self.o.x == 'a'",
        "self.__namespace__ == self.a__dash__b",
        "has(self.namespace) && self.namespace == 'a'",
        "self.a_b['x'] == self.aB['x'] && self.MEntry == ''",
        "self == oldSelf",
        "self.i > 1.5 && self.i < 2.5",
        "self.l.indexOf('a') == 1",
    ],
)
def test_a_rule_may_read_the_fields_of_its_schema(send: Any, rule: str) -> None:
    assert send("POST", f"{DEFINITIONS}?dryRun=All", definition({"rule": rule})).status == 201


@pytest.mark.parametrize(
    ("rule", "problem"),
    [
        ("self.zz == 1", "<input>:1:5: undefined field 'zz'\\n"),
        ("self.s > 1", "found no matching overload for '_>_' applied to '(string, int)'"),
        ("self.i.matches('a')", "overload for 'matches' applied to 'int.(string)'"),
        ("self.t.matches('a')", "overload for 'matches' applied to 'timestamp.(string)'"),
        ("self.s.all(x, x)", "expression of type 'string' cannot be range of a comprehension"),
        ("self.s.x == 1", "type 'string' does not support field selection"),
        ("self.s", "cel expression must evaluate to a bool"),
    ],
)
def test_a_rule_that_does_not_match_the_types_is_refused(
    send: Any, rule: str, problem: str
) -> None:
    reply = send("POST", DEFINITIONS, definition({"rule": rule}))
    assert problem.replace("\\n", "\n") in reply.message


def test_errors_are_in_the_order_of_their_positions(send: Any) -> None:
    reply = send("POST", DEFINITIONS, definition({"rule": "self.i > duration(no)"}))
    first, second = reply.message.index(":1:8:"), reply.message.index(":1:19:")
    assert first < second


def test_only_a_rule_with_a_former_value_may_state_that_it_is_optional(send: Any) -> None:
    reply = send("POST", DEFINITIONS, definition({"rule": "true", "optionalOldSelf": True}))
    assert "may not be set if oldSelf is not used in rule" in reply.message


def test_items_of_an_atomic_list_have_no_former_value(send: Any) -> None:
    item = {**TEXT, "x-kubernetes-validations": [{"rule": "self == oldSelf"}]}
    body = definition({"rule": "true"}, {"l": {"type": "array", "items": item}})
    message = send("POST", DEFINITIONS, body).message
    assert "oldSelf cannot be used on the uncorrelatable portion of the schema" in message


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("a", "a"),
        ("in", "__in__"),
        ("a.b/c-d", "a__dot__b__slash__c__dash__d"),
        ("1", ""),
        ("é", ""),
    ],
)
def test_the_name_of_a_field_is_escaped(name: str, shown: str) -> None:
    assert escaped(name) == shown


def test_a_rule_reads_a_field_with_an_escaped_name(send: Any) -> None:
    rule = "self.a__dash__b == self.__namespace__ && self.namespace == self.__namespace__"
    send("POST", DEFINITIONS, definition({"rule": rule}))
    item = {"apiVersion": "ex.io/v1", "kind": "Test", "metadata": {"name": "a"}}
    good = send("POST", PATH, {**item, "spec": {"a-b": "x", "namespace": "x"}})
    bad = send("POST", PATH, {**item, "spec": {"a-b": "x", "namespace": "y"}})
    assert (good.status, bad.status) == (201, 422)


@pytest.mark.parametrize(
    ("rule", "status"),
    [
        ("self.t > timestamp('2020-01-01T00:00:00Z')", 201),
        ("self.t.getFullYear() == 2020", 422),
        ("self.d == duration('90s')", 201),
        ("self.b == b'ab'", 201),
        ("self.day == timestamp('2024-05-01T00:00:00Z')", 201),
    ],
)
def test_texts_with_a_format_are_values_of_a_type(send: Any, rule: str, status: int) -> None:
    formats = {"t": "date-time", "d": "duration", "b": "byte", "day": "date"}
    properties = {name: {**TEXT, "format": each} for name, each in formats.items()}
    send("POST", DEFINITIONS, definition({"rule": rule}, properties))
    spec = {"t": "2024-05-01T12:00:00+02:00", "d": "1m30s", "b": "YWI=", "day": "2024-05-01"}
    item = {"apiVersion": "ex.io/v1", "kind": "Test", "metadata": {"name": "a"}, "spec": spec}
    assert send("POST", PATH, item).status == status


def test_a_definition_of_many_rules_is_compiled_with_types(send: Any) -> None:
    rule = [{"rule": "self.zz == 1"}]
    each = {"type": "object", "properties": {"x": TEXT}, "x-kubernetes-validations": rule}
    body = definition({"rule": "true"}, {f"p{index}": each for index in range(60)})
    assert "undefined field 'zz'" in send("POST", f"{DEFINITIONS}?dryRun=All", body).message
