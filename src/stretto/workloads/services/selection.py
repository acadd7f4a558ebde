"""The pods that a Service selects, and the ports on which they listen."""

from collections.abc import Iterable, Iterator
from typing import Any, Final

from stretto.api.types.heads import ENDED
from stretto.api.wire.kinds import POD, SERVICE
from stretto.reconcile.cache import Change, Name, StoredObject
from stretto.reconcile.conditions import true_condition
from stretto.workloads.cluster import LocalCluster

Fields = dict[str, Any]

_PROTOCOL: Final = "TCP"


def services_of(cluster: LocalCluster, change: Change) -> Iterable[Name]:
    """The changed Service, or the Services that may select a changed pod."""
    if change.source != cluster.name:
        return
    if change.kind == SERVICE:
        yield change.object.name
    elif change.kind == POD:
        for each in cluster.objects(SERVICE).in_namespace(change.object.record.namespace):
            yield each.name


def selected_pods(cluster: LocalCluster, service: StoredObject) -> Iterator[StoredObject]:
    """The bound pods that a Service selects, by name; ended pods are excluded."""
    wanted = dict(service.spec["selector"]).items()
    pods = cluster.objects(POD).in_namespace(service.record.namespace)
    for pod in sorted(pods, key=lambda each: each.record.name):
        ends = pod.is_terminating or pod.status.get("phase") in ENDED
        if wanted <= dict(pod.labels).items() and not ends and pod.record.node:
            yield pod


def is_ready(pod: StoredObject) -> bool:
    """Return whether the Ready condition of a pod is True."""
    return true_condition(pod.status.get("conditions"), "Ready") is not None


def target_of(pod: StoredObject) -> Fields:
    """The reference to a pod in a list of endpoints."""
    record = pod.record
    return {"kind": "Pod", "namespace": record.namespace, "name": record.name, "uid": record.uid}


def ports_of(service: StoredObject, pods: Iterable[StoredObject]) -> list[Fields]:
    """The ports on which the pods of a Service listen.

    A named target port is resolved by the first pod that has a port with this name; without such a
    pod the port is omitted.
    """
    known = list(pods)
    found = []
    for port in service.spec.get("ports") or ():
        number = _number(port.get("targetPort") or port["port"], known)
        if number is not None:
            protocol = port.get("protocol", _PROTOCOL)
            found.append({"name": port.get("name", ""), "protocol": protocol, "port": number})
    return found


def _number(target: int | str, pods: list[StoredObject]) -> int | None:
    if isinstance(target, int):
        return target
    ports = (
        port
        for pod in pods
        for container in pod.spec.get("containers") or ()
        for port in container.get("ports") or ()
    )
    return next((int(each["containerPort"]) for each in ports if each.get("name") == target), None)
