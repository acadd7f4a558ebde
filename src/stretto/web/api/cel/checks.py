"""Compilation checks of the expressions in policies, webhooks and definitions."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from stretto.api.checks.fields.errors import Errors, FieldError, invalid
from stretto.api.checks.kinds.extension.definitions import version_parts
from stretto.api.schema.structural import EMBEDDED, INT_OR_STRING
from stretto.web.api.cel.devices import device_errors
from stretto.web.api.cel.programs import (
    compile_problem,
    mutation_problem,
    typed_environment,
    typed_problem,
)
from stretto.web.api.cel.schemas import SchemaTypes

Json = dict[str, Any]

_WRITE: Final = ("authorizer", "object", "oldObject", "request")
"""Variables of match conditions of webhooks."""
_MOST_EFFORT: Final = 5_000
"""Maximum effort for the types of a version; each unit takes about 10 µs."""
_ENVIRONMENT: Final = 100
"""Effort for the environment of the rules of one schema."""
_OLD: Final = re.compile(r"\boldSelf\b")
"""The former value in the rules of schemas."""
_MUTATIONS: Final = {"applyConfiguration": "Object", "jsonPatch": "list(JSONPatch)"}
"""Members of mutations that contain an expression, and the type of its value."""
_MOST_CHARACTERS: Final = 30_000
"""Maximum total characters of an object's distinct expressions; large definitions have 15,000."""
_MOST_ERROR_TEXT: Final = 10_000
"""Characters of errors after which compilation stops; invalid expressions take longest."""
_EXPRESSIONS: Final = ("expression", "messageExpression", "rule", "valueExpression")
"""Members that contain expressions."""
_BELOW: Final = ("properties", "additionalProperties", "items")


def expression_errors(key: tuple[str, str], item: Json, old: Json | None) -> Errors:
    """Return the errors of an object's expressions; unchanged objects are not checked."""
    check = _CHECKS.get(key)
    if check is None or (old is not None and _content(item) == _content(old)):
        return []
    texts = set(_texts(item))
    if sum(map(len, texts)) > _MOST_CHARACTERS:
        problem = f"its expressions must have at most {_MOST_CHARACTERS} characters together"
        return [invalid("spec", f"{len(texts)} expressions", problem)]
    found: list[FieldError] = []
    length = 0
    for each in check(item):
        if each is not None:
            found.append(each)
            length += len(each.message)
            if length > _MOST_ERROR_TEXT:
                break
    return found


def _texts(value: Any) -> Iterator[str]:
    """Yield the expressions in a value; the decoder has limited its depth."""
    if isinstance(value, list):
        for each in value:
            yield from _texts(each)
    elif isinstance(value, dict):
        for name, inner in value.items():
            if isinstance(inner, str) and name in _EXPRESSIONS:
                yield inner
            else:
                yield from _texts(inner)


def _content(item: Json) -> Any:
    return item.get("spec"), item.get("webhooks")


def _expression(text: str, path: str, names: tuple[str, ...], wants: str = "") -> FieldError | None:
    problem = compile_problem(text, tuple(sorted(names)), wants=wants) if text.strip() else ""
    return invalid(path, text, problem) if problem else None


def _conditions(conditions: Any, path: str, names: tuple[str, ...]) -> Iterator[FieldError | None]:
    for index, each in enumerate(conditions or ()):
        where = f"{path}[{index}].expression"
        yield _expression(each.get("expression", ""), where, names, "bool")


def _conditions_of(spec: Json) -> Iterator[FieldError | None]:
    """Check the match conditions and the variables of a policy."""
    names = _readable(spec)
    yield from _conditions(spec.get("matchConditions"), "spec.matchConditions", names[:-1])
    for index, each in enumerate(spec.get("variables") or ()):
        where = f"spec.variables[{index}].expression"
        yield _expression(each.get("expression", ""), where, names)


def _readable(spec: Json) -> tuple[str, ...]:
    """Variables that the expressions of a policy may read; ``params`` requires a paramKind."""
    params = ("params",) if spec.get("paramKind") else ()
    return (*_WRITE, "namespaceObject", *params, "variables")


def _mutating_policy(item: Json) -> Iterator[FieldError | None]:
    """Check a MutatingAdmissionPolicy."""
    spec = item.get("spec") or {}
    yield from _conditions_of(spec)
    for index, each in enumerate(spec.get("mutations") or ()):
        for member, wants in _MUTATIONS.items():
            text = (each.get(member) or {}).get("expression") or ""
            names = tuple(sorted(_readable(spec)))
            problem = mutation_problem(text, names, wants) if text.strip() else ""
            if problem:
                yield invalid(f"spec.mutations[{index}].{member}.expression", text, problem)


def _policy(item: Json) -> Iterator[FieldError | None]:
    """Check a ValidatingAdmissionPolicy."""
    spec = item.get("spec") or {}
    names = _readable(spec)
    yield from _conditions_of(spec)
    for index, each in enumerate(spec.get("validations") or ()):
        where = f"spec.validations[{index}]"
        yield _expression(each.get("expression", ""), f"{where}.expression", names, "bool")
        text = each.get("messageExpression", "")
        yield _expression(text, f"{where}.messageExpression", names, "string")
    for index, each in enumerate(spec.get("auditAnnotations") or ()):
        where = f"spec.auditAnnotations[{index}].valueExpression"
        yield _expression(each.get("valueExpression", ""), where, names)


def _webhooks(item: Json) -> Iterator[FieldError | None]:
    for index, hook in enumerate(item.get("webhooks") or ()):
        path = f"webhooks[{index}].matchConditions"
        yield from _conditions(hook.get("matchConditions"), path, _WRITE)


def _definition(item: Json) -> Iterator[FieldError | None]:
    """Check the rules in the schemas of a CustomResourceDefinition."""
    for path, name, version in version_parts((item.get("spec") or {}).get("versions") or []):
        if name == "schema":
            schema = (version.get("schema") or {}).get("openAPIV3Schema") or {}
            root = {**schema, EMBEDDED: True}
            is_typed = _effort(root)[1] <= _MOST_EFFORT
            yield from _schema(root, f"{path}.openAPIV3Schema", is_typed=is_typed)


def _effort(schema: Json) -> tuple[int, int]:
    """Return the schemas in a schema, and the effort for the types of its rules."""
    below = [_effort(each) for each in _parts(schema)]
    size = 1 + sum(each for each, _ in below)
    has_rules = bool(schema.get("x-kubernetes-validations"))
    return size, sum(each for _, each in below) + has_rules * (size + _ENVIRONMENT)


def _parts(schema: Json) -> Iterator[Json]:
    yield from (schema.get("properties") or {}).values()
    yield from (
        schema[word]
        for word in _BELOW
        if isinstance(schema.get(word), dict) and word != "properties"
    )


def _schema(
    schema: Json, path: str, old_at: str = "", *, is_typed: bool
) -> Iterator[FieldError | None]:
    """Check the rules of a schema and of its parts.

    Args:
        schema: the schema.
        path: its path.
        old_at: path of the outer schema whose parts have no former value; empty without.
        is_typed: whether expressions are compiled with the types of the schema.
    """
    rules = schema.get("x-kubernetes-validations") or ()
    frame = _RuleFrame(schema, old_at, is_typed=is_typed) if rules else None
    for index, rule in enumerate(rules):
        if frame is not None:
            yield from _rule(rule, f"{path}.x-kubernetes-validations[{index}]", frame)
    for word in _BELOW:
        inner, at = schema.get(word), old_at
        if word == "properties":
            at = at or (path if schema.get("x-kubernetes-map-type") == "atomic" else "")
            for name, each in sorted((inner or {}).items()):
                yield from _schema(each, f"{path}.properties[{name}]", at, is_typed=is_typed)
        elif isinstance(inner, dict):
            if word == "items" and schema.get("x-kubernetes-list-type") != "map":
                at = at or path
            yield from _schema(inner, f"{path}.{word}", at, is_typed=is_typed)


class _RuleFrame:
    """The value of the rules of one schema."""

    def __init__(self, schema: Json, old_at: str, *, is_typed: bool) -> None:
        #: Path of the outer schema whose parts have no former value; empty without.
        self.old_at = old_at
        self._types = SchemaTypes(schema if is_typed else {INT_OR_STRING: True})
        self._environments: dict[bool, Any] = {}

    def problem(self, rule: Json, text: str, wants: str) -> str:
        """Return why an expression of a rule cannot be used; empty if it can."""
        if self._types.value is None:
            return ""
        is_optional = bool(rule.get("optionalOldSelf"))
        if is_optional not in self._environments:
            self._environments[is_optional] = typed_environment(
                self._types.value, self._types.pool, has_optional_old=is_optional
            )
        return typed_problem(text, self._environments[is_optional], wants)


def _rule(rule: Json, path: str, frame: _RuleFrame) -> Iterator[FieldError | None]:
    text = rule.get("rule", "")
    problem = frame.problem(rule, text, "bool") if text.strip() else ""
    if problem.startswith("must evaluate"):
        problem = "cel expression must evaluate to a bool"
    if problem:
        yield invalid(f"{path}.rule", _shown(rule), problem)
    else:
        yield from _message(rule, path, frame)
    if not problem and _OLD.search(text):
        if frame.old_at:
            detail = (
                "oldSelf cannot be used on the uncorrelatable portion of the schema within "
                f"{frame.old_at}"
            )
            yield invalid(f"{path}.rule", text, detail)
    elif rule.get("optionalOldSelf") is not None:
        detail = "may not be set if oldSelf is not used in rule"
        yield invalid(f"{path}.optionalOldSelf", rule["optionalOldSelf"], detail)


def _message(rule: Json, path: str, frame: _RuleFrame) -> Iterator[FieldError | None]:
    text = rule.get("messageExpression", "")
    problem = frame.problem(rule, text, "string") if text.strip() else ""
    if problem.startswith("must evaluate"):
        problem = "must evaluate to a string"
    if problem:
        detail = f"messageExpression {problem}"
        yield invalid(f"{path}.messageExpression", _shown(rule), detail)


def _shown(rule: Json) -> Json:
    """Return a rule as kube-apiserver shows it."""
    return {
        "Rule": rule.get("rule", ""),
        "Message": rule.get("message", ""),
        "MessageExpression": rule.get("messageExpression", ""),
        "Reason": rule.get("reason"),
        "FieldPath": rule.get("fieldPath", ""),
        "OptionalOldSelf": rule.get("optionalOldSelf"),
    }


_ADMISSION: Final = "admissionregistration.k8s.io"
_CHECKS: Final[Mapping[tuple[str, str], Callable[[Json], Iterator[FieldError | None]]]] = {
    (_ADMISSION, "MutatingAdmissionPolicy"): _mutating_policy,
    (_ADMISSION, "ValidatingAdmissionPolicy"): _policy,
    (_ADMISSION, "MutatingWebhookConfiguration"): _webhooks,
    (_ADMISSION, "ValidatingWebhookConfiguration"): _webhooks,
    ("apiextensions.k8s.io", "CustomResourceDefinition"): _definition,
    ("resource.k8s.io", "DeviceClass"): device_errors,
    ("resource.k8s.io", "ResourceClaim"): device_errors,
    ("resource.k8s.io", "ResourceClaimTemplate"): device_errors,
}
"""Checks by kind."""
