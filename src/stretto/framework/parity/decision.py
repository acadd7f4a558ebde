"""What was decided about one pod, and everything that led to it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from stretto.framework.contract.rule import NodeCheck
from stretto.framework.model.pod_facts import SchedulingFacts
from stretto.framework.model.status import (
    BoolArray,
    IntArray,
    NodeStatuses,
    PluginStatus,
    StatusCode,
)


class PreemptionCandidate(NamedTuple):
    """A node that would do if some pods left."""

    #: The node's name.
    node: str
    #: Pods that would have to leave, the most important first.
    victims: tuple[SchedulingFacts, ...]
    #: How many of them a budget protects.
    violations: int


class PostFilterResult(NamedTuple):
    """What pushing pods out would bring."""

    #: The outcome.
    status: PluginStatus
    #: Nodes that would do, by name.
    candidates: tuple[PreemptionCandidate, ...] = ()
    #: Nodes that would not do even so, and why.
    rejected: Mapping[str, PluginStatus] = {}
    #: The best node, the first by name of those that are equally good.
    chosen: PreemptionCandidate | None = None
    #: Nodes that are equally good, by name.
    tied: tuple[str, ...] = ()

    @property
    def message(self) -> str:
        """What it adds to the pod's message; nothing where it succeeds."""
        return self.status.message


class FilterResult(NamedTuple):
    """The filters' say about one pod."""

    #: Statuses of plugins that ended the search or said nothing: failed or skipped.
    prefilter: Mapping[str, PluginStatus]
    #: Views of the plugins that were asked about nodes, in order.
    checks: Mapping[str, NodeCheck]
    #: What they said of every node.
    verdicts: Mapping[str, NodeStatuses]
    #: The plugin that ended the cycle before any node was looked at; empty for none.
    ended_by: str
    #: bool[n]: nodes that were looked at.
    inside: BoolArray
    #: Plugins that narrowed the nodes, sorted.
    narrowed_by: tuple[str, ...]
    #: bool[n]: nodes that every plugin allows.
    feasible: BoolArray
    #: Nodes that are refused once the pods they are kept for are counted: by whom, and why.
    crowded: Mapping[int, tuple[str, PluginStatus]] = {}

    def refusals(self) -> Iterator[tuple[str, PluginStatus, IntArray]]:
        """Nodes that were looked at, each under the first plugin that refuses it."""
        left = self.inside.copy()
        for node, (name, status) in self.crowded.items():
            left[node] = False
            yield name, status, np.array([node], np.int64)
        for name, verdict in self.verdicts.items():
            nodes = np.flatnonzero(verdict.refused & left)
            left[nodes] = False
            which = verdict.which[nodes]
            for number in np.unique(which).tolist():
                yield name, verdict.status_of(number), nodes[which == number]

    def error(self) -> str:
        """What is broken, where a plugin could not judge a node that it was asked about."""
        if self.ended_by:
            status = self.prefilter[self.ended_by]
            where = f'running PreFilter plugin "{self.ended_by}"'
            return f"{where}: {status.message}" if status.code is StatusCode.ERROR else ""
        if not any(verdict.broken for verdict in self.verdicts.values()):
            return ""
        for name, status, _ in self.refusals():
            if status.code is StatusCode.ERROR:
                return f'running "{name}" filter plugin: {status.message}'
        return ""


class Decision(NamedTuple):
    """One pod, decided."""

    #: The pod.
    pod: SchedulingFacts
    #: Names of all nodes.
    names: Sequence[str]
    #: Whether the pod may be considered at all.
    preenqueue: PluginStatus
    #: The filters' say; None for a pod that was not considered.
    filtered: FilterResult | None
    #: int64[k]: positions of the feasible nodes.
    feasible: IntArray
    #: int64[k] by plugin, normalised; without the skipped ones.
    scores: Mapping[str, IntArray]
    #: Plugins whose score was skipped.
    skipped_scores: tuple[str, ...]
    #: int64[k]: the weighted sum.
    total: IntArray
    #: Why the pod goes nowhere, as the event says it; empty where it goes somewhere.
    message: str
    #: What preemption would bring; None where it was not tried.
    preemption: PostFilterResult | None

    @property
    def best(self) -> list[str]:
        """Names of the nodes with the best total, sorted."""
        if not len(self.total):
            return []
        top = self.feasible[self.total == self.total.max()]
        return sorted(self.names[node] for node in top.tolist())

    @property
    def feasible_names(self) -> list[str]:
        """Names of the feasible nodes, sorted."""
        return sorted(self.names[node] for node in self.feasible.tolist())
