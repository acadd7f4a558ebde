"""Rules of LimitRanges and ResourceQuotas."""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

from stretto.api.checks.fields.errors import (
    Errors,
    FieldError,
    duplicate,
    first_errors,
    forbidden,
    immutable,
    invalid,
    required,
)
from stretto.api.checks.fields.texts import qualified_name
from stretto.api.checks.kinds.resources import (
    COUNTED_RESOURCES,
    check_amount,
    check_container_resource,
    check_resource_name,
    is_fixed,
)
from stretto.api.checks.kinds.values import Json
from stretto.api.wire.quantity import nano

_WHOLE: Final = 10**9
_SCOPES: Final = (
    "Terminating", "NotTerminating", "BestEffort", "NotBestEffort", "PriorityClass",
    "CrossNamespacePodAffinity", "VolumeAttributesClass",
)  # fmt: skip
_COMPUTE: Final = frozenset(
    {
        "pods", "cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory",
        "ephemeral-storage", "requests.ephemeral-storage", "limits.ephemeral-storage",
    }
)  # fmt: skip
_HUGE: Final = ("hugepages-", "requests.hugepages-", "limits.hugepages-")
_STANDARD: Final = _COMPUTE | COUNTED_RESOURCES | {"storage", "requests.storage"}
_PARTS: Final = ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio")
_DEFAULTS: Final = ("default", "defaultRequest")
_OF_PODS: Final = ("Pod", "Container")
_LIMITED: Final = ("Pod", "Container", "PersistentVolumeClaim")
_MOST_PROBLEMS: Final = 16
"""Maximum number of errors that list all scopes of a quota."""
_PRESENT: Final = (
    "Terminating", "NotTerminating", "BestEffort", "NotBestEffort", "CrossNamespacePodAffinity",
)  # fmt: skip
"""Scopes without values."""
_ONLY_EXISTS: Final = (
    "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, "
    "ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, "
    "ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity"
)
_OPPOSITES: Final = (("BestEffort", "NotBestEffort"), ("Terminating", "NotTerminating"))


def check_limit_range(item: Json, _old: Json | None) -> Errors:
    """Check a LimitRange."""
    return first_errors(_limits((item.get("spec") or {}).get("limits") or ()))


def _limits(limits: Sequence[Json]) -> Iterator[FieldError]:
    kinds: set[str] = set()
    for index, limit in enumerate(limits):
        where, kind = f"spec.limits[{index}]", limit.get("type", "")
        problems = qualified_name(kind)
        yield from (invalid(f"{where}.type", kind, each) for each in problems)
        if not problems and "/" not in kind and kind not in _LIMITED:
            detail = "must be a standard limit type or fully qualified"
            yield invalid(f"{where}.type", kind, detail)
        if kind in kinds:
            yield duplicate(f"{where}.type", kind)
        kinds.add(kind)
        yield from _limit(limit, kind, where)


def _limit(limit: Json, kind: str, where: str) -> Iterator[FieldError]:
    parts = {name: limit.get(name) or {} for name in _PARTS}
    if kind == "Pod":
        for name in _DEFAULTS:
            if parts[name]:
                detail = f"may not be specified when `type` is '{kind}'"
                yield forbidden(f"{where}.{name}", detail)
    if kind == "PersistentVolumeClaim" and not (
        "storage" in parts["min"] or "storage" in parts["max"]
    ):
        detail = "either minimum or maximum storage value is required, but neither was provided"
        yield required(f"{where}.limits", detail)
    check_name = check_container_resource if kind in _OF_PODS else check_resource_name
    for name in _PARTS:
        for key in parts[name] if not (kind == "Pod" and name in _DEFAULTS) else ():
            yield from check_name(key, f"{where}.{name}[{key}]")
    for key in sorted({key for amounts in parts.values() for key in amounts}):
        yield from _bounds(parts, key, where)


def _bounds(parts: dict[str, Json], key: str, where: str) -> Errors:
    """Check the amounts of one resource against each other."""
    text = {name: amounts.get(key) for name, amounts in parts.items()}
    value = {name: None if each is None else nano(each, where) for name, each in text.items()}
    found: Errors = []

    def above(low: str, high: str, shown: str, words: tuple[str, str]) -> None:
        one, two = value[low], value[high]
        if one is not None and two is not None and one > two:
            detail = f"{words[0]} value {text[low]} is greater than {words[1]} value {text[high]}"
            found.append(invalid(f"{where}.{low}[{key}]", text[shown], detail))

    above("min", "max", "min", ("min", "max"))
    if value["defaultRequest"] is not None:
        low, high = value["min"], value["max"]
        stated = text["defaultRequest"]
        if low is not None and low > value["defaultRequest"]:
            detail = f"min value {text['min']} is greater than default request value {stated}"
            found.append(invalid(f"{where}.defaultRequest[{key}]", stated, detail))
        if high is not None and value["defaultRequest"] > high:
            detail = f"default request value {stated} is greater than max value {text['max']}"
            found.append(invalid(f"{where}.defaultRequest[{key}]", stated, detail))
        if value["default"] is not None and value["defaultRequest"] > value["default"]:
            limit = text["default"]
            detail = f"default request value {stated} is greater than default limit value {limit}"
            found.append(invalid(f"{where}.defaultRequest[{key}]", stated, detail))
    if value["default"] is not None:
        low, high = value["min"], value["max"]
        if low is not None and low > value["default"]:
            detail = f"min value {text['min']} is greater than default value {text['default']}"
            found.append(invalid(f"{where}.default[{key}]", text["min"], detail))
        if high is not None and value["default"] > high:
            detail = f"default value {text['default']} is greater than max value {text['max']}"
            found.append(invalid(f"{where}.default[{key}]", text["max"], detail))
    found += _ratio(text, value, key, where)
    limit, request = value["default"], value["defaultRequest"]
    if is_fixed(key) and None not in (limit, request) and limit != request:
        stated = text["defaultRequest"]
        detail = f"default value {text['default']} must equal to defaultRequest value {stated}"
        found.append(invalid(f"{where}.defaultRequest[{key}]", stated, f"{detail} in {key}"))
    return found


def _ratio(text: Json, value: dict[str, int | None], key: str, where: str) -> Errors:
    ratio = value["maxLimitRequestRatio"]
    if ratio is None:
        return []
    shown, path = text["maxLimitRequestRatio"], f"{where}.maxLimitRequestRatio[{key}]"
    if ratio < _WHOLE:
        return [invalid(path, shown, f"ratio {shown} is less than 1")]
    low, high = value["min"], value["max"]
    if low and high and ratio * low > high * _WHOLE:
        detail = f"ratio {shown} is greater than max/min = {high / low:f}"
        return [invalid(path, shown, detail)]
    return []


def check_quota(item: Json, old: Json | None) -> Errors:
    """Check a ResourceQuota."""
    spec = item.get("spec") or {}
    found = _amounts(spec.get("hard") or {}, "spec.hard")
    found += _scopes(spec.get("scopes") or [], spec.get("hard") or {})
    found += _selectors(spec)
    if old is not None:
        before = (old.get("spec") or {}).get("scopes") or []
        if sorted(before) != sorted(spec.get("scopes") or []):
            found.append(immutable("spec.scopes", spec.get("scopes")))
    return found


def _amounts(amounts: Json, path: str) -> Errors:
    return first_errors(_amount_errors(amounts, path))


def _amount_errors(amounts: Json, path: str) -> Iterator[FieldError]:
    for name, amount in sorted(amounts.items()):
        where = f"{path}[{name}]"
        problems = qualified_name(name)
        yield from (invalid(where, name, each) for each in problems)
        is_known = "/" in name or name in _STANDARD or name.startswith(_HUGE)
        if not problems and not is_known:
            detail = "must be a standard resource type or fully qualified"
            yield invalid(where, name, detail)
            yield invalid(where, name, "must be a standard resource for quota")
        yield from check_amount(name, amount, where)


def _scopes(scopes: list[str], hard: Json) -> Errors:
    """Check scopes; errors list all scopes, one per scope and resource, up to a limit."""
    problems = islice(_scope_problems(scopes, hard), _MOST_PROBLEMS)
    return [invalid("spec.scopes", scopes, each) for each in problems]


def _scope_problems(scopes: list[str], hard: Json) -> Iterator[str]:
    for scope in scopes:
        if scope not in _SCOPES:
            yield "unsupported scope"
        elif scope in _SCOPES[:5]:
            allowed = frozenset({"pods"}) if scope == "BestEffort" else _COMPUTE
            for name in hard:
                if name not in allowed and not name.startswith("count/"):
                    yield "unsupported scope applied to resource"
    if any(frozenset(scopes) >= frozenset(pair) for pair in _OPPOSITES):
        yield "conflicting scopes"


def _selectors(spec: Json) -> Errors:
    found: Errors = []
    path = "spec.scopeSelector.matchExpressions"
    for rule in (spec.get("scopeSelector") or {}).get("matchExpressions") or ():
        scope, operator = rule.get("scopeName", ""), rule.get("operator", "")
        values = rule.get("values") or []
        if scope not in _SCOPES:
            found.append(invalid(f"{path}.scopeName", scope, "unsupported scope"))
        if scope in _PRESENT and operator != "Exists":
            found.append(invalid(f"{path}.operator", operator, _ONLY_EXISTS))
        if operator in ("In", "NotIn") and not values:
            detail = (
                "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"
            )
            found.append(required(f"{path}.values", detail))
        elif operator in ("Exists", "DoesNotExist") and values:
            detail = (
                "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector"
            )
            found.append(invalid(f"{path}.values", values, detail))
        elif operator not in ("In", "NotIn", "Exists", "DoesNotExist"):
            found.append(invalid(f"{path}.operator", operator, "not a valid selector operator"))
    return found


def check_quota_status(item: Json, _old: Json) -> Errors:
    """Check the status of a ResourceQuota."""
    status = item.get("status") or {}
    return _amounts(status.get("hard") or {}, "status.hard") + _amounts(
        status.get("used") or {}, "status.used"
    )
