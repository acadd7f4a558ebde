"""Rules of dynamic resource allocation: claims, classes and slices of devices."""

import re
from typing import Final

from stretto.api.checks.fields.errors import (
    Errors,
    duplicate,
    forbidden,
    immutable,
    invalid,
    required,
)
from stretto.api.checks.fields.texts import dns_label, dns_subdomain, driver_name
from stretto.api.checks.kinds.pods.placement import check_node_selector
from stretto.api.checks.kinds.values import Json, one_of

_MODES: Final = ("All", "ExactCount")
_MOST_DEVICES: Final = 128
_NODES: Final = ("nodeName", "nodeSelector", "allNodes", "perDeviceNodeSelection")
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
_ONE_NODE: Final = (
    "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required"
)


def check_claim(item: Json, old: Json | None) -> Errors:
    """Check a ResourceClaim; its spec is immutable."""
    spec = item.get("spec") or {}
    if old is not None:
        if spec == (old.get("spec") or {}):
            return []
        return [immutable("spec", _shown(spec))]
    return _devices(spec.get("devices") or {}, "spec.devices")


def check_claim_template(item: Json, old: Json | None) -> Errors:
    """Check a ResourceClaimTemplate; its spec is immutable."""
    spec = item.get("spec") or {}
    found = _devices((spec.get("spec") or {}).get("devices") or {}, "spec.spec.devices")
    if old is not None and spec != old.get("spec"):
        found.append(immutable("spec", spec))
    return found


def _devices(devices: Json, path: str) -> Errors:
    found: Errors = []
    names: set[str] = set()
    for index, request in enumerate(devices.get("requests") or ()):
        where, name = f"{path}.requests[{index}]", request.get("name", "")
        found += _label(name, f"{where}.name")
        if name in names:
            found.append(duplicate(where, name))
        names.add(name)
        exactly, first = request.get("exactly"), request.get("firstAvailable") or []
        if exactly is not None and first:
            found.append(invalid(where, None, f"{_ONE_FORM}, but multiple fields are set"))
        elif exactly is not None:
            found += _request(exactly, f"{where}.exactly")
        elif first:
            for number, each in enumerate(first):
                here = f"{where}.firstAvailable[{number}]"
                found += _label(each.get("name", ""), f"{here}.name") + _request(each, here)
        else:
            found.append(required(where, _ONE_FORM))
    for index, constraint in enumerate(devices.get("constraints") or ()):
        where = f"{path}.constraints[{index}]"
        for number, name in enumerate(constraint.get("requests") or ()):
            if name.partition("/")[0] not in names:
                found.append(invalid(f"{where}.requests[{number}]", name, _UNKNOWN_REQUEST))
        found += _constraint(constraint, where)
    return found


def _constraint(constraint: Json, path: str) -> Errors:
    """Check the attribute that a constraint names."""
    for member in ("matchAttribute", "distinctAttribute"):
        name = constraint.get(member)
        if name is not None:
            return _qualified(name, f"{path}.{member}")
    return [required(path, _ONE_ATTRIBUTE)]


def _qualified(name: str, path: str) -> Errors:
    """Check the name of an attribute: a domain and an identifier."""
    domain, slash, identifier = name.partition("/")
    if not slash:
        domain, identifier = "", name
    found = driver_name(domain, path) if domain else []
    if slash and not domain:
        found.append(invalid(path, "", "the domain must not be empty"))
    if slash and not identifier:
        found.append(invalid(path, "", "the name must not be empty"))
    elif not _IDENTIFIER.fullmatch(identifier):
        found.append(invalid(path, identifier, _IDENTIFIER_TEXT))
    return found if slash else [*found, invalid(path, name, _NO_DOMAIN)]


def _label(name: str, path: str) -> Errors:
    if not name:
        return [required(path)]
    return [invalid(path, name, each) for each in dns_label(name)]


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
    return _selectors(spec.get("selectors") or [], "spec.selectors")


def check_slice(item: Json, old: Json | None) -> Errors:
    """Check a ResourceSlice."""
    spec = item.get("spec") or {}
    driver = spec.get("driver", "")
    found = driver_name(driver, "spec.driver") if driver else [required("spec.driver")]
    found += _pool(spec.get("pool") or {})
    before = (old or {}).get("spec") or {}
    given = [name for name in _NODES if spec.get(name)]
    if not given:
        found.append(required("spec", _ONE_NODE))
    elif len(given) > 1:
        shown = "{" + ", ".join(f"`{each}`" for each in given) + "}"
        found.append(invalid("spec", shown, f"{_ONE_NODE}, but multiple fields are set"))
    elif spec.get("nodeName"):
        name = spec["nodeName"]
        found += [invalid("spec.nodeName", name, each) for each in dns_subdomain(name)]
    elif spec.get("nodeSelector"):
        found += check_node_selector(spec["nodeSelector"], "spec.nodeSelector")
    names: set[str] = set()
    devices = spec.get("devices") or []
    if len(devices) > _MOST_DEVICES:
        found.append(forbidden("spec.devices", f"must have at most {_MOST_DEVICES} items"))
    for index, device in enumerate(devices):
        where, name = f"spec.devices[{index}]", device.get("name", "")
        found += _label(name, f"{where}.name")
        if name in names:
            found.append(duplicate(where, name))
        names.add(name)
    if old is not None:
        for path, value, was in (
            ("spec.driver", spec.get("driver"), before.get("driver")),
            (
                "spec.pool.name",
                (spec.get("pool") or {}).get("name"),
                (before.get("pool") or {}).get("name"),
            ),
            ("spec.nodeName", spec.get("nodeName"), before.get("nodeName")),
        ):
            if value != was:
                found.append(immutable(path, value))
    return found


def _pool(pool: Json) -> Errors:
    found: Errors = []
    if not pool.get("name"):
        found.append(required("spec.pool.name"))
    else:
        for part in pool["name"].split("/"):
            found += [invalid("spec.pool.name", part, each) for each in dns_subdomain(part)]
    count = pool.get("resourceSliceCount") or 0
    if count <= 0:
        detail = "must be greater than zero"
        found.append(invalid("spec.pool.resourceSliceCount", count, detail))
    generation = pool.get("generation") or 0
    if generation < 0:
        detail = "must be greater than or equal to zero"
        found.append(invalid("spec.pool.generation", generation, detail))
    return found


def _shown(spec: Json) -> Json:
    """The spec of a claim as kube-apiserver shows it."""
    devices = spec.get("devices") or {}
    return {
        "Devices": {
            "Requests": [_shown_request(each) for each in devices.get("requests") or ()] or None,
            "Constraints": devices.get("constraints"),
            "Config": devices.get("config"),
        }
    }


def _shown_request(request: Json) -> Json:
    exactly = request.get("exactly")
    shown = None
    if exactly is not None:
        shown = {
            "DeviceClassName": exactly.get("deviceClassName", ""),
            "Selectors": exactly.get("selectors"),
            "AllocationMode": exactly.get("allocationMode", ""),
            "Count": exactly.get("count", 0),
            "AdminAccess": exactly.get("adminAccess"),
            "Tolerations": exactly.get("tolerations"),
            "Capacity": exactly.get("capacity"),
        }
    return {
        "Name": request.get("name", ""),
        "Exactly": shown,
        "FirstAvailable": request.get("firstAvailable"),
    }
