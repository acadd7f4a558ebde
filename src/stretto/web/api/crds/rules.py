"""Evaluation of CEL rules of schemas (``x-kubernetes-validations``) on objects."""

from collections.abc import Iterator
from typing import Any, Final

from stretto.api.checks.fields.errors import Errors, FieldError, shown
from stretto.web.api.cel.programs import CelError, evaluate, holds
from stretto.web.api.cel.schemas import rule_value

Json = dict[str, Any]

_REASONS: Final = {
    "FieldValueForbidden": "Forbidden",
    "FieldValueRequired": "Required value",
    "FieldValueDuplicate": "Duplicate value",
}
_BLOCKED: Final = (
    "some validation rules were not checked because the object was invalid; correct the existing "
    "errors to complete validation"
)


def check_rules(schema: Json, item: Json, old: Json | None, *, blocked: bool) -> Errors:
    """Return the errors of all rules; a single error if earlier errors block the rules."""
    if blocked:
        if _has_rules(schema):
            return [FieldError("FieldValueInvalid", f"Invalid value: null: {_BLOCKED}", "<nil>")]
        return []
    return list(_walk(schema, item, old, ""))


def _has_rules(schema: Any) -> bool:
    if isinstance(schema, dict):
        return "x-kubernetes-validations" in schema or any(map(_has_rules, schema.values()))
    return isinstance(schema, list) and any(map(_has_rules, schema))


def _walk(schema: Json, value: Any, old: Any, path: str) -> Iterator[FieldError]:
    for rule in schema.get("x-kubernetes-validations") or ():
        error = _check(rule, (value, old), schema, path)
        if error is not None:
            yield error
    if isinstance(value, dict):
        properties, extra = schema.get("properties") or {}, schema.get("additionalProperties")
        for name in sorted(value):
            inner = properties.get(name) or (extra if isinstance(extra, dict) else None)
            if inner is not None and value[name] is not None:
                before = old.get(name) if isinstance(old, dict) else None
                below = f"{path}.{name}" if path else name
                if name not in properties:
                    below = f"{path}[{name}]"
                yield from _walk(inner, value[name], before, below)
    elif isinstance(value, list) and isinstance(schema.get("items"), dict):
        for index, each in enumerate(value):
            before = _partner(schema, each, old)
            yield from _walk(schema["items"], each, before, f"{path}[{index}]")


def _partner(schema: Json, item: Any, old: Any) -> Any:
    """Return the matching old item of a keyed list; ``None`` for other lists."""
    keys = schema.get("x-kubernetes-list-map-keys")
    if not keys or not isinstance(old, list) or not isinstance(item, dict):
        return None
    wanted = [item.get(key) for key in keys]
    return next(
        (each for each in old if isinstance(each, dict) and [each.get(k) for k in keys] == wanted),
        None,
    )


def _check(rule: Json, pair: tuple[Any, Any], schema: Json, path: str) -> FieldError | None:
    """Return the error of a rule for a new and a former value; ``None`` if the rule holds."""
    (value, old), text = pair, rule["rule"]
    optional = bool(rule.get("optionalOldSelf"))
    uses_old = "oldSelf" in text
    if uses_old and old is None and not optional:
        return None
    variables = {"self": rule_value(value, schema)}
    if uses_old:
        before = rule_value(old, schema)
        variables["oldSelf"] = before
        if optional:
            variables["oldSelf"] = [before] if old is not None else []
            text = text.replace("oldSelf.hasValue()", "(size(oldSelf) > 0)")
            text = text.replace("oldSelf.value()", "oldSelf[0]")
    try:
        if holds(text, variables):
            return None
    except CelError as error:
        return _error(rule, value, path, f"{error} evaluating rule: {_message(rule, variables)}")
    return _error(rule, value, path, _message(rule, variables))


def _message(rule: Json, variables: Json) -> str:
    expression = rule.get("messageExpression")
    if expression:
        try:
            found = evaluate(expression, variables)
            if isinstance(found, str) and found.strip() and "\n" not in found:
                return found
        except CelError:
            pass
    if rule.get("message"):
        return str(rule["message"])
    return f"failed rule: {rule['rule'].strip()}"


def _error(rule: Json, value: Any, path: str, text: str) -> FieldError:
    reason = rule.get("reason") or "FieldValueInvalid"
    field = (path + str(rule.get("fieldPath") or "")).removeprefix(".") or "<nil>"
    word = _REASONS.get(reason)
    if reason == "FieldValueInvalid":
        is_plain = not isinstance(value, dict | list) and not rule.get("fieldPath")
        if field == "<nil>":
            return FieldError(reason, f'Invalid value: "object": {text}', field)
        message = f"Invalid value: {shown(value)}: {text}" if is_plain else f"Invalid value: {text}"
        return FieldError(reason, message, field)
    return FieldError(reason, f"{word}: {text}", field)
