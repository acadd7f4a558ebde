"""Rules of services, configuration, volumes and policies."""

import re
from typing import Any, Final

from stretto.api.checks.fields.errors import (
    Errors,
    duplicate,
    forbidden,
    immutable,
    invalid,
    required,
    too_long,
    unsupported,
)
from stretto.api.checks.fields.texts import dns_subdomain
from stretto.api.checks.kinds.values import (
    check_selector,
    count_or_percent,
    one_of,
    port_number,
    unchanged,
)

Json = dict[str, Any]

_KEY: Final = re.compile(r"[-._a-zA-Z0-9]+")
_KEY_TEXT: Final = (
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. "
    "'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
)
_MAX_DATA: Final = 1 << 20
_SERVICE_TYPES: Final = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
_PROTOCOLS: Final = ("SCTP", "TCP", "UDP")
_MODES: Final = ("Block", "Filesystem")
_MAX_PRIORITY: Final = 1_000_000_000
_SYSTEM: Final = ("system-node-critical", "system-cluster-critical")
_BINDING_MODES: Final = ("Immediate", "WaitForFirstConsumer")


def _keys(data: Json | None, field: str) -> Errors:
    found: Errors = []
    for key in sorted(data or {}):
        where = f"{field}[{key}]"
        if not _KEY.fullmatch(key):
            found.append(invalid(where, key, _KEY_TEXT))
        elif key in (".", ".."):
            found.append(invalid(where, key, f"must not be '{key}'"))
    return found


def _immutable_data(item: Json, old: Json | None, names: tuple[str, ...]) -> Errors:
    if old is None or not old.get("immutable"):
        return []
    text = "field is immutable when `immutable` is set"
    found: Errors = []
    if not item.get("immutable"):
        found.append(forbidden("immutable", text))
    found += [forbidden(name, text) for name in names if item.get(name) != old.get(name)]
    return found


def check_config_map(item: Json, old: Json | None) -> Errors:
    """A ConfigMap."""
    data = item.get("data") or {}
    found = _keys(data, "data") + _keys(item.get("binaryData"), "binaryData")
    total = sum(len(key.encode()) + len(value.encode()) for key, value in data.items())
    if total > _MAX_DATA:
        found.append(too_long("[]", _MAX_DATA))
    return _immutable_data(item, old, ("data", "binaryData")) + found


_NEEDED: Final = {
    "kubernetes.io/basic-auth": (),
    "kubernetes.io/ssh-auth": ("ssh-privatekey",),
    "kubernetes.io/tls": ("tls.crt", "tls.key"),
}


def check_secret(item: Json, old: Json | None) -> Errors:
    """A Secret."""
    data, kind = item.get("data") or {}, item.get("type", "")
    found = _keys(data, "data")
    if kind == "kubernetes.io/basic-auth" and not ({"username", "password"} & set(data)):
        found += [required(f"data[{name}]") for name in ("username", "password")]
    found += [required(f"data[{name}]") for name in _NEEDED.get(kind, ()) if name not in data]
    found = _immutable_data(item, old, ("data",)) + found
    return unchanged(item, old, ("type",)) + found


def check_service(item: Json, old: Json | None) -> Errors:
    """A Service."""
    spec = item.get("spec") or {}
    kind, ports = spec.get("type"), spec.get("ports") or []
    found: Errors = []
    headless = spec.get("clusterIP") == "None"
    if not ports and not headless and kind != "ExternalName":
        found.append(required("spec.ports"))
    seen: set[str] = set()
    for index, port in enumerate(ports):
        where = f"spec.ports[{index}]"
        name = port.get("name", "")
        if not name and len(ports) > 1:
            found.append(required(f"{where}.name"))
        if name and name in seen:
            found.append(duplicate(f"{where}.name", name))
        seen.add(name)
        found += port_number(port.get("port"), f"{where}.port")
        found += one_of(port.get("protocol"), f"{where}.protocol", _PROTOCOLS)
        if kind == "ClusterIP" and port.get("nodePort"):
            text = "may not be used when `type` is 'ClusterIP'"
            found.append(forbidden(f"{where}.nodePort", text))
    if kind not in _SERVICE_TYPES:
        found.append(unsupported("spec.type", kind, _SERVICE_TYPES))
    if kind == "ExternalName" and not spec.get("externalName"):
        found.append(required("spec.externalName"))
    if kind == "ClusterIP" and spec.get("externalTrafficPolicy"):
        text = "may only be set for externally-accessible services"
        found.append(invalid("spec.externalTrafficPolicy", spec["externalTrafficPolicy"], text))
    if old is not None and kind != "ExternalName":
        before = old["spec"].get("clusterIP")
        if before and old["spec"].get("type") == kind and spec.get("clusterIP") != before:
            text = "may not change once set"
            found.append(invalid("spec.clusterIPs[0]", spec.get("clusterIPs"), text))
    return found


def check_claim_spec(spec: Json, path: str) -> Errors:
    """The spec of a PVC."""
    found: Errors = []
    if not spec.get("accessModes"):
        found.append(required(f"{path}.accessModes", "at least 1 access mode is required"))
    if "storage" not in ((spec.get("resources") or {}).get("requests") or {}):
        found.append(required(f"{path}.resources[storage]"))
    name = spec.get("storageClassName")
    if name:
        found += [invalid(f"{path}.storageClassName", name, each) for each in dns_subdomain(name)]
    found += one_of(spec.get("volumeMode"), f"{path}.volumeMode", _MODES)
    return found


def check_claim(item: Json, old: Json | None) -> Errors:
    """A PVC."""
    return [] if old is not None else check_claim_spec(item.get("spec") or {}, "spec")


def check_volume(item: Json, _old: Json | None) -> Errors:
    """A PersistentVolume."""
    spec = item.get("spec") or {}
    found: Errors = []
    if not spec.get("accessModes"):
        found.append(required("spec.accessModes"))
    if not spec.get("capacity"):
        found.append(required("spec.capacity"))
    policy = spec.get("persistentVolumeReclaimPolicy")
    found += one_of(policy, "spec.persistentVolumeReclaimPolicy", ("Delete", "Recycle", "Retain"))
    return found


def check_priority_class(item: Json, old: Json | None) -> Errors:
    """A PriorityClass."""
    name, value = item["metadata"].get("name", ""), item.get("value") or 0
    if old is not None:
        found: Errors = []
        if value != (old.get("value") or 0):
            found.append(forbidden("value", "may not be changed in an update."))
        return found + unchanged(item, old, ("preemptionPolicy",))
    if name.startswith("system-") and name not in _SYSTEM:
        text = (
            "priority class names with 'system-' prefix are reserved for system use only. error: "
            f"{name} is not a known system priority class"
        )
        return [forbidden("metadata.name", text)]
    if value > _MAX_PRIORITY and name not in _SYSTEM:
        text = f"maximum allowed value of a user defined priority is {_MAX_PRIORITY}"
        return [forbidden("value", text)]
    return []


def check_storage_class(item: Json, old: Json | None) -> Errors:
    """A StorageClass."""
    found = unchanged(item, old, ("parameters", "provisioner", "reclaimPolicy"))
    mode = item.get("volumeBindingMode")
    if mode not in _BINDING_MODES:
        found.append(unsupported("volumeBindingMode", mode, _BINDING_MODES))
    return found + unchanged(item, old, ("volumeBindingMode",))


def check_budget(item: Json, _old: Json | None) -> Errors:
    """A PodDisruptionBudget."""
    spec = item.get("spec") or {}
    least, most = spec.get("minAvailable"), spec.get("maxUnavailable")
    found: Errors = []
    if least is not None and most is not None:
        shown = {
            "MinAvailable": least,
            "Selector": spec.get("selector"),
            "MaxUnavailable": most,
            "UnhealthyPodEvictionPolicy": spec.get("unhealthyPodEvictionPolicy"),
        }
        text = "minAvailable and maxUnavailable cannot be both set"
        found.append(invalid("spec", shown, text))
    for name, value in (("minAvailable", least), ("maxUnavailable", most)):
        if value is not None:
            found += count_or_percent(value, f"spec.{name}")
    policy = spec.get("unhealthyPodEvictionPolicy")
    if policy is not None:
        allowed = ("AlwaysAllow", "IfHealthyBudget")
        found += one_of(policy, "spec.unhealthyPodEvictionPolicy", allowed)
    return found + check_selector(spec.get("selector"), "spec.selector")


def check_lease(item: Json, _old: Json | None) -> Errors:
    """A Lease."""
    spec = item.get("spec") or {}
    seconds = spec.get("leaseDurationSeconds")
    if seconds is not None and seconds <= 0:
        return [invalid("spec.leaseDurationSeconds", seconds, "must be greater than 0")]
    return []


def check_role(item: Json, _old: Json | None) -> Errors:
    """A Role."""
    return _rules(item.get("rules") or (), namespaced=True)


def check_cluster_role(item: Json, _old: Json | None) -> Errors:
    """A ClusterRole."""
    return _rules(item.get("rules") or (), namespaced=False)


def _rules(rules: Any, *, namespaced: bool) -> Errors:
    found: Errors = []
    for index, rule in enumerate(rules):
        where = f"rules[{index}]"
        if not rule.get("verbs"):
            found.append(required(f"{where}.verbs", "verbs must contain at least one value"))
        paths = rule.get("nonResourceURLs")
        if paths:
            if namespaced:
                text = "namespaced rules cannot apply to non-resource URLs"
                found.append(invalid(f"{where}.nonResourceURLs", paths, text))
            continue
        for name, word in (
            ("apiGroups", "resource rules must supply at least one api group"),
            ("resources", "resource rules must supply at least one resource"),
        ):
            if not rule.get(name):
                found.append(required(f"{where}.{name}", word))
    return found


def check_role_binding(item: Json, old: Json | None) -> Errors:
    """A RoleBinding."""
    return _binding(item, old, ("Role", "ClusterRole"))


def check_cluster_role_binding(item: Json, old: Json | None) -> Errors:
    """A ClusterRoleBinding."""
    return _binding(item, old, ("ClusterRole",))


def _binding(item: Json, old: Json | None, kinds: tuple[str, ...]) -> Errors:
    ref = item.get("roleRef") or {}
    found: Errors = []
    if ref.get("kind") not in kinds:
        found.append(unsupported("roleRef.kind", ref.get("kind", ""), kinds))
    if not ref.get("name"):
        found.append(required("roleRef.name"))
    if old is not None and ref != old.get("roleRef"):
        found.append(invalid("roleRef", ref, "cannot change roleRef"))
    return found


def check_runtime_class(item: Json, old: Json | None) -> Errors:
    """A RuntimeClass."""
    if not item.get("handler"):
        return [required("handler")]
    return (
        [immutable("handler", item["handler"])]
        if (old is not None and item["handler"] != old.get("handler"))
        else []
    )
