"""Rules of requests and limits."""

import re
from collections.abc import Iterator
from typing import Any, Final

from stretto.api.checks.fields.errors import (
    Errors,
    FieldError,
    duplicate,
    forbidden,
    invalid,
    missing,
    required,
    unsupported,
)
from stretto.api.checks.fields.texts import qualified_name
from stretto.api.checks.kinds.values import AT_LEAST_ZERO, NO_INTEGER
from stretto.api.wire.names import LABEL_CHARS, SUBDOMAIN_CHARS
from stretto.api.wire.quantity import nano
from stretto.api.wire.resources import HUGE_PAGES

Json = dict[str, Any]

_STANDARD: Final = ("cpu", "memory", "ephemeral-storage")
_WHOLE: Final = 10**9
_QUOTA: Final = "requests."
"""Prefix of the name of a quota for a resource."""
COUNTED_RESOURCES: Final = frozenset(
    {
        "pods", "services", "replicationcontrollers", "resourcequotas", "secrets", "configmaps",
        "persistentvolumeclaims", "services.nodeports", "services.loadbalancers",
    }
)  # fmt: skip
"""Resources without a domain whose amounts are whole numbers."""
STANDARD_RESOURCES: Final = COUNTED_RESOURCES | frozenset(
    {
        *_STANDARD, "requests.cpu", "requests.memory", "requests.ephemeral-storage", "limits.cpu",
        "limits.memory", "limits.ephemeral-storage", "storage", "requests.storage",
    }
)  # fmt: skip
"""Names of resources without a domain."""


_PLAIN_NAME: Final = re.compile(
    r"(?!requests\.)[a-z0-9]++(?:[-.][a-z0-9]++)*+/[A-Za-z0-9]++(?:[-_.][A-Za-z0-9]++)*+"
)
"""A name of a resource with a domain; at most 63 characters of it need no other check."""


def check_resources(resources: Json, path: str) -> Iterator[Any]:
    """Check requests and limits of a container."""
    requests, limits = resources.get("requests") or {}, resources.get("limits") or {}
    valid = set(_STANDARD)
    for word, amounts in (("limits", limits), ("requests", requests)):
        for name, amount in sorted(amounts.items()):
            if name not in valid:
                found = check_container_resource(name, f"{path}.{word}[{name}]")
                valid |= set() if found else {name}
                yield from found
            billionths = nano(amount, name)
            if billionths < 0:
                yield invalid(f"{path}.{word}[{name}]", amount, AT_LEAST_ZERO)
            elif "/" in name and billionths % _WHOLE:
                yield invalid(f"{path}.{word}[{name}]", amount, NO_INTEGER)
    where = f"{path}.requests"
    for name, amount in sorted(requests.items()):
        limit = limits.get(name)
        if limit is None:
            if is_fixed(name):
                detail = "Limit must be set for non overcommitable resources"
                yield required(f"{path}.limits", detail)
        elif amount == limit:
            continue
        elif is_fixed(name) and nano(amount, where) != nano(limit, where):
            yield invalid(where, amount, f"must be equal to {name} limit of {limit}")
        elif nano(amount, where) > nano(limit, where):
            text = f"must be less than or equal to {name} limit of {limit}"
            yield invalid(where, amount, text)
    names = {*requests, *limits}
    if any(name.startswith(HUGE_PAGES) for name in names) and not names & {"cpu", "memory"}:
        yield forbidden(path, "HugePages require cpu or memory")


def is_fixed(name: str) -> bool:
    """Return whether a resource cannot be over-committed."""
    is_native = "/" not in name or "kubernetes.io/" in name
    return not is_native or name.startswith(HUGE_PAGES)


def check_resource_name(name: str, where: str) -> Errors:
    """Check the name of a resource: a standard name, or a fully qualified one."""
    found = [invalid(where, name, each) for each in qualified_name(name)]
    is_known = "/" in name or name in STANDARD_RESOURCES or name.startswith(HUGE_PAGES)
    if not found and not is_known:
        found.append(invalid(where, name, "must be a standard resource type or fully qualified"))
    return found


def check_amount(name: str, amount: str, where: str) -> Errors:
    """Check an amount of a resource of a node, or of a quota."""
    billionths = nano(amount, where)
    found = [invalid(where, amount, AT_LEAST_ZERO)] if billionths < 0 else []
    if billionths % _WHOLE and (name in COUNTED_RESOURCES or is_extended(name)):
        found.append(invalid(where, amount, NO_INTEGER))
    return found


def is_extended(name: str) -> bool:
    """Return whether a name is that of a resource outside Kubernetes."""
    is_native = "/" not in name or "kubernetes.io/" in name
    return not is_native and has_quota_name(name) and not qualified_name(name)


def has_quota_name(name: str) -> bool:
    """Return whether the name of a quota, ``requests.`` before a qualified name, is qualified."""
    domain = name.rpartition("/")[0]
    return not name.startswith(_QUOTA) and len(_QUOTA) + len(domain) <= SUBDOMAIN_CHARS


def check_container_resource(name: str, where: str) -> Errors:
    """Check the name of a resource that a container may request."""
    if len(name) <= LABEL_CHARS and _PLAIN_NAME.fullmatch(name):
        return []
    found = check_resource_name(name, where)
    if "/" not in name:
        if name not in _STANDARD and not name.startswith(HUGE_PAGES):
            found.append(invalid(where, name, "must be a standard resource for containers"))
    elif "kubernetes.io/" not in name and (found or not has_quota_name(name)):
        found.append(invalid(where, name, "doesn't follow extended resource name standard"))
    return found


def check_pod_resources(resources: Json, path: str, claims: frozenset[str]) -> Iterator[FieldError]:
    """Check requests and limits of a whole pod, which has no claims of its own."""
    requests, limits = resources.get("requests") or {}, resources.get("limits") or {}
    if resources.get("claims"):
        detail = "claims may not be set for Resources at pod-level"
        yield forbidden(f"{path}.claims", detail)
    for word, amounts in (("limits", limits), ("requests", requests)):
        for name, amount in sorted(amounts.items()):
            where = f"{path}.{word}[{name}]"
            if "/" not in name and name not in _STANDARD and not name.startswith(HUGE_PAGES):
                detail = "must be a standard resource type or fully qualified"
                yield invalid(where, name, detail)
            elif name not in ("cpu", "memory") and not name.startswith(HUGE_PAGES):
                yield unsupported(where, name, ("cpu", HUGE_PAGES, "memory"))
            if nano(amount, where) < 0:
                yield invalid(where, amount, AT_LEAST_ZERO)
    for name, amount in sorted(requests.items()):
        where, limit = f"{path}.requests", limits.get(name)
        if limit is not None and nano(amount, where) > nano(limit, where):
            text = f"must be less than or equal to {name} limit of {limit}"
            yield invalid(where, amount, text)
    yield from check_claims(resources, path, claims)


def check_claims(resources: Json, path: str, claims: frozenset[str]) -> Iterator[FieldError]:
    """Check the resource claims of a container."""
    seen: set[tuple[str, str]] = set()
    for index, claim in enumerate(resources.get("claims") or ()):
        where, name = f"{path}.claims[{index}]", claim.get("name", "")
        pair = name, claim.get("request", "")
        if not name:
            yield required(where)
            continue
        if pair in seen:
            yield duplicate(where, name)
        seen.add(pair)
        if name not in claims:
            detail = "must be one of the names in pod.spec.resourceClaims"
            detail += "" if claims else " which is empty"
            yield missing(where, name, detail)
