"""Rules of pod placement: selectors, affinity, tolerations, spread."""

from collections.abc import Iterator
from typing import Any, Final

from stretto.api.checks.fields.errors import (
    Errors,
    duplicate,
    forbidden,
    invalid,
    required,
    unsupported,
)
from stretto.api.checks.fields.shapes import every, needed, text
from stretto.api.checks.fields.texts import dns_label, label_key, label_value, qualified_name
from stretto.api.checks.kinds.values import Json, check_selector, one_of
from stretto.api.checks.pod import EFFECTS
from stretto.api.types.pod import PREFERRED, REQUIRED

_WEIGHTS: Final = range(1, 101)
_TOPOLOGY: Final = every(needed("can not be empty"), text(qualified_name))
_POLICIES: Final = ("Honor", "Ignore")


def check_node_selector_labels(labels: Json | None, path: str) -> Errors:
    """Check the labels of ``nodeSelector``."""
    found: Errors = []
    for key, value in sorted((labels or {}).items()):
        found += [invalid(path, key, each) for each in label_key(key)]
        found += [invalid(path, value, each) for each in label_value(value)]
    return found


def check_node_selector(selector: Json, path: str) -> Errors:
    """Check a node selector: terms over labels and fields."""
    terms = selector.get("nodeSelectorTerms") or []
    where = f"{path}.nodeSelectorTerms"
    if not terms:
        return [required(where, "must have at least one node selector term")]
    found: Errors = []
    for index, term in enumerate(terms):
        found += check_node_term(term, f"{where}[{index}]")
        for place, rule in enumerate(term.get("matchExpressions") or ()):
            for position, value in enumerate(rule.get("values") or ()):
                here = f"{where}[{index}].matchExpressions[{place}].values[{position}]"
                found += [invalid(here, value, each) for each in label_value(value)]
    return found


def check_node_term(term: Json, path: str) -> Errors:
    """Check one term of a node selector."""
    found: Errors = []
    for index, rule in enumerate(term.get("matchExpressions") or ()):
        found += _requirement(rule, f"{path}.matchExpressions[{index}]")
        where = f"{path}.matchExpressions[{index}].key"
        key = rule.get("key", "")
        found += [invalid(where, key, each) for each in label_key(key)]
    for index, rule in enumerate(term.get("matchFields") or ()):
        found += _field(rule, f"{path}.matchFields[{index}]")
    return found


def _requirement(rule: Json, path: str) -> Iterator[Any]:
    operator, values = rule.get("operator", ""), rule.get("values") or []
    if operator in ("In", "NotIn"):
        if not values:
            detail = "must be specified when `operator` is 'In' or 'NotIn'"
            yield required(f"{path}.values", detail)
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            yield forbidden(f"{path}.values", detail)
    elif operator in ("Gt", "Lt"):
        if len(values) != 1:
            detail = "must be specified single value when `operator` is 'Lt' or 'Gt'"
            yield required(f"{path}.values", detail)
    else:
        yield invalid(f"{path}.operator", operator, "not a valid selector operator")


def _field(rule: Json, path: str) -> Iterator[Any]:
    operator, values = rule.get("operator", ""), rule.get("values") or []
    if operator in ("In", "NotIn"):
        if len(values) != 1:
            detail = (
                "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
            )
            yield required(f"{path}.values", detail)
    else:
        yield invalid(f"{path}.operator", operator, "not a valid selector operator")
    if rule.get("key") != "metadata.name":
        yield invalid(f"{path}.key", rule.get("key", ""), "not a valid field selector key")


def check_affinity(affinity: Json, path: str) -> Iterator[Any]:
    """Check affinity to nodes and to pods."""
    nodes = affinity.get("nodeAffinity")
    if nodes:
        where = f"{path}.nodeAffinity"
        wanted = nodes.get(REQUIRED)
        if wanted is not None:
            yield from check_node_selector(wanted, f"{where}.{REQUIRED}")
        for index, term in enumerate(nodes.get(PREFERRED) or ()):
            here = f"{where}.{PREFERRED}[{index}]"
            yield from _weight(term, here)
            yield from check_node_term(term.get("preference") or {}, f"{here}.preference")
    for word in ("podAffinity", "podAntiAffinity"):
        pods = affinity.get(word)
        if not pods:
            continue
        for index, term in enumerate(pods.get(REQUIRED) or ()):
            yield from _pod_term(term, f"{path}.{word}.{REQUIRED}[{index}]")
        for index, weighted in enumerate(pods.get(PREFERRED) or ()):
            here = f"{path}.{word}.{PREFERRED}[{index}]"
            yield from _weight(weighted, here)
            term = weighted.get("podAffinityTerm") or {}
            yield from _pod_term(term, f"{here}.podAffinityTerm")


def _weight(term: Json, path: str) -> Iterator[Any]:
    weight = term.get("weight", 0)
    if weight not in _WEIGHTS:
        yield invalid(f"{path}.weight", weight, "must be in the range 1-100")


def _pod_term(term: Json, path: str) -> Iterator[Any]:
    yield from check_selector(term.get("labelSelector"), f"{path}.labelSelector")
    yield from check_selector(term.get("namespaceSelector"), f"{path}.namespaceSelector")
    yield from _keys(term, path)
    for name in term.get("namespaces") or ():
        for problem in dns_label(name):
            yield invalid(f"{path}.namespace", name, problem)
    yield from _TOPOLOGY(term.get("topologyKey"), f"{path}.topologyKey")


def _keys(term: Json, path: str) -> Iterator[Any]:
    """Check the keys of labels that a term takes from its own pod."""
    wanted, unwanted = (term.get(each) or [] for each in ("matchLabelKeys", "mismatchLabelKeys"))
    for word, keys in (("matchLabelKeys", wanted), ("mismatchLabelKeys", unwanted)):
        if keys and term.get("labelSelector") is None:
            detail = "must not be specified when labelSelector is not set"
            yield forbidden(f"{path}.{word}", detail)
        elif keys:
            for index, key in enumerate(keys):
                problems = label_key(key)
                yield from (invalid(f"{path}.{word}[{index}]", key, each) for each in problems)
    for index, key in enumerate(wanted):
        if key in unwanted:
            detail = "exists in both matchLabelKeys and mismatchLabelKeys"
            yield invalid(f"{path}.matchLabelKeys[{index}]", key, detail)


_OPERATORS: Final = ("Equal", "Exists", "Lt", "Gt")
"""Operators of tolerations; the last two belong to a feature that is disabled."""


def check_tolerations(tolerations: list[Json], path: str) -> Iterator[Any]:
    """Check tolerations of taints."""
    for index, item in enumerate(tolerations):
        where, operator = f"{path}[{index}]", item.get("operator") or ""
        key = item.get("key", "")
        if key:
            for problem in label_key(key):
                yield invalid(f"{where}.key", key, problem)
        elif operator != "Exists":
            detail = (
                'operator must be Exists when `key` is empty, which means "match all values and '
                'all keys"'
            )
            yield invalid(f"{where}.operator", operator, detail)
        if item.get("tolerationSeconds") is not None and item.get("effect") != "NoExecute":
            detail = "effect must be 'NoExecute' when `tolerationSeconds` is set"
            yield invalid(f"{where}.effect", item.get("effect", ""), detail)
        yield from _toleration_value(item, operator, where)
        if item.get("effect"):
            yield from one_of(item["effect"], f"{where}.effect", EFFECTS)


def _toleration_value(item: Json, operator: str, where: str) -> Iterator[Any]:
    value = item.get("value", "")
    if operator in ("Equal", ""):
        for problem in label_value(value):
            yield invalid(f"{where}.operator", value, problem)
    elif operator == "Exists":
        if value:
            detail = "value must be empty when `operator` is 'Exists'"
            yield invalid(f"{where}.operator", value, detail)
    else:
        known = _OPERATORS if operator in _OPERATORS else _OPERATORS[:2]
        yield unsupported(f"{where}.operator", operator, known)


def check_spread(constraints: list[Json], path: str) -> Iterator[Any]:
    """Check topology spread constraints."""
    pairs: set[tuple[str, str]] = set()
    for index, item in enumerate(constraints):
        where = f"{path}[{index}]"
        key, when = item.get("topologyKey", ""), item.get("whenUnsatisfiable", "")
        if item.get("maxSkew", 0) <= 0:
            yield invalid(f"{where}.maxSkew", item.get("maxSkew", 0), "must be greater than zero")
        if not key:
            yield required(f"{where}.topologyKey", "can not be empty")
        yield from one_of(when, f"{where}.whenUnsatisfiable", ("DoNotSchedule", "ScheduleAnyway"))
        if (key, when) in pairs:
            yield duplicate(f"{where}.{{topologyKey, whenUnsatisfiable}}", f"{{{key}, {when}}}")
        pairs.add((key, when))
        yield from _domains(item.get("minDomains"), when, f"{where}.minDomains")
        for name in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
            if item.get(name) is not None:
                yield from one_of(item[name], f"{where}.{name}", _POLICIES)
        yield from _keys(item, where)
        yield from check_selector(item.get("labelSelector"), f"{where}.labelSelector")


def _domains(least: int | None, when: str, path: str) -> Iterator[Any]:
    if least is None:
        return
    if least <= 0:
        yield invalid(path, least, "must be greater than zero")
    if when != "DoNotSchedule":
        detail = f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {when}"
        yield invalid(path, least, detail)
