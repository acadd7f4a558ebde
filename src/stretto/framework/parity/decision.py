"""The decision about one pod, with the result of every plugin."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

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
from stretto.framework.plugins.table import PARITY_FILTERS
from stretto.state.work.units import Cure

TO_POSITIVE: Final = 2**31
"""Added to every priority, so that more victims of negative priority never rank better."""
_PLUGINS: Final = {plugin.NAME: plugin for plugin in PARITY_FILTERS}


class PreemptionCandidate(NamedTuple):
    """A node that would be feasible after some evictions."""

    #: Name of the node.
    node: str
    #: Pods to evict, the most important first.
    victims: tuple[SchedulingFacts, ...]
    #: Number of these pods whose eviction violates a disruption budget.
    violations: int


class PostFilterResult(NamedTuple):
    """The result of preemption."""

    #: The outcome.
    status: PluginStatus
    #: Candidates, by node name.
    candidates: tuple[PreemptionCandidate, ...] = ()
    #: Nodes that stay infeasible, and the reasons.
    rejected: Mapping[str, PluginStatus] = {}
    #: Best candidate: of equal candidates, the first by name.
    chosen: PreemptionCandidate | None = None
    #: Nodes of equal rank, by name.
    tied: tuple[str, ...] = ()

    @property
    def message(self) -> str:
        """Text that preemption appends to the pod's message; empty if it succeeds."""
        return self.status.message


class FilterResult(NamedTuple):
    """The result of all filters for one pod."""

    #: Statuses of plugins that were skipped or ended the cycle.
    prefilter: Mapping[str, PluginStatus]
    #: Results of the plugins that evaluated nodes, in order.
    checks: Mapping[str, NodeCheck]
    #: Statuses of these plugins for every node.
    verdicts: Mapping[str, NodeStatuses]
    #: The plugin that ended the cycle before the evaluation of nodes; empty for none.
    ended_by: str
    #: bool[n]: evaluated nodes.
    inside: BoolArray
    #: Plugins that narrowed the nodes, sorted.
    narrowed_by: tuple[str, ...]
    #: bool[n]: nodes that every plugin allows.
    feasible: BoolArray
    #: Nodes that are rejected if their nominated pods are counted: the plugin and its status.
    crowded: Mapping[int, tuple[str, PluginStatus]] = {}

    def refusals(self) -> Iterator[tuple[str, PluginStatus, IntArray]]:
        """Evaluated nodes, each under the first plugin that rejects it."""
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
        """Error of a plugin that could not evaluate a node; empty for none."""
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
    """The decision about one pod."""

    #: The pod.
    pod: SchedulingFacts
    #: Names of all nodes.
    names: Sequence[str]
    #: Status before the cycle: whether the pod may be scheduled at all.
    preenqueue: PluginStatus
    #: The filters' result; ``None`` for a pod that was not considered.
    filtered: FilterResult | None
    #: int64[k]: positions of the feasible nodes.
    feasible: IntArray
    #: int64[k] by plugin, normalised; without the skipped ones.
    scores: Mapping[str, IntArray]
    #: Plugins whose score was skipped.
    skipped_scores: tuple[str, ...]
    #: int64[k]: the weighted sum.
    total: IntArray
    #: Message of the FailedScheduling event; empty if a node is feasible.
    message: str
    #: Result of preemption; ``None`` if it was not tried.
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

    def cures(self) -> Cure:
        """Events that may make a rejected pod feasible.

        The pod waits for the events of the first plugin that rejected each node: while these
        plugins reject, events of other plugins cannot help. If a plugin ended the cycle, only its
        events count.
        """
        filtered = self.filtered
        if self.preenqueue.code is not StatusCode.SUCCESS:
            return Cure.POD_CHANGED
        if filtered is None:
            return Cure.NODE_ADDED | Cure.POD_CHANGED
        if filtered.ended_by:
            ended = _PLUGINS[filtered.ended_by]
            return Cure.POD_CHANGED | (
                ended.CURES if ended.CYCLE_CURES is None else ended.CYCLE_CURES
            )
        found = Cure.POD_CHANGED
        if not filtered.inside.all():
            for name in filtered.narrowed_by:
                found |= _PLUGINS[name].CURES
        for name, _, _ in filtered.refusals():
            found |= _PLUGINS[name].CURES
        return found


def equally_good(candidates: Sequence[PreemptionCandidate]) -> list[PreemptionCandidate]:
    """Return all of the best candidates, which have equal rank, in their order."""
    best = min(map(_rank, candidates))
    return [each for each in candidates if _rank(each) == best]


def _rank(candidate: PreemptionCandidate) -> tuple[int, int, int, int, int]:
    """Sort key that is smaller for better nodes."""
    victims = candidate.victims
    top = max(each.priority for each in victims)
    return (
        candidate.violations,
        victims[0].priority,
        sum(each.priority + TO_POSITIVE for each in victims),
        len(victims),
        -min(each.start for each in victims if each.priority == top),
    )
