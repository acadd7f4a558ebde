"""Expressions have the types, the costs, the values and the errors that kube-apiserver 1.36 states.

``answers.jsonl`` contains recorded answers of its library for the variables below, ``rules.jsonl``
those for the rules of one schema.
"""

import json
from pathlib import Path
from typing import Any, Final

from stretto.cel.estimates.estimating import estimate
from stretto.cel.functions.table import IMPLEMENTATIONS
from stretto.cel.language.environment import Environment
from stretto.cel.language.signatures import declared_functions
from stretto.cel.language.types import parsed_type
from stretto.cel.programs import CelError, Compiler, stated
from stretto.cel.running.planning import OPERATORS
from stretto.web.api.cel.schemas import SchemaTypes
from stretto.web.api.crds.rules import check_rules

KINDS: Final = {
    "i": "int", "s": "string", "b": "bool", "d": "double", "u": "uint", "by": "bytes",
    "li": "list(int)", "ls": "list(string)", "ld": "list(dyn)", "m": "map(string, int)",
    "ms": "map(string, string)", "x": "dyn", "y": "dyn",
}  # fmt: skip
ENVIRONMENT: Final = Environment({name: parsed_type(kind) for name, kind in KINDS.items()})
DYNAMIC: Final = {
    "a": {"b": [1, 2, {"c": "d"}]},
    "n": None,
    "f": 1.5,
    "i": 7,
    "s": "txt",
}
VALUES: Final[dict[str, Any]] = {
    "i": 5, "s": "héllo/wörld", "b": True, "d": 2.5, "li": [3, 1, 2], "ls": ["b", "a", "c"],
    "ld": [1, "a", None, [1]], "m": {"a": 1, "b": 2}, "ms": {"k": "v"}, "x": DYNAMIC, "y": 3,
}  # fmt: skip


def lines(name: str) -> list[dict[str, Any]]:
    text = Path(__file__).with_name(name).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


ANSWERS: Final = lines("answers.jsonl")
HEAD, *RULES = lines("rules.jsonl")


def compilation(text: str) -> dict[str, Any]:
    """Return the type and the estimated cost of an expression, or its problems."""
    try:
        program = Compiler().compiled(text, ENVIRONMENT)
    except CelError as error:
        return {"issues": str(error)}
    return {"type": str(program.kind), "est": estimate(program.checked, lambda _: None)}


def evaluation(text: str) -> dict[str, Any]:
    """Return the value or the error of an expression."""
    try:
        return {"value": Compiler().compiled(text, ENVIRONMENT).evaluate(VALUES)}
    except CelError as error:
        return {"error": str(error)}


def rule_compilation(text: str) -> dict[str, Any]:
    """Return the estimated cost of a rule, or its problem."""
    types = SchemaTypes()
    kind = types.of(HEAD["schema"], "selfType")
    assert kind is not None
    try:
        program = Compiler().compiled(text, types.environment(kind.kind))
    except CelError as error:
        return {"problem": stated(error)}
    return {"cost": estimate(program.checked, kind.limit)}


def rule_errors(text: str) -> list[str]:
    """Return the errors of a rule for the recorded value."""
    schema = {**HEAD["schema"], "x-kubernetes-validations": [{"rule": text}]}
    errors = check_rules(schema, HEAD["value"], HEAD["old"], blocked=False)
    return [each.message.removeprefix('Invalid value: "object": ') for each in errors]


def part(answer: dict[str, Any], *keys: str) -> dict[str, Any]:
    return {key: answer[key] for key in keys if key in answer}


def test_expressions_compile_as_in_kubernetes() -> None:
    wanted = {each["expr"]: part(each, "type", "est", "issues") for each in ANSWERS}
    assert {text: compilation(text) for text in wanted} == wanted


def test_expressions_have_the_values_and_the_errors_of_kubernetes() -> None:
    stated = {each["expr"]: part(each, "value", "error") for each in ANSWERS}
    wanted = {text: answer for text, answer in stated.items() if answer}
    assert {text: evaluation(text) for text in wanted} == wanted


def test_rules_of_a_schema_compile_as_in_kubernetes() -> None:
    wanted = {each["rule"]: part(each, "cost", "problem") for each in RULES}
    assert {text: rule_compilation(text) for text in wanted} == wanted


def test_rules_of_a_schema_have_the_errors_of_kubernetes() -> None:
    wanted = {each["rule"]: each["errors"] for each in RULES if "errors" in each}
    assert {text: rule_errors(text) for text in wanted} == wanted


def test_each_function_of_kubernetes_is_implemented() -> None:
    assert set(declared_functions()) - set(IMPLEMENTATIONS) - OPERATORS == set()
