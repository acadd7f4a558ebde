"""Rules of Ingresses, NetworkPolicies, EndpointSlices and their classes."""

from collections.abc import Callable
from typing import Final

from stretto.api.checks.fields.addresses import (
    address_problems,
    is_address,
    network_problems,
    subnet_of,
    unreachable,
)
from stretto.api.checks.fields.errors import (
    Errors,
    duplicate,
    forbidden,
    immutable,
    invalid,
    repeated,
    required,
    too_long,
    too_many,
    unsupported,
)
from stretto.api.checks.fields.texts import (
    dns_label,
    dns_subdomain,
    domain_path,
    fully_qualified,
    label_key,
    label_value,
    path_segment,
    port_name,
    wildcard_subdomain,
)
from stretto.api.checks.kinds.core.families import family_of
from stretto.api.checks.kinds.values import (
    PROTOCOLS,
    Json,
    check_selector,
    one_of,
    port_number,
)

_NETWORKS_LIMIT: Final = 2
_ONE_PER_FAMILY: Final = (
    "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64"
)
_PATHS: Final = ("Exact", "ImplementationSpecific", "Prefix")
_BAD_PATHS: Final = ("//", "/./", "/../", "%2f", "%2F")
_BAD_ENDS: Final = ("/..", "/.")
_CONTROLLER_LIMIT: Final = 250
_ADDRESSES: Final = ("FQDN", "IPv4", "IPv6")
_MOST_ENDPOINTS: Final = 1000
"""Maximum endpoints of a slice."""
_MOST_ADDRESSES: Final = 100
"""Maximum addresses of an endpoint."""
_MOST_HINTS: Final = 8
_ONE_SOURCE: Final = "resource or service backend is required"


def check_ingress(item: Json, _old: Json | None) -> Errors:
    """Check an Ingress."""
    spec = item.get("spec") or {}
    rules, backend = spec.get("rules") or [], spec.get("defaultBackend")
    found: Errors = []
    if not rules and backend is None:
        detail = "either `defaultBackend` or `rules` must be specified"
        found.append(invalid("spec", None, detail))
    if backend is not None:
        found += _backend(backend, "spec.defaultBackend")
    for index, rule in enumerate(rules):
        found += _rule(rule, f"spec.rules[{index}]")
    for index, tls in enumerate(spec.get("tls") or ()):
        for number, host in enumerate(tls.get("hosts") or ()):
            where = f"spec.tls[{index}].hosts[{number}]"
            found += [invalid(where, host, each) for each in _host(host)]
        secret = tls.get("secretName") or ""
        where = f"spec.tls[{index}].secretName"
        found += [invalid(where, secret, each) for each in dns_subdomain(secret) if secret]
    name = spec.get("ingressClassName")
    if name is not None:
        found += [invalid("spec.ingressClassName", name, each) for each in dns_subdomain(name)]
    return found


def _host(host: str) -> list[str]:
    return wildcard_subdomain(host) if "*" in host else dns_subdomain(host)


def _rule(rule: Json, path: str) -> Errors:
    host = rule.get("host", "")
    found: Errors = []
    if host:
        if is_address(host):
            found.append(invalid(f"{path}.host", host, "must be a DNS name, not an IP address"))
        found += [invalid(f"{path}.host", host, each) for each in _host(host)]
    http = rule.get("http")
    if http is None:
        return found
    paths = http.get("paths") or []
    if not paths:
        found.append(required(f"{path}.http.paths"))
    for index, each in enumerate(paths):
        found += _path(each, f"{path}.http.paths[{index}]")
    return found


def _path(item: Json, where: str) -> Errors:
    kind, path = item.get("pathType"), item.get("path", "")
    found: Errors = []
    if kind is None:
        return [required(f"{where}.pathType", "pathType must be specified")]
    if kind in ("Exact", "Prefix"):
        if not path.startswith("/"):
            found.append(invalid(f"{where}.path", path, "must be an absolute path"))
        if path:
            for bad in _BAD_PATHS:
                if bad in path:
                    found.append(invalid(f"{where}.path", path, f"must not contain '{bad}'"))
            for bad in _BAD_ENDS:
                if path.endswith(bad):
                    found.append(invalid(f"{where}.path", path, f"cannot end with '{bad}'"))
    elif kind == "ImplementationSpecific":
        if path and not path.startswith("/"):
            found.append(invalid(f"{where}.path", path, "must be an absolute path"))
    else:
        found.append(unsupported(f"{where}.pathType", kind, _PATHS))
    return found + _backend(item.get("backend") or {}, f"{where}.backend")


def _backend(backend: Json, path: str) -> Errors:
    service, resource = backend.get("service"), backend.get("resource")
    if service is not None and resource is not None:
        detail = "cannot set both resource and service backends"
        return [invalid(path, "", detail)]
    if resource is not None:
        return _typed(resource, f"{path}.resource")
    if service is None:
        return [invalid(path, "", _ONE_SOURCE)]
    name, port = service.get("name", ""), service.get("port") or {}
    found = []
    if not name:
        found.append(required(f"{path}.service.name"))
    else:
        found += [invalid(f"{path}.service.name", name, each) for each in dns_label(name)]
    where = f"{path}.service.port"
    if port.get("name") and port.get("number"):
        detail = "cannot set both port name & port number"
        found.append(invalid(path, "", detail))
    elif port.get("name"):
        found += [invalid(f"{where}.name", port["name"], e) for e in port_name(port["name"])]
    elif port.get("number"):
        found += port_number(port["number"], f"{where}.number")
    else:
        found.append(required(path, "port name or number is required"))
    return found


def _typed(reference: Json, path: str) -> Errors:
    """Check a reference to an object of any kind."""
    found: Errors = []
    group = reference.get("apiGroup")
    if group is not None:
        found += [invalid(f"{path}.apiGroup", group, each) for each in dns_subdomain(group)]
    for word in ("kind", "name"):
        value, where = reference.get(word, ""), f"{path}.{word}"
        if not value:
            found.append(required(where))
        else:
            found += [invalid(where, value, each) for each in path_segment(value)]
    return found


def check_ingress_class(item: Json, old: Json | None) -> Errors:
    """Check an IngressClass."""
    spec = item.get("spec") or {}
    controller, path = spec.get("controller", ""), "spec.controller"
    found: Errors = []
    if old is not None and controller != (old.get("spec") or {}).get("controller", ""):
        found.append(immutable(path, controller))
    if len(controller) > _CONTROLLER_LIMIT:
        found.append(too_long(path, _CONTROLLER_LIMIT))
    found += domain_path(controller, path)
    parameters = spec.get("parameters")
    if parameters is not None:
        where = "spec.parameters"
        found += _typed(parameters, where)
        scope = parameters.get("scope")
        if scope is None:
            found.append(required(f"{where}.scope"))
        else:
            found += one_of(scope, f"{where}.scope", ("Cluster", "Namespace"))
        if scope == "Namespace" and not parameters.get("namespace"):
            detail = '`parameters.scope` is set to "Namespace"'
            found.append(required(f"{where}.namespace", detail))
        if scope == "Cluster" and parameters.get("namespace") is not None:
            detail = "`parameters.scope` is set to 'Cluster'"
            found.append(forbidden(f"{where}.namespace", detail))
    return found


def check_network_policy(item: Json, _old: Json | None) -> Errors:
    """Check a NetworkPolicy."""
    spec = item.get("spec") or {}
    found = check_selector(spec.get("podSelector"), "spec.podSelector")
    for word, peers in (("ingress", "from"), ("egress", "to")):
        for index, rule in enumerate(spec.get(word) or ()):
            where = f"spec.{word}[{index}]"
            for number, port in enumerate(rule.get("ports") or ()):
                found += _policy_port(port, f"{where}.ports[{number}]")
            for number, peer in enumerate(rule.get(peers) or ()):
                found += _peer(peer, f"{where}.{peers}[{number}]")
    types = spec.get("policyTypes") or []
    if len(types) > 2:
        detail = "may not specify more than two policyTypes"
        return [*found, invalid("spec.policyTypes", types, detail)]
    for index, each in enumerate(types):
        found += one_of(each, f"spec.policyTypes[{index}]", ("Ingress", "Egress"))
    return found


def _policy_port(port: Json, path: str) -> Errors:
    found: Errors = []
    if port.get("protocol") is not None:
        found += one_of(port["protocol"], f"{path}.protocol", ("TCP", "UDP", "SCTP"))
    number, end = port.get("port"), port.get("endPort")
    if isinstance(number, int):
        found += port_number(number, f"{path}.port")
        if end is not None:
            if end < number:
                detail = "must be greater than or equal to `port`"
                found.append(invalid(f"{path}.endPort", number, detail))
            found += port_number(end, f"{path}.endPort")
    else:
        if end is not None:
            state = "not specified" if number is None else "non-numeric"
            detail = f"may not be specified when `port` is {state}"
            found.append(invalid(f"{path}.endPort", end, detail))
        if number is not None:
            found += [invalid(f"{path}.port", number, each) for each in port_name(number)]
    return found


def _peer(peer: Json, path: str) -> Errors:
    found: Errors = []
    given = [n for n in ("podSelector", "namespaceSelector", "ipBlock") if peer.get(n) is not None]
    for name in given:
        if name != "ipBlock":
            found += check_selector(peer[name], f"{path}.{name}")
    if "ipBlock" in given:
        found += _block(peer["ipBlock"], f"{path}.ipBlock")
    if not given:
        found.append(required(path, "must specify a peer"))
    elif "ipBlock" in given and len(given) > 1:
        detail = "may not specify both ipBlock and another peer"
        found.append(forbidden(path, detail))
    return found


def _block(block: Json, path: str) -> Errors:
    network = block.get("cidr", "")
    if not network:
        return [required(f"{path}.cidr")]
    found = [invalid(f"{path}.cidr", network, each) for each in network_problems(network)]
    outer = subnet_of(network)
    if outer is None:
        return found
    for index, text in enumerate(block.get("except") or ()):
        problems, inner = network_problems(text), subnet_of(text)
        if inner is not None and not inner.is_within(outer) and not problems:
            problems = ["must be a strict subset of `cidr`"]
        found += [invalid(f"{path}.except[{index}]", text, each) for each in problems]
    return found


def check_endpoint_slice(item: Json, old: Json | None) -> Errors:
    """Check an EndpointSlice."""
    kind = item.get("addressType", "")
    found: Errors = []
    if not kind:
        found.append(required("addressType"))
    else:
        found += one_of(kind, "addressType", _ADDRESSES)
    endpoints = item.get("endpoints") or ()
    if len(endpoints) > _MOST_ENDPOINTS:
        found.append(too_many("endpoints", len(endpoints), _MOST_ENDPOINTS))
        endpoints = ()
    for index, endpoint in enumerate(endpoints):
        found += _endpoint(endpoint, kind, f"endpoints[{index}]")
    names: set[str] = set()
    for index, port in enumerate(item.get("ports") or ()):
        where, name = f"ports[{index}]", port.get("name") or ""
        if name:
            found += [invalid(f"{where}.name", name, each) for each in dns_label(name)]
        if name in names:
            found.append(duplicate(f"{where}.name", name))
        names.add(name)
        if port.get("protocol") is None:
            found.append(required(f"{where}.protocol"))
        else:
            found += one_of(port["protocol"], f"{where}.protocol", PROTOCOLS)
        word = port.get("appProtocol")
        if word is not None:
            found += [invalid(f"{where}.appProtocol", word, each) for each in label_key(word)]
    if old is not None and kind != old.get("addressType"):
        found.append(immutable("addressType", kind))
    return found


def _endpoint(endpoint: Json, kind: str, path: str) -> Errors:
    addresses = endpoint.get("addresses") or []
    found: Errors = []
    if not addresses:
        found.append(required(f"{path}.addresses", "must contain at least 1 address"))
    elif len(addresses) > _MOST_ADDRESSES:
        found.append(too_many(f"{path}.addresses", len(addresses), _MOST_ADDRESSES))
    for index, text in enumerate(addresses if kind in _ADDRESSES else ()):
        found += _slice_address(text, kind, f"{path}.addresses", index)
    host = endpoint.get("hostname")
    if host is not None:
        found += [invalid(f"{path}.hostname", host, each) for each in dns_label(host)]
    node = endpoint.get("nodeName")
    if node is not None:
        found += [invalid(f"{path}.nodeName", node, each) for each in dns_subdomain(node)]
    for name, problems in (("forZones", label_value), ("forNodes", dns_subdomain)):
        hints = (endpoint.get("hints") or {}).get(name) or []
        found += _hints(hints, f"{path}.hints.{name}", problems)
    return found


def _hints(hints: list[Json], path: str, problems: Callable[[str], list[str]]) -> Errors:
    """Check the zones or the nodes that an endpoint is for."""
    if len(hints) > _MOST_HINTS:
        return [too_many(path, len(hints), _MOST_HINTS)]
    names = [each.get("name", "") for each in hints]
    again = repeated(names)
    found: Errors = []
    for index, name in enumerate(names):
        where = f"{path}[{index}].name"
        if index in again:
            found.append(duplicate(where, name))
        found += [invalid(where, name, each) for each in problems(name)]
    return found


def _slice_address(text: str, kind: str, path: str, index: int) -> Errors:
    where = f"{path}[{index}]"
    if kind == "FQDN":
        return [invalid(where, text, each) for each in fully_qualified(text)]
    problems = address_problems(text, canonical=kind == "IPv6")
    if problems:
        return [invalid(where, text, each) for each in problems]
    wrong = family_of(text) != kind
    found = [invalid(path, text, f"must be an {kind} address")] if wrong else []
    return found + [invalid(where, text, each) for each in unreachable(text)]


def check_address(item: Json, old: Json | None) -> Errors:
    """Check an IPAddress; its owner is immutable."""
    parent = (item.get("spec") or {}).get("parentRef")
    path = "spec.parentRef"
    if parent is None:
        found = [required(path)]
    else:
        found = [
            required(f"{path}.{name}") for name in ("resource", "name") if not parent.get(name)
        ]
    if old is not None and parent != (old.get("spec") or {}).get("parentRef"):
        found.append(immutable(path, parent))
    return found


def check_service_network(item: Json, old: Json | None) -> Errors:
    """Check a ServiceCIDR, of which an update may only add a second network."""
    field, networks = "spec.cidrs", (item.get("spec") or {}).get("cidrs") or []
    if old is None:
        return _service_networks(field, networks)
    before = (old.get("spec") or {}).get("cidrs") or []
    if len(before) != len(networks) and (len(before), len(networks)) != (1, 2):
        return [immutable(field, networks or None)]
    found = [
        immutable(f"{field}[{index}]", new)
        for index, (was, new) in enumerate(zip(before, networks, strict=False))
        if was != new
    ]
    return found if len(before) == len(networks) else found + _service_networks(field, networks)


def _service_networks(field: str, networks: list[str]) -> Errors:
    if not networks:
        return [required(field, "at least one CIDR required")]
    if len(networks) > _NETWORKS_LIMIT:
        return [invalid(field, {"CIDRs": networks}, "may only hold up to 2 values")]
    found = [
        invalid(f"{field}[{index}]", text, each)
        for index, text in enumerate(networks)
        for each in network_problems(text, canonical=True)
    ]
    subnets = [subnet_of(each) for each in networks]
    versions = {each.version for each in subnets if each is not None}
    if None not in subnets and len(versions) < len(subnets):
        found.append(invalid(field, networks, _ONE_PER_FAMILY))
    return found
