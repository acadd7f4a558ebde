"""Selectors of access reviews: their checks, and what authorization ignores of them."""

from typing import Any

from stretto.api.checks.fields.errors import Errors, invalid, required
from stretto.api.checks.kinds.values import check_operator, check_requirement
from stretto.web.api.failures import ApiError
from stretto.web.api.selection.fields import parse_fields
from stretto.web.api.selection.labels import parse_labels

Json = dict[str, Any]

_PATH = "spec.resourceAttributes"
_VALUED = ("In", "NotIn")
_BARE = ("Exists", "DoesNotExist")


def selector_errors(attributes: Json) -> Errors:
    """Return the refused fields of the selectors of a review."""
    found: Errors = []
    for name in ("fieldSelector", "labelSelector"):
        selector, path = attributes.get(name), f"{_PATH}.{name}"
        if selector is None:
            continue
        raw, rules = selector.get("rawSelector"), selector.get("requirements")
        if raw and rules:
            text = "may not specified at the same time as requirements"
            found.append(invalid(f"{path}.rawSelector", raw, text))
        if not raw and not rules:
            text = f"when {path} is specified, requirements or rawSelector is required"
            found.append(required(f"{path}.requirements", text))
        for index, rule in enumerate(rules or ()):
            where = f"{path}.requirements[{index}]"
            if name == "labelSelector":
                found += check_requirement(rule, where, accepts_unknown=True)
                continue
            if not rule.get("key"):
                found.append(required(f"{where}.key", "must be specified"))
            found += check_operator(rule, where)
    return found


def evaluation_error(attributes: Json) -> str:
    """Return which selectors of a review authorization ignores; empty for none."""
    problems: list[str] = []
    for name in ("fieldSelector", "labelSelector"):
        selector = attributes.get(name) or {}
        rules = selector.get("requirements") or ()
        known = [_is_known(name, each) for each in rules]
        if not all(known) or not _parses(name, selector.get("rawSelector") or ""):
            word = "partially ignored" if any(known) else "ignored"
            problems.append(f"{_PATH}.{name} {word} due to parse error")
    return "; ".join(problems)


def _is_known(name: str, rule: Json) -> bool:
    """Return whether authorization evaluates a requirement."""
    operator = rule.get("operator")
    if name == "labelSelector":
        return operator in (*_VALUED, *_BARE)
    return operator in _VALUED and len(rule.get("values") or ()) == 1


def _parses(name: str, text: str) -> bool:
    try:
        (parse_labels if name == "labelSelector" else parse_fields)(text)
    except ApiError:
        return False
    return True


def required_fields(attributes: Json) -> dict[str, str]:
    """Return the values that the field selector of a review requires, by field."""
    selector = attributes.get("fieldSelector") or {}
    found = {
        each.get("key", ""): each["values"][0]
        for each in selector.get("requirements") or ()
        if each.get("operator") == "In" and len(each.get("values") or ()) == 1
    }
    raw = selector.get("rawSelector") or ""
    if raw and _parses("fieldSelector", raw):
        found |= {each.field: each.value for each in parse_fields(raw) if not each.negated}
    return found
