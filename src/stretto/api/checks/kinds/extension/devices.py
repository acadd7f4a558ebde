"""Rules of dynamic resource allocation: claims, classes and slices of devices."""

import re
from typing import Final

from stretto.api.checks.fields.errors import (
    Errors,
    duplicate,
    immutable,
    invalid,
    repeated,
    required,
    too_long,
    too_many,
)
from stretto.api.checks.fields.texts import (
    dns_label,
    dns_subdomain,
    driver_name,
    label_key,
    label_value,
)
from stretto.api.checks.kinds.pods.claims import check_template_metadata
from stretto.api.checks.kinds.pods.placement import check_node_selector
from stretto.api.checks.kinds.resources import is_extended
from stretto.api.checks.kinds.values import Json, one_of
from stretto.api.schema.internals import internal_form

_MODES: Final = ("All", "ExactCount")
_MOST_ITEMS: Final = 32
_IDENTIFIER_LIMIT: Final = 32
_ONE_FORM: Final = "exactly one of `exactly` or `firstAvailable` is required"
_ONE_ATTRIBUTE: Final = (
    'exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are '
    "set"
)
"""The text of kube-apiserver, also without any field."""
_IDENTIFIER: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_IDENTIFIER_TEXT: Final = (
    "a valid C identifier must start with alphabetic character or '_', followed by a string of "
    "alphanumeric characters or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for "
    "validation is '[A-Za-z_][A-Za-z0-9_]*')"
)
_NO_DOMAIN: Final = "a fully qualified name must be a domain and a name separated by a slash"
_UNKNOWN_REQUEST: Final = (
    "must be the name of a request in the claim or the name of a request and a subrequest "
    "separated by '/'"
)


def check_claim(item: Json, old: Json | None) -> Errors:
    """Check a ResourceClaim; its spec is immutable."""
    spec = item.get("spec") or {}
    if old is not None:
        if spec == (old.get("spec") or {}):
            return []
        return [immutable("spec", internal_form("resource.ResourceClaimSpec", spec))]
    return _devices(spec.get("devices") or {}, "spec.devices")


def check_claim_template(item: Json, old: Json | None) -> Errors:
    """Check a ResourceClaimTemplate; its spec is immutable."""
    spec = item.get("spec") or {}
    if old is not None:
        shown = internal_form("resource.ResourceClaimTemplateSpec", spec)
        return [immutable("spec", shown)] if spec != old.get("spec") else []
    found = check_template_metadata(spec.get("metadata") or {}, "spec.metadata")
    return found + _devices((spec.get("spec") or {}).get("devices") or {}, "spec.spec.devices")


def _devices(devices: Json, path: str) -> Errors:
    """Check the requests of a claim, and the constraints and settings that refer to them."""
    requests = devices.get("requests") or []
    for word in ("requests", "constraints", "config"):
        count = len(devices.get(word) or ())
        if count > _MOST_ITEMS:
            return [too_many(f"{path}.{word}", count, _MOST_ITEMS)]
    found: Errors = []
    known: set[str] = set()
    for index, request in enumerate(requests):
        name = request.get("name", "")
        found += _device_request(request, f"{path}.requests[{index}]")
        inner = request.get("firstAvailable") or ()
        known |= {name, *(f"{name}/{each.get('name', '')}" for each in inner)}
    names = [each.get("name", "") for each in requests]
    found += [duplicate(f"{path}.requests[{i}]", names[i]) for i in sorted(repeated(names))]
    for index, constraint in enumerate(devices.get("constraints") or ()):
        where = f"{path}.constraints[{index}]"
        found += _named(constraint.get("requests") or [], f"{where}.requests", known)
        found += _constraint(constraint, where)
    for index, config in enumerate(devices.get("config") or ()):
        where = f"{path}.config[{index}]"
        found += _named(config.get("requests") or [], f"{where}.requests", known)
        found += _config(config, where)
    return found


def _device_request(request: Json, path: str) -> Errors:
    found = check_label(request.get("name", ""), f"{path}.name")
    exactly, first = request.get("exactly"), request.get("firstAvailable") or []
    if exactly is not None and first:
        return [*found, invalid(path, None, f"{_ONE_FORM}, but multiple fields are set")]
    if exactly is not None:
        return found + _request(exactly, f"{path}.exactly")
    if not first:
        return [*found, required(path, _ONE_FORM)]
    for index, each in enumerate(first):
        where = f"{path}.firstAvailable[{index}]"
        found += check_label(each.get("name", ""), f"{where}.name") + _request(each, where)
    names = [each.get("name", "") for each in first]
    again = sorted(repeated(names))
    return found + [duplicate(f"{path}.firstAvailable[{index}]", names[index]) for index in again]


def _named(names: list[str], path: str, known: set[str]) -> Errors:
    """Check references to requests of the claim."""
    found: Errors = []
    for index, name in enumerate(names):
        where, parts = f"{path}[{index}]", name.split("/")
        if len(parts) <= len(("request", "subrequest")):
            found += [error for part in parts for error in check_label(part, where)]
        if name not in known:
            found.append(invalid(where, name, _UNKNOWN_REQUEST))
    again = sorted(repeated(names))
    return found + [duplicate(f"{path}[{index}]", names[index]) for index in again]


def _config(config: Json, path: str) -> Errors:
    """Check settings for the driver of devices."""
    opaque, where = config.get("opaque"), f"{path}.opaque"
    if opaque is None:
        return [required(where)]
    driver, parameters = opaque.get("driver", ""), opaque.get("parameters")
    found = driver_name(driver, f"{where}.driver") if driver else [required(f"{where}.driver")]
    if parameters is None:
        found.append(required(f"{where}.parameters"))
    elif not isinstance(parameters, dict):
        detail = "must be a valid JSON object"
        found.append(invalid(f"{where}.parameters", "<value omitted>", detail))
    return found


def _constraint(constraint: Json, path: str) -> Errors:
    """Check the attribute that a constraint names."""
    for member in ("matchAttribute", "distinctAttribute"):
        name = constraint.get(member)
        if name is not None:
            return check_qualified(name, f"{path}.{member}")
    return [required(path, _ONE_ATTRIBUTE)]


def check_qualified(name: str, path: str, *, needs_domain: bool = True) -> Errors:
    """Check the name of an attribute or a capacity: a domain and an identifier."""
    domain, slash, identifier = name.partition("/")
    if not slash:
        domain, identifier = "", name
    found = driver_name(domain, path) if domain else []
    if slash and not domain:
        found.append(invalid(path, "", "the domain must not be empty"))
    if slash and not identifier:
        found.append(invalid(path, "", "the name must not be empty"))
    else:
        if len(identifier) > _IDENTIFIER_LIMIT:
            found.append(too_long(path, _IDENTIFIER_LIMIT))
        if not _IDENTIFIER.fullmatch(identifier):
            found.append(invalid(path, identifier, _IDENTIFIER_TEXT))
    return [*found, invalid(path, name, _NO_DOMAIN)] if needs_domain and not slash else found


def check_label(name: str, path: str) -> Errors:
    """Check the name of a device, a request or a counter."""
    return [invalid(path, name, each) for each in dns_label(name)]


def check_effect(effect: str, path: str) -> Errors:
    """Check the effect of a taint of a device."""
    return one_of(effect, path, ("NoExecute", "NoSchedule", "None"))


def check_label_value(value: str, path: str) -> Errors:
    """Check the value of a taint of a device, or of a toleration."""
    return [invalid(path, value, each) for each in label_value(value)]


def _toleration(toleration: Json, path: str) -> Errors:
    key, value = toleration.get("key", ""), toleration.get("value", "")
    operator, effect = toleration.get("operator", ""), toleration.get("effect", "")
    found = [invalid(f"{path}.key", key, each) for each in label_key(key) if key]
    if operator == "Equal":
        found += check_label_value(value, f"{path}.value")
    elif operator == "Exists" and value:
        found.append(invalid(f"{path}.value", value, "must be empty for operator `Exists`"))
    elif operator != "Exists":
        found += one_of(operator, f"{path}.operator", ("Equal", "Exists"))
    return found + (check_effect(effect, f"{path}.effect") if effect else [])


def _request(request: Json, path: str) -> Errors:
    found: Errors = []
    name = request.get("deviceClassName", "")
    if not name:
        found.append(required(f"{path}.deviceClassName"))
    else:
        found += [invalid(f"{path}.deviceClassName", name, each) for each in dns_subdomain(name)]
    found += _selectors(request.get("selectors") or [], f"{path}.selectors")
    mode, count = request.get("allocationMode"), request.get("count") or 0
    if mode == "All":
        if count:
            detail = "must not be specified when allocationMode is 'All'"
            found.append(invalid(f"{path}.count", count, detail))
    elif mode == "ExactCount":
        if count <= 0:
            found.append(invalid(f"{path}.count", count, "must be greater than zero"))
    else:
        found += one_of(mode, f"{path}.allocationMode", _MODES)
    for index, toleration in enumerate(request.get("tolerations") or ()):
        found += _toleration(toleration, f"{path}.tolerations[{index}]")
    return found


def _selectors(selectors: list[Json], path: str) -> Errors:
    found: Errors = []
    for index, selector in enumerate(selectors):
        where = f"{path}[{index}].cel"
        if selector.get("cel") is None:
            found.append(required(where))
    return found


def check_claim_status(item: Json, _old: Json) -> Errors:
    """Check the status of a ResourceClaim."""
    allocation = (item.get("status") or {}).get("allocation") or {}
    selector = allocation.get("nodeSelector")
    if selector is None:
        return []
    return check_node_selector(selector, "status.allocation.nodeSelector")


def check_class(item: Json, _old: Json | None) -> Errors:
    """Check a DeviceClass."""
    spec = item.get("spec") or {}
    found = _selectors(spec.get("selectors") or [], "spec.selectors")
    for index, config in enumerate(spec.get("config") or ()):
        found += _config(config, f"spec.config[{index}]")
    name = spec.get("extendedResourceName")
    if name is not None and not is_extended(name):
        detail = "must be a valid extended resource name"
        found.append(invalid("spec.extendedResourceName", name, detail))
    return found
