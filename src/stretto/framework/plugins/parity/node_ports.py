"""NodePorts: the requested host ports are free. An empty address conflicts with all."""

from collections.abc import Iterable
from typing import Final

import numpy as np

from stretto.api.types.effective_requests import HostPort
from stretto.framework.contract.rule import FilterPlugin, NodeCheck, NodeDryRun
from stretto.framework.model.pod_facts import SchedulingFacts
from stretto.framework.model.snapshot import ParitySnapshot
from stretto.framework.model.status import (
    SKIP,
    SUCCESS,
    NodeStatuses,
    PluginStatus,
    refuse,
    unschedulable,
)
from stretto.framework.plugins.ports import REASON, NodePortsRule

REFUSED: Final = unschedulable(REASON)


class NodePortsPlugin(FilterPlugin, declares=NodePortsRule):
    """Refuses nodes on which a port is used."""

    def prefilter(self, pod: SchedulingFacts, snapshot: ParitySnapshot) -> NodeCheck | PluginStatus:
        """Statuses of nodes on which a port is used; skipped without ports."""
        return PortCheck(pod.shape.ports, snapshot) if pod.shape.ports else SKIP


class PortCheck(NodeCheck):
    """The ports of one pod against all nodes."""

    def __init__(self, ports: tuple[HostPort, ...], snapshot: ParitySnapshot) -> None:
        """Check these ports."""
        self._ports = ports
        self._snapshot = snapshot

    def verdict(self) -> NodeStatuses | None:
        """Statuses of nodes on which a port is used."""
        taken = np.zeros(self._snapshot.nodes.count, np.bool_)
        for port in self._ports:
            taken |= self._snapshot.port_taken(port)
        return refuse(taken, REFUSED)

    def trial(self, node: int) -> NodeDryRun:
        """A dry run over the ports of the pods that stay."""
        return PortDryRun(self._ports, self._snapshot.pods_on[node])


class PortDryRun(NodeDryRun):
    """The ports of the pods on a node that conflict.

    Upstream stores for each node that a port is used, not how often: of two pods with the same
    port, removing either one frees it.
    """

    def __init__(self, ports: tuple[HostPort, ...], pods: Iterable[SchedulingFacts]) -> None:
        """Start with all pods on the node."""
        self._ports = ports
        self._conflicts = {port for pod in pods for port in self._conflicting_ports(pod)}

    def remove(self, pod: SchedulingFacts) -> None:
        """Remove a pod from the node."""
        self._conflicts.difference_update(self._conflicting_ports(pod))

    def add(self, pod: SchedulingFacts) -> None:
        """Add a pod to the node."""
        self._conflicts.update(self._conflicting_ports(pod))

    def status(self) -> PluginStatus:
        """Status of the node: refused while a port is used."""
        return REFUSED if self._conflicts else SUCCESS

    def _conflicting_ports(self, pod: SchedulingFacts) -> list[HostPort]:
        return [p for p in pod.shape.ports if any(mine.conflicts(p) for mine in self._ports)]
