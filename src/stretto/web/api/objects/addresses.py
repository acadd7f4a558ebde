"""Addresses and ports of Services: the server allocates them, and changes keep them."""

import ipaddress
from collections.abc import Iterator
from typing import Any, Final

from stretto.api.checks.fields.errors import Errors, invalid
from stretto.api.checks.kinds.values import is_address
from stretto.api.wire.kinds import SERVICE
from stretto.web.api.state import ApiState

Json = dict[str, Any]

_NETWORK: Final = ipaddress.ip_network("10.0.0.0/24")
_PREFIX: Final = "10.0.0."
_DRY: Final = f"{_PREFIX}0"
_ADDRESSES: Final = range(2, 255)
_PORTS: Final = range(30_000, 32_768)
_NONE: Final = "None"
_KEPT: Final = ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy")
_NODE_PORTS: Final = ("NodePort", "LoadBalancer")


def allocate(state: ApiState, item: Json, old: Json | None, *, dry_run: bool) -> Errors:
    """Assign addresses and node ports to a Service; return errors about unavailable ones.

    Args:
        state: the server.
        item: the new or changed Service; changed in place.
        old: the stored one; ``None`` for a new one.
        dry_run: whether nothing is stored; the address is then that of the network.
    """
    spec = item["spec"]
    before = (old or {}).get("spec") or {}
    kind = spec.get("type")
    if kind == "ExternalName":
        for name in _KEPT:
            spec.pop(name, None)
    else:
        errors = _address(state, spec, before, dry_run=dry_run)
        if errors:
            return errors
    return _node_ports(state, spec, before) if kind in _NODE_PORTS else []


def _address(state: ApiState, spec: Json, before: Json, *, dry_run: bool) -> Errors:
    for name in _KEPT:
        if not spec.get(name) and before.get(name):
            spec[name] = before[name]
    if not spec.get("clusterIP"):
        if spec.get("clusterIPs"):
            return []  # the rules of Services refuse them
        spec["clusterIP"] = _DRY if dry_run else _free_address(state)
    elif spec["clusterIP"] not in (_NONE, before.get("clusterIP")):
        problem = _address_problem(state, spec["clusterIP"])
        if problem:
            shown = spec.get("clusterIPs") or [spec["clusterIP"]]
            detail = f"failed to allocate IP {spec['clusterIP']}: {problem}"
            return [invalid("spec.clusterIPs", shown, detail)]
    spec["clusterIPs"] = spec.get("clusterIPs") or [spec["clusterIP"]]
    if spec["clusterIP"] == _NONE and not spec.get("selector"):
        spec.setdefault("ipFamilies", ["IPv4", "IPv6"])
        spec.setdefault("ipFamilyPolicy", "RequireDualStack")
    spec.setdefault("ipFamilies", ["IPv4"])
    spec.setdefault("ipFamilyPolicy", "SingleStack")
    return []


def _address_problem(state: ApiState, address: str) -> str:
    """Return why a Service cannot have an address; empty if it can."""
    if not is_address(address):
        return ""
    if ipaddress.ip_address(address) not in _NETWORK:
        return "the provided network does not match the current range"
    if any(address in (each.get("clusterIPs") or ()) for each in _specs(state)):
        return "provided IP is already allocated"
    return ""


def _free_address(state: ApiState) -> str:
    used = {each.get("clusterIP") for each in _specs(state)}
    numbers = [number for number in _ADDRESSES if f"{_PREFIX}{number}" not in used]
    return f"{_PREFIX}{state.rng.choice(numbers)}" if numbers else ""


def _node_ports(state: ApiState, spec: Json, before: Json) -> Errors:
    """Assign node ports; return an error about a stated one that is not available.

    In a new Service, the protocols of one port have one node port.
    """
    known = {_key(each): each.get("nodePort") for each in before.get("ports") or ()}
    used = {port.get("nodePort") for each in _specs(state) for port in each.get("ports") or ()}
    own = set(known.values())
    shared: dict[Any, Any] = {}
    for each in () if before else reversed(spec.get("ports") or ()):
        shared |= {each.get("port"): each["nodePort"]} if each.get("nodePort") else {}
    for index, port in enumerate(spec.get("ports") or ()):
        stated = port.get("nodePort")
        problem = "" if not stated or stated in own else _port_problem(stated, used)
        if problem:
            return [invalid(f"spec.ports[{index}].nodePort", stated, problem)]
        if not stated and spec.get("allocateLoadBalancerNodePorts") is not False:
            found = known.get(_key(port)) or shared.get(port.get("port"))
            port["nodePort"] = found or _free_port(state, used)
            if not before:
                shared[port.get("port")] = port["nodePort"]
        own.add(port.get("nodePort"))
        used.add(port.get("nodePort"))
    return []


def _port_problem(port: int, used: set[Any]) -> str:
    """Return why a Service cannot have a node port; empty if it can."""
    if port not in _PORTS:
        bounds = f"{_PORTS.start}-{_PORTS.stop - 1}"
        return f"provided port is not in the valid range. The range of valid ports is {bounds}"
    return "provided port is already allocated" if port in used else ""


def _free_port(state: ApiState, used: set[Any]) -> int:
    while True:
        port = state.rng.randint(_PORTS.start, _PORTS.stop)
        if port in _PORTS and port not in used:
            return port


def _key(port: Json) -> tuple[Any, Any]:
    return port.get("port"), port.get("protocol")


def _specs(state: ApiState) -> Iterator[Json]:
    return (each.get("spec") or {} for each in state.storage.items(SERVICE))
