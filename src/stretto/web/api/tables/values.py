"""Cells of several kinds: ages, selectors, containers, quantities."""

from typing import Any, Final

from stretto.api.wire.selectors import selector_text
from stretto.base.clock import parse_timestamp
from stretto.base.errors import InputError
from stretto.reconcile.conditions import condition_of

Json = dict[str, Any]

NONE: Final = "<none>"
UNKNOWN: Final = "<unknown>"
UNSET: Final = "<unset>"


def age(item: Json, now: float) -> str:
    """The time since an object was created."""
    return since(item["metadata"].get("creationTimestamp"), now)


def since(time: str | None, now: float) -> str:
    """The time since a timestamp, as printed by kubectl."""
    if not time:
        return UNKNOWN
    try:
        return duration(now - parse_timestamp(time))
    except InputError:
        return UNKNOWN


_MINUTE: Final = 60
_HOUR: Final = 60
_DAY: Final = 24
_YEAR: Final = 365


def duration(seconds: float) -> str:
    """Format a duration in one or two units: ``45s``, ``5m30s``, ``3h5m``, ``2d4h``, ``9y``."""
    whole = int(seconds)
    if whole < -1:
        return "<invalid>"
    whole = max(0, whole)
    minutes, rest = divmod(whole, _MINUTE)
    hours, days = minutes // _HOUR, minutes // _HOUR // _DAY
    steps = (
        (whole < 2 * _MINUTE, f"{whole}s"),
        (minutes < 10, _pair(minutes, "m", rest, "s")),
        (minutes < 3 * _HOUR, f"{minutes}m"),
        (hours < 8, _pair(hours, "h", minutes % _HOUR, "m")),
        (hours < 2 * _DAY, f"{hours}h"),
        (hours < 8 * _DAY, _pair(days, "d", hours % _DAY, "h")),
        (days < 2 * _YEAR, f"{days}d"),
        (days < 8 * _YEAR, _pair(days // _YEAR, "y", days % _YEAR, "d")),
    )
    return next((text for fits, text in steps if fits), f"{days // _YEAR}y")


def _pair(first: int, unit: str, second: int, smaller: str) -> str:
    return f"{first}{unit}{second}{smaller}" if second else f"{first}{unit}"


def spec(item: Json) -> Json:
    """The spec; empty if absent."""
    return item.get("spec") or {}


def status(item: Json) -> Json:
    """The status; empty if absent."""
    return item.get("status") or {}


def containers(template: Json) -> tuple[str, str]:
    """Names and images of the containers of a pod template."""
    found = (template.get("spec") or {}).get("containers") or ()
    names = ",".join(each.get("name", "") for each in found)
    return names, ",".join(each.get("image", "") for each in found)


def labels_text(labels: dict[str, str] | None) -> str:
    """Format labels as a selector."""
    return ",".join(f"{key}={value}" for key, value in sorted((labels or {}).items())) or NONE


def selector_cell(selector: Json | None) -> str:
    """Format a label selector."""
    return NONE if selector is None else selector_text(selector) or NONE


def matches_selector(selector: Json | None, labels: dict[str, str]) -> bool:
    """Return whether a selector selects labels; an empty one selects all, an absent one none."""
    if selector is None:
        return False
    wanted = selector.get("matchLabels") or {}
    if any(labels.get(key) != value for key, value in wanted.items()):
        return False
    return all(_holds(each, labels) for each in selector.get("matchExpressions") or ())


def _holds(rule: Json, labels: dict[str, str]) -> bool:
    value, operator = labels.get(rule.get("key", "")), rule.get("operator")
    values = rule.get("values") or ()
    if operator == "In":
        return value in values
    if operator == "NotIn":
        return value is None or value not in values
    return (value is not None) is (operator == "Exists")


def condition(item: Json, word: str) -> Json | None:
    """Return a condition of an object by its type."""
    return condition_of(status(item).get("conditions") or (), word)
