"""Rules of the addresses at which load balancers serve Services and Ingresses."""

from collections.abc import Callable
from typing import Any, Final

from stretto.api.checks.fields.addresses import address_problems, is_address
from stretto.api.checks.fields.errors import Errors, forbidden, invalid, required
from stretto.api.checks.fields.texts import dns_subdomain
from stretto.api.checks.kinds.values import Json, one_of

_MODES: Final = ("Proxy", "VIP")
_PATH: Final = "status.loadBalancer.ingress"


def check_service_status(item: Json, old: Json) -> Errors:
    """Check the status of a Service."""
    if _points(item) and (item.get("spec") or {}).get("type") != "LoadBalancer":
        return [forbidden(_PATH, "may only be used when `spec.type` is 'LoadBalancer'")]
    return _checked(item, old, _mode)


def check_ingress_status(item: Json, old: Json) -> Errors:
    """Check the status of an Ingress."""
    return _checked(item, old, lambda _point, _path: [])


def _points(item: Json) -> list[dict[str, Any]]:
    return ((item.get("status") or {}).get("loadBalancer") or {}).get("ingress") or []


def _checked(item: Json, old: Json, check_more: Callable[[Json, str], Errors]) -> Errors:
    """Check addresses and names of a load balancer; stored addresses remain valid."""
    known = {each.get("ip") for each in _points(old)}
    found: Errors = []
    for index, point in enumerate(_points(item)):
        path, address = f"{_PATH}[{index}]", point.get("ip") or ""
        problems = address_problems(address) if address and address not in known else ()
        found += [invalid(f"{path}.ip", address, each) for each in problems]
        found += check_more(point, path)
        found += _name(point.get("hostname") or "", f"{path}.hostname")
    return found


def _mode(point: Json, path: str) -> Errors:
    """Check how a load balancer of a Service delivers traffic to an address."""
    mode, has_address = point.get("ipMode"), bool(point.get("ip"))
    path += ".ipMode"
    if mode is None:
        return [required(path, "must be specified when `ip` is set")] if has_address else []
    if not has_address:
        return [forbidden(path, "may not be specified when `ip` is not set")]
    return one_of(mode, path, _MODES)


def _name(name: str, path: str) -> Errors:
    found = [invalid(path, name, each) for each in dns_subdomain(name)] if name else []
    if is_address(name):
        found.append(invalid(path, name, "must be a DNS name, not an IP address"))
    return found
