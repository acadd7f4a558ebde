"""Rules of ``x-kubernetes-validations`` in schemas, except the compilation of expressions."""

from collections.abc import Iterator
from typing import Final

from stretto.api.checks.fields.errors import (
    Errors,
    FieldError,
    invalid,
    required,
    unsupported,
)
from stretto.api.checks.kinds.extension.locations import PathError, schema_at
from stretto.api.checks.kinds.extension.structure import conversion_problem
from stretto.api.checks.kinds.values import Json

_RULES: Final = "x-kubernetes-validations"
_REASONS: Final = (
    "FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired",
)  # fmt: skip


def check_expressions(schema: Json, path: str) -> Errors:
    """Check the rules of a schema."""
    found: Errors = []
    for index, rule in enumerate(schema.get(_RULES) or ()):
        where = f"{path}.{_RULES}[{index}]"
        found += [*_texts(rule, where), *_place(rule, schema, where)]
    return found


def _has_breaks(text: str) -> bool:
    return "\n" in text or "\r" in text


def _texts(rule: Json, path: str) -> Iterator[FieldError]:
    text, message = rule.get("rule", "").strip(), rule.get("message", "")
    if not text:
        yield required(f"{path}.rule", "rule is not specified")
    elif message and not message.strip():
        yield invalid(f"{path}.message", message, "must be non-empty if specified")
    elif _has_breaks(message.strip()):
        yield invalid(f"{path}.message", message, "must not contain line breaks")
    elif _has_breaks(text) and not message.strip():
        detail = "message must be specified if rule contains line breaks"
        yield required(f"{path}.message", detail)
    expression = rule.get("messageExpression", "")
    if expression and not expression.strip():
        detail = "messageExpression must be non-empty if specified"
        yield required(f"{path}.messageExpression", detail)
    reason = rule.get("reason")
    if reason is not None and reason not in _REASONS:
        yield unsupported(f"{path}.reason", reason, _REASONS)


def _place(rule: Json, schema: Json, path: str) -> Iterator[FieldError]:
    """Check the path of the field that a rule reports."""
    stated = rule.get("fieldPath", "")
    where = f"{path}.fieldPath"
    if stated and not stated.strip():
        yield invalid(where, stated, "must be non-empty if specified")
    if _has_breaks(stated):
        yield invalid(where, stated, "must not contain line breaks")
    if stated and not conversion_problem(schema):
        try:
            schema_at(schema, stated)
        except PathError:
            yield invalid(where, stated, "must be a valid path")
