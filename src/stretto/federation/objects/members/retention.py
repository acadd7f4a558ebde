"""Fields that a member decides: an update of its object keeps them."""

from collections.abc import Callable
from typing import Any, Final

from stretto.federation.objects.paths import field_at, with_field
from stretto.reconcile.cache import Fields

Retain = Callable[[Fields, Fields], Fields]
"""From the wanted and the present object to the wanted one with what the member keeps."""


def retain(wanted: Fields, present: Fields, replicas: str) -> Fields:
    """The wanted object with the fields that the member decides.

    Args:
        wanted: the object for the cluster.
        present: the member's object.
        replicas: path of the replicas that the member decides; empty for none.
    """
    rule = _RULES.get(str(present.get("kind", "")))
    kept = rule(wanted, present) if rule is not None else wanted
    if "status" in present:
        kept = {**kept, "status": present["status"]}
    found = field_at(present, replicas) if replicas else None
    return with_field(kept, replicas, found) if found is not None else kept


def _copied(*paths: str) -> Retain:
    """Keeps the values at some paths where the member has them."""

    def rule(wanted: Fields, present: Fields) -> Fields:
        for path in paths:
            found = field_at(present, path)
            if found is not None:
                wanted = with_field(wanted, path, found)
        return wanted

    return rule


def _service(wanted: Fields, present: Fields) -> Fields:
    """Addresses and node ports, unless the wanted object names its own."""
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
    """A port with the node port that the member has assigned, if the wanted one has none."""
    if found is None or port.get("nodePort") or not found.get("nodePort"):
        return port
    return {**port, "nodePort": found["nodePort"]}


def _service_account(wanted: Fields, present: Fields) -> Fields:
    """Secrets that the member has made."""
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
