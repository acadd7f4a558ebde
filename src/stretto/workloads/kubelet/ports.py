"""Ports of nodes: a pod whose port another pod of its node has is rejected."""

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from stretto.reconcile.cache import StoredObject
from stretto.workloads.cluster import ENDED

REASON: Final = "NodePorts"
"""Why a pod is rejected, in its status."""
MESSAGE: Final = (
    "Pod was rejected: Predicate NodePorts failed: node(s) didn't have free ports for the "
    "requested pod ports"
)
"""The same for people, in the words of the kubelet."""
_ALL: Final = "0.0.0.0"
_MENTION: Final = b'"hostPort"'


class HostPort(NamedTuple):
    """A port of a node."""

    #: Address of the node.
    address: str
    #: ``TCP``, ``UDP`` or ``SCTP``.
    protocol: str
    #: Number.
    number: int

    def meets(self, other: "HostPort") -> bool:
        """Whether two pods cannot have both ports."""
        same = (self.protocol, self.number) == (other.protocol, other.number)
        return same and (self.address == other.address or _ALL in (self.address, other.address))


def node_with_ports(pod: StoredObject) -> Iterable[str]:
    """The node of a pod that has ports of its node: the key of an index."""
    return (pod.record.node,) if pod.record.node and _MENTION in pod.record.body else ()


def is_taken(pod: StoredObject, others: Iterable[StoredObject]) -> bool:
    """Whether a pod that has been admitted to the same node has a port of this pod."""
    wanted = list(_ports(pod))
    return bool(wanted) and any(
        port.meets(each)
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
    for container in pod.spec.get("containers") or ():
        for port in container.get("ports") or ():
            if port.get("hostPort"):
                address, protocol = port.get("hostIP") or _ALL, port.get("protocol") or "TCP"
                yield HostPort(address, protocol, port["hostPort"])
