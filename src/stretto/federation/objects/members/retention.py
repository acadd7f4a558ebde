"""Fields that a member sets; an update of its object keeps them."""

from collections.abc import Callable
from typing import Any, Final

from stretto.federation.objects.paths import field_at, with_field
from stretto.reconcile.cache import Fields

Retain = Callable[[Fields, Fields], Fields]
"""Function (desired object, present object) to the desired object with the kept fields."""


def retain(wanted: Fields, present: Fields, replicas: str) -> Fields:
    """The desired object with the fields that the member sets.

    Args:
        wanted: the object for the cluster.
        present: the member's object.
        replicas: path of the replicas that the member sets; empty for none.
    """
    rule = _RULES.get(str(present.get("kind", "")))
    kept = rule(wanted, present) if rule is not None else wanted
    if "status" in present:
        kept = {**kept, "status": present["status"]}
    found = field_at(present, replicas) if replicas else None
    return with_field(kept, replicas, found) if found is not None else kept


def _copied(*paths: str) -> Retain:
    """A rule that keeps the values at some paths if the member has them."""

    def rule(wanted: Fields, present: Fields) -> Fields:
        for path in paths:
            found = field_at(present, path)
            if found is not None:
                wanted = with_field(wanted, path, found)
        return wanted

    return rule


def _service(wanted: Fields, present: Fields) -> Fields:
    """Addresses and node ports of the member, unless the desired object sets its own."""
    spec, found = wanted.get("spec") or {}, present.get("spec") or {}
    if spec.get("clusterIP") != "None" and found.get("clusterIP") not in (None, "", "None"):
        spec = {**spec, **{key: found[key] for key in ("clusterIP", "clusterIPs") if key in found}}
    ports = {_port_key(each): each for each in found.get("ports") or ()}
    kept = [_with_node_port(each, ports.get(_port_key(each))) for each in spec.get("ports") or ()]
    if kept and spec.get("type") in ("NodePort", "LoadBalancer"):
        spec = {**spec, "ports": kept}
    if found.get("healthCheckNodePort") and "healthCheckNodePort" not in spec:
        spec = {**spec, "healthCheckNodePort": found["healthCheckNodePort"]}
    return {**wanted, "spec": spec}


def _port_key(port: Fields) -> tuple[Any, ...]:
    return port.get("name"), port.get("protocol", "TCP"), port.get("port")


def _with_node_port(port: Fields, found: Fields | None) -> Fields:
    """A port with the node port that the member has assigned, unless the desired port has one."""
    if found is None or port.get("nodePort") or not found.get("nodePort"):
        return port
    return {**port, "nodePort": found["nodePort"]}


def _service_account(wanted: Fields, present: Fields) -> Fields:
    """Secrets that the member has created."""
    secrets = list(wanted.get("secrets") or ())
    added = [each for each in present.get("secrets") or () if each not in secrets]
    return {**wanted, "secrets": [*secrets, *added]} if added else wanted


_POD: Final = _copied(
    "spec.nodeName",
    "spec.serviceAccountName",
    "spec.volumes",
    "spec.tolerations",
    "spec.priority",
    "spec.initContainers",
    "spec.ephemeralContainers",
)

_RULES: Final[dict[str, Retain]] = {
    "Service": _service,
    "ServiceAccount": _service_account,
    "Job": _copied("spec.selector", "spec.template.metadata.labels"),
    "PersistentVolume": _copied("spec.claimRef"),
    "PersistentVolumeClaim": _copied("spec.volumeName"),
    "Pod": _POD,
}
"""Rules by kind."""
