"""The contract of an exact plugin.

A filter is asked once per pod (``prefilter``) and answers with a status, or with a ``NodeCheck``:
its view of every node at once. Preemption asks a check for a ``NodeDryRun`` of one node, from which
pods are taken away and given back one by one. A score is asked once per pod, for the feasible
nodes.
"""

from abc import ABC, abstractmethod
from typing import ClassVar

from stretto.framework.model.pod_facts import SchedulingFacts
from stretto.framework.model.snapshot import ParitySnapshot
from stretto.framework.model.status import SUCCESS, IntArray, NodeStatuses, PluginStatus


class NodeDryRun:
    """One node in a rehearsal: what a plugin says of it while pods leave and come back."""

    def remove(self, pod: SchedulingFacts) -> None:
        """A pod leaves the node."""

    def add(self, pod: SchedulingFacts) -> None:
        """A pod comes back."""

    def status(self) -> PluginStatus:
        """What the plugin says now."""
        return SUCCESS


class FixedDryRun(NodeDryRun):
    """A plugin that does not look at the node's pods."""

    def __init__(self, status: PluginStatus) -> None:
        """Say this, whoever leaves."""
        self._status = status

    def status(self) -> PluginStatus:
        """What the plugin said of the node before."""
        return self._status


class NodeCheck(ABC):
    """One plugin's view of all nodes for one pod."""

    #: The only nodes that the pod may go to, by name; None for any.
    only: frozenset[str] | None = None

    @abstractmethod
    def verdict(self) -> NodeStatuses | None:
        """What the plugin says of every node; None where it refuses none."""

    def trial(self, node: int) -> NodeDryRun:
        """A rehearsal on one node."""
        verdict = self.verdict()
        return FixedDryRun(SUCCESS if verdict is None else verdict.status(node))


class FixedCheck(NodeCheck):
    """A view that was worked out at once and that no leaving pod changes."""

    def __init__(self, verdict: NodeStatuses | None, only: frozenset[str] | None = None) -> None:
        """Say this."""
        self._verdict = verdict
        self.only = only

    def verdict(self) -> NodeStatuses | None:
        """What was worked out."""
        return self._verdict


class FilterPlugin(ABC):
    """Says where a pod may not go."""

    #: Upstream's name.
    NAME: ClassVar[str]
    #: Whether upstream asks it before the nodes; the others have no say that could be skipped.
    HAS_PREFILTER: ClassVar[bool] = True

    @abstractmethod
    def prefilter(self, pod: SchedulingFacts, snapshot: ParitySnapshot) -> NodeCheck | PluginStatus:
        """The plugin's view, or why there is none: skipped, or no node at all."""


class ScorePlugin(ABC):
    """Says where a pod does better."""

    #: Upstream's name.
    NAME: ClassVar[str]
    #: How much it counts.
    WEIGHT: ClassVar[int]

    @abstractmethod
    def score(
        self, pod: SchedulingFacts, snapshot: ParitySnapshot, feasible: IntArray
    ) -> IntArray | None:
        """int64[k] in 0..100, normalised over the feasible nodes; None when it is skipped."""
