"""Addresses and ports of Services: the server allocates them, and changes keep them."""

import ipaddress
from collections.abc import Iterator
from typing import Any, Final

from stretto.api.checks.fields.addresses import is_address
from stretto.api.checks.fields.errors import Errors, invalid
from stretto.api.checks.kinds.core.families import (
    FAMILIES,
    check_addresses,
    family_of,
    is_headless,
)
from stretto.api.wire.kinds import SERVICE
from stretto.web.api.failures import failed_internally
from stretto.web.api.state import ApiState

Json = dict[str, Any]

_NETWORK: Final = ipaddress.ip_network("10.0.0.0/24")
_ENDS: Final = (str(_NETWORK.network_address), str(_NETWORK.broadcast_address))
"""Addresses of the network that no Service has."""
_OTHER_NETWORK: Final = "the provided network does not match the current range"
_PREFIX: Final = "10.0.0."
_DRY: Final = f"{_PREFIX}0"
_ADDRESSES: Final = range(2, 255)
_PORTS: Final = range(30_000, 32_768)
_KEPT: Final = ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy")
_NODE_PORTS: Final = ("NodePort", "LoadBalancer")
_FAMILY: Final = "IPv4"
_DUAL: Final = "RequireDualStack"
_SINGLE: Final = "SingleStack"


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
    _drop_unused(spec, before)
    if kind == "ExternalName":
        if spec.get("clusterIP"):
            spec["clusterIPs"] = spec.get("clusterIPs") or [spec["clusterIP"]]
        return []
    errors = _address(state, spec, before, dry_run=dry_run)
    if errors or kind not in _NODE_PORTS:
        return errors
    return _node_ports(state, spec, before) or _health_port(state, spec, before)


def _drop_unused(spec: Json, before: Json) -> None:
    """Remove unchanged members that the new type of a Service does not have."""
    kind = spec.get("type")
    is_external = kind in _NODE_PORTS or spec.get("externalIPs")
    dropped = {
        **dict.fromkeys(_KEPT, kind == "ExternalName"),
        "allocateLoadBalancerNodePorts": kind != "LoadBalancer",
        "loadBalancerClass": kind != "LoadBalancer",
        "externalTrafficPolicy": not is_external,
        "internalTrafficPolicy": kind == "ExternalName",
        "healthCheckNodePort": not _needs_health_port(spec),
    }
    for name, is_unused in dropped.items():
        if is_unused and name in before and spec.get(name) == before[name]:
            del spec[name]
    if before.get("type") in _NODE_PORTS and kind not in _NODE_PORTS:
        known = [each.get("nodePort") for each in before.get("ports") or ()]
        if known == [each.get("nodePort") for each in spec.get("ports") or ()]:
            for port in spec.get("ports") or ():
                port.pop("nodePort", None)


def _address(state: ApiState, spec: Json, before: Json, *, dry_run: bool) -> Errors:
    for name in _KEPT:
        is_absent = name not in spec if name == "ipFamilyPolicy" else not spec.get(name)
        if is_absent and before.get(name):
            spec[name] = before[name]
    if spec.get("clusterIP") and spec.get("clusterIPs") == before.get("clusterIPs"):
        # A client that changes only the first address changes it in the list too.
        spec["clusterIPs"] = [spec["clusterIP"], *(before.get("clusterIPs") or ())[1:]]
    stated = spec.get("clusterIP")
    if stated and not spec.get("clusterIPs"):
        spec["clusterIPs"] = [stated]
    errors = _complete_families(spec, before)
    if errors or is_headless(spec):
        return errors
    if not stated:
        spec["clusterIP"] = _DRY if dry_run else _free_address(state)
        spec["clusterIPs"] = [spec["clusterIP"]]
    elif stated != before.get("clusterIP"):
        problem = _address_problem(state, stated, dry_run=dry_run)
        if problem:
            detail = f"failed to allocate IP {stated}: {problem}"
            return [invalid("spec.clusterIPs", spec["clusterIPs"], detail)]
    return []


def _complete_families(spec: Json, before: Json) -> Errors:
    """Set the families of the addresses of a Service; the cluster has addresses of IPv4 only."""
    is_open = is_headless(spec) and not spec.get("selector")
    policy = spec.setdefault("ipFamilyPolicy", _DUAL if is_open else _SINGLE)
    errors = check_addresses(spec)
    if errors:
        return errors
    addresses, families = spec.get("clusterIPs") or [], list(spec.get("ipFamilies") or ())
    where = "spec.ipFamilyPolicy"
    if policy == _SINGLE and before:
        for name in ("clusterIPs", "ipFamilies"):
            if spec.get(name) and spec[name] == before.get(name):
                spec[name] = spec[name][:1]
        addresses, families = spec.get("clusterIPs") or [], list(spec.get("ipFamilies") or ())
    if policy == _SINGLE:
        several = {"cluster IPs": addresses, "IP families": families}
        text = "must be 'RequireDualStack' or 'PreferDualStack' when multiple"
        errors = [
            invalid(where, policy, f"{text} {words} are specified")
            for words, values in several.items()
            if len(values) > 1
        ]
    if not is_headless(spec):
        errors += _foreign(addresses, len(families))
        families += [family_of(each) for each in addresses[len(families) :]]
    if not errors and not is_open:
        errors = _unconfigured(policy, families)
    if errors:
        return errors
    families = families or [_FAMILY]
    if is_open and policy != _SINGLE and len(families) == 1:
        families += [each for each in FAMILIES if each not in families]
    spec["ipFamilies"] = families
    return []


def _foreign(addresses: list[str], stated: int) -> Errors:
    """Return errors about addresses, behind those with a stated family, of an absent family."""
    where, detail = "spec.clusterIPs", "is not configured on this cluster"
    families = [family_of(each) for each in addresses]
    return [
        invalid(f"{where}[{index}]", addresses, f"{family} {detail}")
        for index, family in enumerate(families)
        if index >= stated and family != _FAMILY
    ]


def _unconfigured(policy: str, families: list[str]) -> Errors:
    """Return errors about families that the cluster does not have."""
    found: Errors = []
    if policy == _DUAL:
        detail = "this cluster is not configured for dual-stack services"
        found.append(invalid("spec.ipFamilyPolicy", policy, detail))
    return found + [
        invalid(f"spec.ipFamilies[{index}]", family, "not configured on this cluster")
        for index, family in enumerate(families)
        if family != _FAMILY
    ]


def _needs_health_port(spec: Json) -> bool:
    return spec.get("type") == "LoadBalancer" and spec.get("externalTrafficPolicy") == "Local"


def _health_port(state: ApiState, spec: Json, before: Json) -> Errors:
    """Assign the node port of the health checks of a load balancer with local traffic."""
    if not _needs_health_port(spec):
        return []
    used = {port.get("nodePort") for each in _specs(state) for port in each.get("ports") or ()}
    used |= {each.get("healthCheckNodePort") for each in _specs(state)}
    used |= {port.get("nodePort") for port in spec.get("ports") or ()}
    known, stated = before.get("healthCheckNodePort"), spec.get("healthCheckNodePort")
    if not stated:
        spec["healthCheckNodePort"] = known or _FreePorts(state, used).take(
            "HealthCheck NodePort 0"
        )
    elif stated != known and (problem := _port_problem(stated, used)):
        detail = f"failed to allocate requested HealthCheck NodePort {stated}: {problem}"
        return [invalid("spec.healthCheckNodePort", stated, detail)]
    return []


def _address_problem(state: ApiState, address: str, *, dry_run: bool) -> str:
    """Return why a Service cannot have an address; empty if it can.

    A dry run does not read which addresses are allocated.
    """
    if not is_address(address):
        return ""
    if address in _ENDS or ipaddress.ip_address(address) not in _NETWORK:
        shown = f"({address}) is not in the valid range. The range of valid IPs is {_NETWORK}"
        return f"the provided IP {shown}" if dry_run else _OTHER_NETWORK
    if dry_run:
        return ""
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
    free = _FreePorts(state, used | {port.get("nodePort") for port in spec.get("ports") or ()})
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
            port["nodePort"] = found or free.take("nodePort")
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


class _FreePorts:
    """Node ports that no Service has."""

    def __init__(self, state: ApiState, used: set[Any]) -> None:
        """List the ports of the range that are not in use."""
        self._rng = state.rng
        self._left = [port for port in _PORTS if port not in used]

    def take(self, word: str) -> int:
        """Return a random free port, which is then in use.

        Args:
            word: what the port is for, as named in the error.

        Raises:
            ApiError: no port is free.
        """
        if not self._left:
            raise failed_internally(f"failed to allocate a {word}: range is full")
        index = self._rng.randint(0, len(self._left) - 1)
        self._left[index], self._left[-1] = self._left[-1], self._left[index]
        return self._left.pop()


def _key(port: Json) -> tuple[Any, Any]:
    return port.get("port"), port.get("protocol")


def _specs(state: ApiState) -> Iterator[Json]:
    return (each.get("spec") or {} for each in state.storage.items(SERVICE))
