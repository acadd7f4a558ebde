"""Rules of Services and Endpoints."""

from typing import Any, Final

from stretto.api.checks.fields.addresses import (
    address_problems,
    is_address,
    network_problems,
    unreachable,
)
from stretto.api.checks.fields.errors import (
    Errors,
    duplicate,
    forbidden,
    invalid,
    repeated,
    required,
)
from stretto.api.checks.fields.shapes import between
from stretto.api.checks.fields.texts import (
    check_labels,
    dns_label,
    dns_subdomain,
    label_key,
    port_name,
    qualified_name,
)
from stretto.api.checks.kinds.core.families import check_addresses
from stretto.api.checks.kinds.values import (
    PROTOCOLS,
    Json,
    one_of,
    port_number,
)

_TYPES: Final = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
_EXTERNAL: Final = ("LoadBalancer", "NodePort")
_ONLY_BALANCER: Final = "may only be used when `type` is 'LoadBalancer'"
_EXPOSED: Final = ("NodePort", "LoadBalancer")
"""Types of Services that need a cluster IP."""
_DISTRIBUTIONS: Final = ("PreferClose", "PreferSameZone", "PreferSameNode")
_TIMEOUT: Final = between(1, 86_400)
_RANGES: Final = "spec.LoadBalancerSourceRanges"
_RANGES_NOTE: Final = "service.beta.kubernetes.io/load-balancer-source-ranges"


def check_service(item: Json, old: Json | None) -> Errors:
    """Check a Service."""
    spec = item.get("spec") or {}
    kind = spec.get("type") or ""
    found: Errors = []
    if old is not None:
        found += _changed_address(spec, old["spec"], kind)
        found += _changed_balancer(spec, old["spec"])
    if not spec.get("ports") and spec.get("clusterIP") != "None" and kind != "ExternalName":
        found.append(required("spec.ports"))
    if kind in _EXPOSED and "None" in ((spec.get("clusterIPs") or [spec.get("clusterIP")])[:1]):
        detail = f"may not be set to 'None' for {kind} services"
        found.append(invalid("spec.clusterIPs[0]", "None", detail))
    if kind == "ExternalName":
        found += _external_name(spec)
    found += _ports(spec.get("ports") or [])
    if spec.get("selector"):
        found += check_labels(spec["selector"], "spec.selector")
    found += _affinity(spec)
    found += check_addresses(spec)
    found += _addresses(spec)
    found += one_of(kind, "spec.type", _TYPES)
    found += _distinct(spec.get("ports") or [], kind)
    found += _ranges(item, spec, kind)
    found += _traffic(spec, kind)
    if spec.get("allocateLoadBalancerNodePorts") is not None and kind != "LoadBalancer":
        path = "spec.allocateLoadBalancerNodePorts"
        found.append(forbidden(path, _ONLY_BALANCER))
    return found + _balancer_class(spec)


def _balancer_class(spec: Json) -> Errors:
    """Check the class of a load balancer; kube-apiserver checks that of a changed Service twice."""
    name = spec.get("loadBalancerClass")
    if name is None:
        return []
    if spec.get("type") != "LoadBalancer":
        return [forbidden("spec.loadBalancerClass", _ONLY_BALANCER)]
    return [invalid("spec.loadBalancerClass", name, each) for each in label_key(name)]


def _changed_balancer(spec: Json, before: Json) -> Errors:
    """Check that a load balancer keeps its valid class and the port of its health checks."""
    if {spec.get("type"), before.get("type")} != {"LoadBalancer"}:
        return _balancer_class(spec)
    found: Errors = []
    name = spec.get("loadBalancerClass")
    if name != before.get("loadBalancerClass"):
        found.append(invalid("spec.loadBalancerClass", name, "may not change once set"))
    found += _balancer_class(spec)
    is_local = {spec.get("externalTrafficPolicy"), before.get("externalTrafficPolicy")} == {"Local"}
    if is_local and spec.get("healthCheckNodePort") != before.get("healthCheckNodePort"):
        found.append(forbidden("spec.healthCheckNodePort", "field is immutable"))
    return found


def _changed_address(spec: Json, before: Json, kind: str) -> Errors:
    if kind == "ExternalName" or before.get("type") == "ExternalName":
        return []
    address = before.get("clusterIP")
    if not address or spec.get("clusterIP") == address:
        return []
    detail = "may not change once set"
    return [invalid("spec.clusterIPs[0]", spec.get("clusterIPs"), detail)]


def _ports(ports: list[Json]) -> Errors:
    found: Errors = []
    names: set[str] = set()
    for index, port in enumerate(ports):
        where, name = f"spec.ports[{index}]", port.get("name", "")
        found += _port_name(name, f"{where}.name", needed=len(ports) > 1)
        if name and name in names:
            found.append(duplicate(f"{where}.name", name))
        names.add(name)
        found += port_number(port.get("port"), f"{where}.port")
        found += one_of(port.get("protocol"), f"{where}.protocol", PROTOCOLS)
        target = port.get("targetPort")
        if isinstance(target, str) and target:
            problems = port_name(target)
            found += [invalid(f"{where}.targetPort", target, each) for each in problems]
        else:
            found += port_number(target or 0, f"{where}.targetPort")
        found += _protocol(port.get("appProtocol"), f"{where}.appProtocol")
    return found


def _distinct(ports: list[Json], kind: str) -> Errors:
    """Check that ports are distinct, and that they have node ports only where these are used."""
    text = "may not be used when `type` is 'ClusterIP'"
    nodes = [(each.get("nodePort"), each.get("protocol")) for each in ports]
    pairs = [(each.get("port"), each.get("protocol")) for each in ports]
    found = [
        forbidden(f"spec.ports[{index}].nodePort", text)
        for index, (node, _) in enumerate(nodes)
        if kind == "ClusterIP" and node
    ]
    found += [
        duplicate(f"spec.ports[{index}].nodePort", nodes[index][0])
        for index in sorted(repeated(nodes))
        if nodes[index][0]
    ]
    return found + [
        duplicate(f"spec.ports[{index}]", _internal(*pairs[index]))
        for index in sorted(repeated(pairs))
    ]


def _internal(number: Any, protocol: Any) -> Json:
    """Return number and protocol of a port in Go's internal struct."""
    return {
        "Name": "",
        "Protocol": protocol or "",
        "AppProtocol": None,
        "Port": number or 0,
        "TargetPort": 0,
        "NodePort": 0,
    }


def _protocol(name: str | None, path: str) -> Errors:
    """Check the name of an application protocol."""
    return [] if name is None else [invalid(path, name, each) for each in qualified_name(name)]


def _affinity(spec: Json) -> Errors:
    affinity = spec.get("sessionAffinity") or ""
    config = spec.get("sessionAffinityConfig")
    found = one_of(affinity, "spec.sessionAffinity", ("ClientIP", "None"))
    seconds = ((config or {}).get("clientIP") or {}).get("timeoutSeconds")
    if affinity == "ClientIP":
        path = "spec.sessionAffinityConfig.clientIP.timeoutSeconds"
        if seconds is not None:
            found += _TIMEOUT(seconds, path)
    elif config is not None and affinity == "None":
        detail = "must not be set when session affinity is None"
        found.append(forbidden("spec.sessionAffinityConfig", detail))
    return found


def _external_name(spec: Json) -> Errors:
    name = spec.get("externalName") or ""
    found = [
        forbidden(f"spec.{each}", "may not be set for ExternalName services")
        for each in ("clusterIPs", "ipFamilies", "ipFamilyPolicy")
        if spec.get(each)
    ]
    if not name:
        found.append(required("spec.externalName"))
    else:
        problems = dns_subdomain(name.removesuffix("."))
        found += [invalid("spec.externalName", name, each) for each in problems]
    return found


def _addresses(spec: Json) -> Errors:
    found: Errors = []
    for index, address in enumerate(spec.get("externalIPs") or ()):
        where = f"spec.externalIPs[{index}]"
        problems = address_problems(address) or unreachable(address)
        found += [invalid(where, address, each) for each in problems]
    return found


def _ranges(item: Json, spec: Json, kind: str) -> Errors:
    """Check the networks that may reach a load balancer, in its field or else its annotation."""
    path, ranges = _RANGES, spec.get("loadBalancerSourceRanges") or []
    fields = [f"{_RANGES}[{index}]" for index in range(len(ranges))]
    stated = (item["metadata"].get("annotations") or {}).get(_RANGES_NOTE)
    if not ranges and stated is not None:
        path = f"metadata.annotations[{_RANGES_NOTE}]"
        ranges = stated.split(",") if stated.strip() else []
        fields = [path] * len(ranges)
    elif not ranges:
        return []
    found = [] if kind == "LoadBalancer" else [forbidden(path, _ONLY_BALANCER)]
    networks = [each.strip() for each in ranges]
    return found + [
        invalid(field, network, each)
        for field, network in zip(fields, networks, strict=True)
        for each in network_problems(network)
    ]


def _traffic(spec: Json, kind: str) -> Errors:
    found: Errors = []
    policy = spec.get("externalTrafficPolicy")
    path = "spec.externalTrafficPolicy"
    is_external = kind in _EXTERNAL or (kind == "ClusterIP" and bool(spec.get("externalIPs")))
    if policy:
        if not is_external:
            text = "may only be set for externally-accessible services"
            found.append(invalid(path, policy, text))
        else:
            found += one_of(policy, path, ("Cluster", "Local"))
    inner = spec.get("internalTrafficPolicy")
    if inner is not None:
        found += one_of(inner, "spec.internalTrafficPolicy", ("Cluster", "Local"))
    way = spec.get("trafficDistribution")
    if way is not None:
        found += one_of(way, "spec.trafficDistribution", _DISTRIBUTIONS)
    check = spec.get("healthCheckNodePort") or 0
    if check and not (kind == "LoadBalancer" and policy == "Local"):
        text = (
            "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"
        )
        found.append(invalid("spec.healthCheckNodePort", check, text))
    return found


def _port_name(name: str, path: str, *, needed: bool) -> Errors:
    """Check the name of a port, which is required if there are several ports."""
    if not name:
        return [required(path)] if needed else []
    return [invalid(path, name, each) for each in dns_label(name)]


def check_endpoints(item: Json, _old: Json | None) -> Errors:
    """Check Endpoints."""
    found: Errors = []
    for index, subset in enumerate(item.get("subsets") or ()):
        where = f"subsets[{index}]"
        if not subset.get("addresses") and not subset.get("notReadyAddresses"):
            detail = "must specify `addresses` or `notReadyAddresses`"
            found.append(required(where, detail))
        for word in ("addresses", "notReadyAddresses"):
            for number, address in enumerate(subset.get(word) or ()):
                found += _endpoint(address, f"{where}.{word}[{number}]")
        ports = subset.get("ports") or []
        for number, port in enumerate(ports):
            here, name = f"{where}.ports[{number}]", port.get("name", "")
            found += _port_name(name, f"{here}.name", needed=len(ports) > 1)
            found += port_number(port.get("port"), f"{here}.port")
            found += one_of(port.get("protocol"), f"{here}.protocol", PROTOCOLS)
            found += _protocol(port.get("appProtocol"), f"{here}.appProtocol")
    return found


def _endpoint(address: Json, path: str) -> Errors:
    text = address.get("ip", "")
    found = [invalid(f"{path}.ip", text, each) for each in address_problems(text)]
    host = address.get("hostname", "")
    if host:
        found += [invalid(f"{path}.hostname", host, each) for each in dns_label(host)]
    node = address.get("nodeName")
    if node is not None:
        found += [invalid(f"{path}.nodeName", node, each) for each in dns_subdomain(node)]
    problems = unreachable(text) if is_address(text) else ["must be a valid IP address"]
    return found + [invalid(f"{path}.ip", text, each) for each in problems]
