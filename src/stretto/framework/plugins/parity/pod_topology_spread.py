"""PodTopologySpread: matching pods are spread over the values of a node label.

Nodes that lack one of the keys count for no constraint. Terminating pods are not counted, and an
empty selector counts no pods. But in a dry run, removing a matching pod lowers the count.
"""

import math
from typing import Final, NamedTuple

import numpy as np

from stretto.api.wire.labels import HOSTNAME_LABEL
from stretto.base.errors import InputError
from stretto.framework.contract.rule import FilterPlugin, NodeCheck, NodeDryRun, ScorePlugin
from stretto.framework.model import spreading
from stretto.framework.model.nodes import LabelDomain
from stretto.framework.model.normalise import TOP
from stretto.framework.model.pod_facts import SchedulingFacts
from stretto.framework.model.snapshot import ParitySnapshot
from stretto.framework.model.spreading import ParitySpreadConstraint
from stretto.framework.model.status import (
    SKIP,
    SUCCESS,
    BoolArray,
    IntArray,
    NodeStatuses,
    PluginStatus,
    StatusCode,
    refuse_each,
    unresolvable,
    unschedulable,
)
from stretto.framework.plugins.pod_topology_spread import NO_LABEL as REASON_NO_LABEL
from stretto.framework.plugins.pod_topology_spread import UNEVEN as REASON_UNEVEN
from stretto.framework.plugins.pod_topology_spread import PodTopologySpreadRule

UNEVEN: Final = unschedulable(REASON_UNEVEN)
NO_LABEL: Final = unresolvable(REASON_NO_LABEL)


class PodTopologySpreadPlugin(FilterPlugin, ScorePlugin, declares=PodTopologySpreadRule):
    """Refuses values with too many pods, and prefers values with few."""

    def prefilter(self, pod: SchedulingFacts, snapshot: ParitySnapshot) -> NodeCheck | PluginStatus:
        """Evaluate the hard constraints; the defaults have none."""
        try:
            constraints = spreading.own(pod, spreading.HARD)
            spreading.own(pod, spreading.SOFT)
        except InputError as error:
            return PluginStatus(StatusCode.ERROR, (f"get constraints from pod: {error}",))
        return SpreadCheck(pod, snapshot, constraints) if constraints else SKIP

    def score(
        self, pod: SchedulingFacts, snapshot: ParitySnapshot, feasible: IntArray
    ) -> IntArray | None:
        """Scores by the soft constraints; by the defaults if the pod has none of its own."""
        has_own = bool(pod.pod.spec.topology_spread_constraints)
        if has_own:
            constraints = spreading.own(pod, spreading.SOFT)
        else:
            constraints = spreading.defaults(pod, snapshot.objects)
        if not constraints:
            return None
        return SpreadScore(pod, snapshot, constraints, strict=has_own).normalised(feasible)


class CountedConstraint(NamedTuple):
    """A hard constraint with the pod counts of every value."""

    #: The constraint.
    constraint: ParitySpreadConstraint
    #: The values of its label.
    domain: LabelDomain
    #: bool[n]: nodes that count.
    eligible: BoolArray
    #: int64[values]: number of matching pods.
    sums: IntArray
    #: bool[values]: values that count.
    present: BoolArray
    #: 1 if the pod itself matches, otherwise 0.
    own: int

    def least(self, sums: IntArray) -> int:
        """The smallest count; 0 with too few values."""
        present = self.present
        if int(present.sum()) < max(self.constraint.min_domains, 1):
            return 0
        return int(sums[present].min())


def nodes_with_keys(
    constraints: tuple[ParitySpreadConstraint, ...], snapshot: ParitySnapshot
) -> BoolArray:
    """bool[n]: nodes that have the labels of all constraints."""
    mask = np.ones(snapshot.nodes.count, np.bool_)
    for each in constraints:
        mask &= snapshot.nodes.has(each.key)
    return mask


class SpreadCheck(NodeCheck):
    """The hard constraints of one pod against all nodes."""

    def __init__(
        self,
        pod: SchedulingFacts,
        snapshot: ParitySnapshot,
        constraints: tuple[ParitySpreadConstraint, ...],
    ) -> None:
        """Count pods by value."""
        self._pod = pod
        self._snapshot = snapshot
        among = nodes_with_keys(constraints, snapshot)
        self._counted = [self._count(each, among) for each in constraints]

    def verdict(self) -> NodeStatuses | None:
        """Statuses: each node under the first constraint that it violates."""
        statuses: list[tuple[BoolArray, PluginStatus]] = []
        for each in self._counted:
            codes = each.domain.codes
            limit = each.constraint.skew + each.least(each.sums) - each.own
            statuses.append((codes == 0, NO_LABEL))
            statuses.append(((each.sums > limit)[codes], UNEVEN))
        return refuse_each(self._snapshot.nodes.count, statuses)

    def trial(self, node: int) -> NodeDryRun:
        """A dry run over the counts of the node's own values."""
        return SpreadDryRun(self._pod, self._counted, node)

    def _count(self, constraint: ParitySpreadConstraint, among: BoolArray) -> CountedConstraint:
        domain = self._snapshot.nodes.domain(constraint.key)
        eligible = constraint.eligible(self._pod, self._snapshot, among)
        counts = constraint.counts(self._pod, self._snapshot)
        sums, present = domain.sums(counts, eligible), domain.present(eligible)
        own = int(constraint.selector.matches(self._pod.labels))
        return CountedConstraint(constraint, domain, eligible, sums, present, own)


class SpreadDryRun(NodeDryRun):
    """The counts of one node's values."""

    def __init__(self, pod: SchedulingFacts, counted: list[CountedConstraint], node: int) -> None:
        """Start with all pods on the node."""
        self._pod = pod
        self._node = node
        self._counted = counted
        self._sums = [each.sums.copy() for each in counted]

    def remove(self, pod: SchedulingFacts) -> None:
        """Remove a pod from the node."""
        self._count(pod, -1)

    def add(self, pod: SchedulingFacts) -> None:
        """Add a pod to the node."""
        self._count(pod, 1)

    def status(self) -> PluginStatus:
        """First constraint that the node violates now."""
        for each, sums in zip(self._counted, self._sums, strict=True):
            value = each.domain.codes[self._node]
            if value == 0:
                return NO_LABEL
            if int(sums[value]) + each.own - each.least(sums) > each.constraint.skew:
                return UNEVEN
        return SUCCESS

    def _count(self, pod: SchedulingFacts, by: int) -> None:
        if pod.namespace != self._pod.namespace:
            return
        for each, sums in zip(self._counted, self._sums, strict=True):
            if each.eligible[self._node] and each.constraint.selector.matches(pod.labels):
                sums[each.domain.codes[self._node]] += by


class SpreadScore:
    """The soft constraints of one pod."""

    def __init__(
        self,
        pod: SchedulingFacts,
        snapshot: ParitySnapshot,
        constraints: tuple[ParitySpreadConstraint, ...],
        *,
        strict: bool,
    ) -> None:
        """Score with these constraints; ``strict`` ignores nodes that lack one of the labels."""
        self._pod = pod
        self._snapshot = snapshot
        self._constraints = constraints
        everywhere = np.ones(snapshot.nodes.count, np.bool_)
        self._among = nodes_with_keys(constraints, snapshot) if strict else everywhere

    def normalised(self, feasible: IntArray) -> IntArray:
        """Normalised scores: the fewest pods score best.

        0 for ignored nodes, 100 if no pod counts.
        """
        scored = self._among[feasible]
        total = np.zeros(len(feasible), np.float64)
        for each in self._constraints:
            total += self._raw(each, feasible, scored)
        whole = np.floor(total)
        raw = (whole + (total - whole >= 0.5)).astype(np.int64)
        raw[~scored] = 0
        if not scored.any():
            return raw
        largest, least = int(raw[scored].max()), int(raw[scored].min())
        if largest == 0:
            return np.where(scored, TOP, 0).astype(np.int64)
        return np.where(scored, TOP * (largest + least - raw) // largest, 0).astype(np.int64)

    def _raw(
        self, constraint: ParitySpreadConstraint, feasible: IntArray, scored: BoolArray
    ) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        """Number of pods of each node's value, weighted by the number of values."""
        domain = self._snapshot.nodes.domain(constraint.key)
        counts = constraint.counts(self._pod, self._snapshot)
        has = domain.codes[feasible] != 0
        if constraint.key == HOSTNAME_LABEL:
            size, pods = int(scored.sum()), counts[feasible]
        else:
            codes = domain.codes
            if domain.empty:
                codes = np.where(codes == 0, domain.empty, codes)
            size = int(np.count_nonzero(np.bincount(codes[feasible[scored]])))
            eligible = constraint.eligible(self._pod, self._snapshot, self._among)
            by_value = np.bincount(codes, counts * eligible, domain.size)
            pods = by_value[codes[feasible]].astype(np.int64)
        weight = math.log(size + 2)
        return np.where(has, pods * weight + float(constraint.skew - 1), 0.0)
