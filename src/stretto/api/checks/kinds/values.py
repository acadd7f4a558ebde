"""Rules that several kinds share: numbers, percentages, selectors, enumerations."""

import re
from collections.abc import Iterable, Sequence
from typing import Any, Final

from stretto.api.checks.fields.errors import (
    Errors,
    FieldError,
    forbidden,
    immutable,
    invalid,
    required,
    unsupported,
)
from stretto.api.checks.fields.shapes import choice
from stretto.api.checks.fields.texts import check_labels, dns_label, label_key, label_value
from stretto.api.wire.selectors import integer

PROTOCOLS: Final = ("SCTP", "TCP", "UDP")
"""Protocols of ports."""
PREEMPTION_POLICIES: Final = ("PreemptLowerPriority", "Never")
"""Values of ``preemptionPolicy``."""
MATCH_POLICY: Final = choice("Equivalent", "Exact")
"""Checks ``matchPolicy`` of a webhook or a policy."""
FAILURE_POLICY: Final = choice("Fail", "Ignore")
"""Checks ``failurePolicy`` of a webhook or a policy."""

Json = dict[str, Any]

AT_LEAST_ZERO: Final = "must be greater than or equal to 0"
NO_INTEGER: Final = "must be an integer"
PERCENT_TEXT: Final = (
    "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or "
    "'93%', regex used for validation is '[0-9]+%')"
)
PORT_TEXT: Final = "must be between 1 and 65535, inclusive"

_PERCENT: Final = re.compile(r"[0-9]+%")
_PORTS: Final = range(1, 65_536)


def not_negative(value: Any, field: str) -> Errors:
    """Check that a number is not negative; an absent number counts as 0."""
    return [invalid(field, value, AT_LEAST_ZERO)] if (value or 0) < 0 else []


def one_of(value: Any, field: str, allowed: Sequence[str]) -> Errors:
    """Check that a value is in an enumeration."""
    return [] if value in allowed else [unsupported(field, value or "", allowed)]


def port_number(value: Any, field: str) -> Errors:
    """Check a port number."""
    return [] if value in _PORTS else [invalid(field, value or 0, PORT_TEXT)]


def count_or_percent(value: Any, field: str) -> Errors:
    """Check a count that is not negative, or a percentage."""
    if isinstance(value, str):
        return [] if _PERCENT.fullmatch(value) else [invalid(field, value, PERCENT_TEXT)]
    return not_negative(value, field)


def is_zero(value: Any) -> bool:
    """Return whether a count or percentage is zero; absent and malformed ones count as zero."""
    text = str(value if value is not None else 0)
    digits = text[:-1] if _PERCENT.fullmatch(text) else text
    return not (integer(digits) or 0)


def exceeds_all(share: Any) -> bool:
    """Return whether a share is a percentage above 100 %."""
    if not isinstance(share, str) or not _PERCENT.fullmatch(share):
        return False
    digits = share[:-1].lstrip("0")
    return len(digits) > 3 or int(digits or "0") > 100


def check_selector(selector: Json | None, field: str) -> Errors:
    """Check a label selector."""
    found: Errors = []
    if selector is None:
        return found
    found += check_labels(selector.get("matchLabels"), f"{field}.matchLabels")
    for index, rule in enumerate(selector.get("matchExpressions") or ()):
        found += check_requirement(rule, f"{field}.matchExpressions[{index}]")
    return found


def check_requirement(rule: Json, field: str, *, accepts_unknown: bool = False) -> Errors:
    """Check a requirement of a label selector.

    Args:
        rule: the requirement.
        field: its path.
        accepts_unknown: whether the operator may be unknown.
    """
    found = check_operator(rule, field)
    operator = rule.get("operator")
    if operator not in (*_VALUED, *_BARE) and not accepts_unknown:
        found.append(invalid(f"{field}.operator", operator, "not a valid selector operator"))
    key = rule.get("key", "")
    found += [invalid(f"{field}.key", key, each) for each in label_key(key)]
    return found + [
        invalid(f"{field}.values[{number}]", value, each)
        for number, value in enumerate(rule.get("values") or ())
        for each in label_value(value)
    ]


def check_operator(rule: Json, field: str) -> Errors:
    """Check that a requirement of a selector has values if its operator needs some."""
    operator, values = rule.get("operator"), rule.get("values")
    if operator in _VALUED and not values:
        detail = "must be specified when `operator` is 'In' or 'NotIn'"
        return [required(f"{field}.values", detail)]
    if operator in _BARE and values:
        detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
        return [forbidden(f"{field}.values", detail)]
    return []


_VALUED: Final = ("In", "NotIn")
_BARE: Final = ("Exists", "DoesNotExist")


def selects(selector: Json, labels: dict[str, str]) -> bool:
    """Return whether a selector selects labels."""
    for key, value in (selector.get("matchLabels") or {}).items():
        if labels.get(key) != value:
            return False
    for rule in selector.get("matchExpressions") or ():
        value, values = labels.get(rule.get("key", "")), rule.get("values") or ()
        holds = {
            "In": value in values,
            "NotIn": value is None or value not in values,
            "Exists": value is not None,
            "DoesNotExist": value is None,
        }
        if not holds.get(rule.get("operator", ""), False):
            return False
    return True


def unchanged(item: Json, old: Json | None, names: Iterable[str], prefix: str = "") -> Errors:
    """Check that members keep their values."""
    if old is None:
        return []
    return [
        immutable(f"{prefix}{name}", item.get(name))
        for name in names
        if item.get(name) != old.get(name)
    ]


def labelled(text: str, field: str) -> list[FieldError]:
    """Check that a name is an RFC 1123 label."""
    return [invalid(field, text, each) for each in dns_label(text)]
