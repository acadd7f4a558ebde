"""Rules of the status of a pod."""

from typing import Any, Final

from stretto.api.checks.fields.addresses import address_of, address_problems
from stretto.api.checks.fields.errors import Errors, forbidden, immutable, invalid
from stretto.api.checks.fields.texts import dns_subdomain, qualified_name
from stretto.api.checks.kinds.values import Json

_OWN: Final = ("PodScheduled", "Ready", "Initialized")
"""Types of conditions of Kubernetes, which are not checked."""
_GENERATION: Final = "observedGeneration"
_NOT_NEGATIVE: Final = "must be a non-negative integer"


def check_pod_status(item: Json, old: Json) -> Errors:
    """Check a change of the status of a pod."""
    status, before = item.get("status") or {}, old.get("status") or {}
    found: Errors = []
    for index, each in enumerate(status.get("conditions") or ()):
        found += _condition(each, f"status.conditions[{index}]")
    found += _nominated(status, before, (old.get("spec") or {}).get("nodeName", ""))
    found += _generation(status, "status")
    if status.get("qosClass") != before.get("qosClass"):
        found.append(immutable("status.qosClass", status.get("qosClass", "")))
    found += _addresses(status, before, "podIPs")
    hosts = status.get("hostIPs") or []
    if hosts and hosts[0].get("ip", "") != status.get("hostIP", ""):
        detail = "must be equal to `hostIP`"
        found.append(invalid("status.hostIPs[0].ip", hosts[0].get("ip", ""), detail))
    return found + _addresses(status, before, "hostIPs")


def _generation(value: Json, path: str) -> Errors:
    number = value.get(_GENERATION) or 0
    return [invalid(f"{path}.{_GENERATION}", number, _NOT_NEGATIVE)] if number < 0 else []


def _condition(condition: Json, path: str) -> Errors:
    found, kind = _generation(condition, path), condition.get("type", "")
    if kind in _OWN:
        return found
    return found + [invalid(f"{path}.Type", kind, each) for each in qualified_name(kind)]


def _nominated(status: Json, before: Json, bound: str) -> Errors:
    """Check a new nominated node; a bound pod has none."""
    path, name = "status.nominatedNodeName", status.get("nominatedNodeName", "")
    if not name or name == before.get("nominatedNodeName"):
        return []
    found = [invalid(path, name, each) for each in dns_subdomain(name)]
    if bound:
        found.append(forbidden(path, "may not be set on pods that are already bound to a node"))
    return found


def _addresses(status: Json, before: Json, field: str) -> Errors:
    """Check new addresses; there is at most one of each family."""
    texts = [each.get("ip", "") for each in status.get(field) or ()]
    kept = {each.get("ip") for each in before.get(field) or ()}
    families = [_family(each) for each in texts]
    found = [
        invalid(f"status.{field}[{index}]", text, each)
        for index, text in enumerate(texts)
        for each in (() if text in kept else address_problems(text))
    ]
    if len(texts) > 1 and sorted(families) != [4, 6]:
        shown: list[Any] = [{"IP": each} for each in texts]
        detail = "may specify no more than one IP for each IP family"
        found.append(invalid(f"status.{field}", shown, detail))
    return found


def _family(text: str) -> int:
    """Return the version of an address; 0 if it is none."""
    address = address_of(text)
    return 0 if address is None else address.version
