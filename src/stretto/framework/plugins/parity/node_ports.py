"""NodePorts: the host ports that a pod asks for are free. An empty address conflicts with all."""

from collections.abc import Iterable
from typing import ClassVar, Final

import numpy as np

from stretto.api.types.effective_requests import HostPort
from stretto.framework.model.plugin import Check, FilterPlugin, Trial
from stretto.framework.model.pod_facts import PodFacts
from stretto.framework.model.snapshot import Snapshot
from stretto.framework.model.status import SKIP, SUCCESS, Status, Verdict, refuse, unschedulable

NAME: Final = "NodePorts"
REFUSED: Final = unschedulable("node(s) didn't have free ports for the requested pod ports")


class NodePorts(FilterPlugin):
    """Refuses nodes where a port is taken."""

    NAME: ClassVar[str] = NAME

    def prefilter(self, pod: PodFacts, snapshot: Snapshot) -> Check | Status:
        """Nodes where a port is taken; skipped without ports."""
        return PortCheck(pod.shape.ports, snapshot) if pod.shape.ports else SKIP


class PortCheck(Check):
    """The ports of one pod against all nodes."""

    def __init__(self, ports: tuple[HostPort, ...], snapshot: Snapshot) -> None:
        """Look for these ports."""
        self._ports = ports
        self._snapshot = snapshot

    def verdict(self) -> Verdict | None:
        """Nodes where one is taken."""
        taken = np.zeros(self._snapshot.nodes.count, np.bool_)
        for port in self._ports:
            taken |= self._snapshot.port_taken(port)
        return refuse(taken, REFUSED)

    def trial(self, node: int) -> Trial:
        """The ports of the pods that stay."""
        return PortTrial(self._ports, self._snapshot.pods_on[node])


class PortTrial(Trial):
    """Which ports of the pods on a node conflict.

    Upstream notes on a node that a port is taken, not how often: of two pods that hold the same one
    either gives it free by leaving.
    """

    def __init__(self, ports: tuple[HostPort, ...], pods: Iterable[PodFacts]) -> None:
        """Begin with all pods."""
        self._ports = ports
        self._conflicts = {port for pod in pods for port in self._in_the_way(pod)}

    def remove(self, pod: PodFacts) -> None:
        """A pod leaves the node."""
        self._conflicts.difference_update(self._in_the_way(pod))

    def add(self, pod: PodFacts) -> None:
        """A pod comes back."""
        self._conflicts.update(self._in_the_way(pod))

    def status(self) -> Status:
        """Refused while a port is taken."""
        return REFUSED if self._conflicts else SUCCESS

    def _in_the_way(self, pod: PodFacts) -> list[HostPort]:
        return [p for p in pod.shape.ports if any(mine.conflicts(p) for mine in self._ports)]
