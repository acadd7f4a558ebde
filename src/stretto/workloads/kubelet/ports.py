"""Host ports: a pod is rejected if another pod of its node uses one of its host ports."""

from collections.abc import Iterable, Iterator
from typing import Final

from stretto.api.types.effective_requests import ANY_ADDRESS, HostPort
from stretto.api.types.heads import ENDED
from stretto.reconcile.cache import StoredObject

REASON: Final = "NodePorts"
"""Reason of the rejection, in the pod's status."""
MESSAGE: Final = (
    "Pod was rejected: Predicate NodePorts failed: node(s) didn't have free ports for the "
    "requested pod ports"
)
"""Message of the rejection, in the words of the kubelet."""
_MENTION: Final = b'"hostPort"'


def node_with_ports(pod: StoredObject) -> Iterable[str]:
    """The node of a pod that uses host ports, as the key of an index."""
    return (pod.record.node,) if pod.record.node and _MENTION in pod.record.body else ()


def is_taken(pod: StoredObject, others: Iterable[StoredObject]) -> bool:
    """Return whether an admitted pod of the same node uses a host port of this pod."""
    wanted = list(_ports(pod))
    return bool(wanted) and any(
        port.conflicts(each)
        for other in others
        if other.record.uid != pod.record.uid and _is_admitted(other)
        for port in _ports(other)
        for each in wanted
    )


def _is_admitted(pod: StoredObject) -> bool:
    status = pod.status
    is_rejected = status.get("phase") in ENDED or status.get("reason") == REASON
    return "startTime" in status and not is_rejected


def _ports(pod: StoredObject) -> Iterator[HostPort]:
    """The host ports of the containers and sidecars of a pod."""
    starting = pod.spec.get("initContainers") or ()
    sidecars = [each for each in starting if each.get("restartPolicy") == "Always"]
    for container in (*(pod.spec.get("containers") or ()), *sidecars):
        for port in container.get("ports") or ():
            if port.get("hostPort"):
                address, protocol = port.get("hostIP") or ANY_ADDRESS, port.get("protocol")
                yield HostPort(address, protocol or "TCP", port["hostPort"])
