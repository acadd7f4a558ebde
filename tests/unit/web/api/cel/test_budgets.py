"""The cost of expressions is limited, when a definition is stored and when they are evaluated."""

from typing import Any

import pytest

from stretto.api.checks.fields.errors import FieldError
from stretto.cel.language.types import STRING
from stretto.cel.programs import CelError, evaluate
from stretto.cel.running.budget import Budget
from stretto.web.api.cel.schemas import SchemaTypes
from stretto.web.api.cel.variables import RULES
from stretto.web.api.crds.rules import check_rules

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions?dryRun=All"
TEXTS: dict[str, Any] = {"type": "array", "items": {"type": "string"}}


def definition(rule: str, field: dict[str, Any]) -> dict[str, Any]:
    spec = {"type": "object", "properties": {"l": field}}
    spec["x-kubernetes-validations"] = [{"rule": rule}]
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema}
    names = {"plural": "tests", "kind": "Test", "singular": "test", "listKind": "TestList"}
    body = {"group": "ex.io", "scope": "Namespaced", "names": names, "versions": [version]}
    return {"metadata": {"name": "tests.ex.io"}, "spec": body}


def test_a_rule_without_a_limit_of_its_list_is_refused(send: Any) -> None:
    reply = send("POST", DEFINITIONS, definition("self.l.all(x, self.l.all(y, x != y))", TEXTS))
    assert "estimated rule cost exceeds budget by factor of more than 100x" in reply.message
    assert "estimated rule cost total for entire OpenAPIv3 schema" in reply.message


def test_the_rule_is_accepted_if_the_list_is_limited(send: Any) -> None:
    field = {**TEXTS, "maxItems": 5, "items": {"type": "string", "maxLength": 5}}
    body = definition("self.l.all(x, self.l.all(y, x == y || x != y))", field)
    assert send("POST", DEFINITIONS, body).status == 201


def test_equal_rules_of_texts_with_other_limits_have_costs_of_their_own(send: Any) -> None:
    rules = [{"rule": "self.contains(self)"}]
    text = {"type": "string", "x-kubernetes-validations": rules}
    field = {"type": "object", "properties": {"a": {**text, "maxLength": 9}, "b": text}}
    reply = send("POST", DEFINITIONS, definition("true", field))
    assert "properties[b].x-kubernetes-validations[0].rule: Forbidden: estimated" in reply.message
    assert "properties[a]" not in reply.message


def test_equal_rules_of_one_type_are_compiled_once() -> None:
    types = SchemaTypes()
    assert types.environment(STRING) is types.environment(STRING)
    assert types.environment(STRING) is not types.environment(STRING, has_optional_old=True)


def test_an_evaluation_over_its_limit_ends() -> None:
    with pytest.raises(CelError, match="operation cancelled: actual cost limit exceeded"):
        evaluate("self.contains(self)", RULES, {"self": "x" * 20_000})


def test_a_loop_over_its_limit_ends() -> None:
    with pytest.raises(CelError, match="operation cancelled: actual cost limit exceeded"):
        evaluate("self.all(x, x >= 0)", RULES, {"self": list(range(100))}, Budget(100))


def checked(rules: list[dict[str, str]], size: int) -> list[FieldError]:
    """Return the errors of rules for a text of some size."""
    schema = {"type": "object", "x-kubernetes-validations": rules}
    return check_rules(schema, {"s": "x" * size}, None, blocked=False)


def test_no_rule_follows_one_over_its_limit() -> None:
    (error,) = checked([{"rule": "self.s.contains(self.s)"}, {"rule": "false"}], 20_000)
    assert "no further validation rules will be run due to call cost exceeds limit" in error.message


def test_all_rules_of_an_object_share_a_budget() -> None:
    (error,) = checked([{"rule": "self.s.contains(self.s)"}] * 12, 9_400)
    assert "running out of cost budget" in error.message


NUMBERS: list[Any] = list(range(1_000))


@pytest.mark.parametrize(
    "text",
    [
        "self.all(x, self == self)",
        "self.all(x, [self] == [self])",
        "self.all(x, self.all(y, self in [self]))",
        "self.all(x, sets.contains(self, self))",
        "self.all(x, self.all(y, quantity('1Gi').isLessThan(quantity('2Gi'))))",
    ],
)
def test_an_evaluation_whose_cost_is_less_than_its_time_ends(text: str) -> None:
    with pytest.raises(CelError, match="operation cancelled: actual cost limit exceeded"):
        evaluate(text, RULES, {"self": NUMBERS}, Budget(10**9))


def test_a_search_for_many_parts_that_reads_the_rest_each_time_ends() -> None:
    with pytest.raises(CelError, match="operation cancelled: actual cost limit exceeded"):
        evaluate("self.findAll('a.*b|a').size() > 0", RULES, {"self": "a" * 20_000})
    assert evaluate("self.findAll('a.*b|a').size()", RULES, {"self": "a" * 5_000}) == 5_000


def test_all_rules_of_an_object_share_the_work() -> None:
    rules = [{"rule": "self.l.all(x, self.l.all(y, x >= 0))"}] * 4
    schema = {"type": "object", "x-kubernetes-validations": rules}
    assert not check_rules(schema, {"l": NUMBERS[:100]}, None, blocked=False)
    (error,) = check_rules(schema, {"l": NUMBERS[:140]}, None, blocked=False)
    assert "call cost exceeds limit" in error.message


PAIRS = "[[1]]" + ".map(a, [a, a])" * 25
"""A list of few objects with 2^25 numbers."""
TENFOLD = ".map(a, {}.format([a, a, a, a, a, a, a, a, a, a]))".format("'%s%s%s%s%s%s%s%s%s%s'")


@pytest.mark.parametrize(
    "text",
    [
        "['a']" + TENFOLD * 12 + ".size() == 1",
        "[[1]]" + ".map(a, a + a + a + a + a + a + a + a)" * 12 + ".size() == 1",
        "['a', 'a'].map(a, [a].map(b, 'aaaaaaaaaa'"
        + ".replace('a', 'aaaaaaaaaa')" * 9
        + "))[0] == []",
        "'%.999999999f'.format([1.0]) == ''",
        f"{PAIRS}.flatten(100).size() == 1",
        f"{PAIRS}.map(a, '%s'.format([a])).size() == 1",
    ],
)
def test_values_that_grow_without_end_exceed_the_limit(text: str) -> None:
    with pytest.raises(CelError, match="operation cancelled: actual cost limit exceeded"):
        evaluate(text, RULES, {})


def test_equal_values_with_shared_parts_are_compared_once() -> None:
    assert evaluate(f"{PAIRS} == {PAIRS}", RULES, {}) is True


def test_a_long_list_of_a_loop_is_within_the_limit() -> None:
    assert evaluate("lists.range(20000).map(x, x).size() == 20000", RULES, {}) is True
