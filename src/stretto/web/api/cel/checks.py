"""Compilation checks of the expressions in policies, webhooks and definitions."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from stretto.api.checks.fields.errors import Errors, FieldError, invalid
from stretto.api.checks.kinds.extension.definitions import version_parts
from stretto.web.api.cel.devices import device_errors
from stretto.web.api.cel.programs import compile_problem, mutation_problem

Json = dict[str, Any]

_WRITE: Final = ("authorizer", "object", "oldObject", "request")
"""Variables of match conditions of webhooks."""
_RULE: Final = ("oldSelf", "self")
"""Variables of the rules of schemas."""
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
            yield from _schema(schema, f"{path}.openAPIV3Schema")


def _schema(schema: Json, path: str) -> Iterator[FieldError | None]:
    for index, rule in enumerate(schema.get("x-kubernetes-validations") or ()):
        yield from _rule(rule, f"{path}.x-kubernetes-validations[{index}]")
    for word in _BELOW:
        inner = schema.get(word)
        if word == "properties":
            for name, each in sorted((inner or {}).items()):
                yield from _schema(each, f"{path}.properties[{name}]")
        elif isinstance(inner, dict):
            yield from _schema(inner, f"{path}.{word}")


def _rule(rule: Json, path: str) -> Iterator[FieldError | None]:
    text = rule.get("rule", "")
    if text.strip() and not rule.get("optionalOldSelf"):
        problem = compile_problem(text, _RULE, wants="bool")
        if problem.startswith("must evaluate"):
            problem = "cel expression must evaluate to a bool"
        if problem:
            yield invalid(f"{path}.rule", _shown(rule), problem)
    text = rule.get("messageExpression", "")
    if text.strip():
        problem = compile_problem(text, _RULE, wants="string")
        if problem.startswith("must evaluate"):
            problem = "must evaluate to a string"
        if problem:
            shown = _shown(rule)
            yield invalid(f"{path}.messageExpression", shown, f"messageExpression {problem}")


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
