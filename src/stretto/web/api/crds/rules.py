"""Evaluation of CEL rules of schemas (``x-kubernetes-validations``) on objects."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from stretto.api.checks.fields.errors import Errors, FieldError, invalid, shown
from stretto.api.wire.values import is_equal
from stretto.cel.programs import CelError, evaluate
from stretto.cel.running.budget import OBJECT_EXCEEDED, OBJECT_LIMIT, Budget
from stretto.cel.running.values import LIMIT_EXCEEDED, CelOptional
from stretto.cel.running.work import Work
from stretto.web.api.cel.schemas import rule_value
from stretto.web.api.cel.variables import RULES
from stretto.web.api.crds.ratcheting import partners

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
_OLD: Final = re.compile(r"\boldSelf\b")
_MOST_MESSAGE: Final = 5 << 10
"""Maximum characters of a message that an expression creates."""


class _BudgetEndError(Exception):
    """The cost of an expression or of all rules exceeds its limit; no further rule is evaluated."""

    def __init__(self, error: FieldError) -> None:
        super().__init__(error.message)
        #: Error of the field.
        self.error = error


def check_rules(schema: Json, item: Json, old: Json | None, *, blocked: bool) -> Errors:
    """Return the errors of all rules; a single error if earlier errors block the rules."""
    if blocked:
        if _has_rules(schema):
            return [FieldError("FieldValueInvalid", f"Invalid value: null: {_BLOCKED}", "<nil>")]
        return []
    found: Errors = []
    try:
        found += _Rules().walk(schema, item, old, "")
    except _BudgetEndError as end:
        found.append(end.error)
    return found


def _has_rules(schema: Any) -> bool:
    if isinstance(schema, dict):
        return "x-kubernetes-validations" in schema or any(map(_has_rules, schema.values()))
    return isinstance(schema, list) and any(map(_has_rules, schema))


class _Rules:
    """The rules for one object, which share a budget."""

    def __init__(self) -> None:
        self._left = OBJECT_LIMIT
        self._work = Work()

    def walk(self, schema: Json, value: Any, old: Any, path: str) -> Iterator[FieldError]:
        """Yield the errors of the rules of a schema and of the schemas below it."""
        rules = schema.get("x-kubernetes-validations") or ()
        if rules:
            yield from self._all(rules, (value, old), schema, path)
        if isinstance(value, dict):
            properties, extra = schema.get("properties") or {}, schema.get("additionalProperties")
            for name in sorted(value):
                inner = properties.get(name) or (extra if isinstance(extra, dict) else None)
                if inner is not None and value[name] is not None:
                    before = old.get(name) if isinstance(old, dict) else None
                    below = f"{path}.{name}" if path else name
                    if name not in properties:
                        below = f"{path}[{name}]"
                    yield from self.walk(inner, value[name], before, below)
        elif isinstance(value, list) and isinstance(schema.get("items"), dict):
            pairs = zip(value, partners(schema, value, old), strict=True)
            for index, (each, before) in enumerate(pairs):
                yield from self.walk(schema["items"], each, before, f"{path}[{index}]")

    def _all(
        self, rules: Any, pair: tuple[Any, Any], schema: Json, path: str
    ) -> Iterator[FieldError]:
        """Yield the errors of the rules of one schema for a new and a former value.

        An unchanged value may break a rule that does not compare it with the former one.
        """
        value, old = pair
        variables: Json = {"self": rule_value(value, schema)}
        before = None if old is None else rule_value(old, schema)
        has_old = any(_OLD.search(each["rule"]) for each in rules)
        for rule in rules:
            optional, compares = bool(rule.get("optionalOldSelf")), _OLD.search(rule["rule"])
            if compares and old is None and not optional:
                continue
            former = CelOptional(() if old is None else (before,)) if optional else before
            known = {**variables, "oldSelf": former} if has_old else variables
            error = self._check(rule, (value, known), schema, path)
            if error is not None and (compares or old is None or not is_equal(value, old)):
                yield error

    def _check(
        self, rule: Json, subject: tuple[Any, Json], schema: Json, path: str
    ) -> FieldError | None:
        """Return the error of a rule for a value; ``None`` if the rule holds."""
        value, variables = subject
        kind, place, name = schema.get("type") or "", path or "<nil>", _name(rule)
        budget = Budget(work=self._work)
        try:
            holds = evaluate(rule["rule"], RULES, variables, budget)
        except CelError as error:
            self._count(budget.spent, kind, place)
            text = str(error)
            if text.startswith("no such overload"):
                rest = "call arguments did not match a supported operator, function or macro"
                return invalid(place, kind, f"'{text}': {rest} signature for rule: {name}")
            if text == LIMIT_EXCEEDED:
                rest = "no further validation rules will be run due to call cost exceeds limit for"
                problem = f"'{text}': {rest} rule: {name}"
                raise _BudgetEndError(invalid(place, kind, problem)) from error
            return invalid(place, kind, f"{text} evaluating rule: {name}")
        self._count(budget.spent, kind, place)
        if holds is True:
            return None
        return _error(rule, value, path, self._message(rule, variables, kind, place))

    def _count(self, cost: int, kind: str, place: str) -> None:
        self._left -= cost
        if self._left < 0:
            raise _BudgetEndError(invalid(place, kind, OBJECT_EXCEEDED))

    def _message(self, rule: Json, variables: Mapping[str, Any], kind: str, place: str) -> str:
        """Return the message of a rule that does not hold."""
        expression = rule.get("messageExpression")
        if expression:
            budget = Budget(work=self._work)
            try:
                found = evaluate(expression, RULES, variables, budget)
            except CelError as error:
                if str(error) == LIMIT_EXCEEDED:
                    rest = "no further validation rules will be run due to call cost exceeds limit"
                    text = f"{rest} for messageExpression: {shown(expression)}"
                    raise _BudgetEndError(invalid(place, kind, text)) from error
                found = None
            self._left -= budget.spent
            if self._left < 0:
                text = f"messageExpression evaluation {OBJECT_EXCEEDED.removeprefix('validation ')}"
                raise _BudgetEndError(invalid(place, kind, text))
            text = found.strip() if isinstance(found, str) else ""
            if text and "\n" not in text and len(text.encode()) <= _MOST_MESSAGE:
                return text
        if rule.get("message"):
            return str(rule["message"]).strip()
        return f"failed rule: {rule['rule'].strip()}"


def _name(rule: Json) -> str:
    """Return the text that names a rule in errors of its evaluation."""
    return str(rule.get("message") or rule["rule"]).strip()


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
