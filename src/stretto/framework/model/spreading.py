"""Spread constraints of a pod, compiled: its own, or the cluster's defaults.

The filter and the score read the same constraints. A pod without constraints gets upstream's soft
defaults (a skew of 3 over hosts and of 5 over zones), for the pods that its services and its
controller select.
"""

from typing import Final, NamedTuple

from stretto.api.types.pod import TopologySpreadConstraint
from stretto.api.wire.labels import HOSTNAME_LABEL, ZONE_LABEL
from stretto.api.wire.selectors import EVERYTHING, Selector
from stretto.framework.model.eligible import required_nodes, untolerated
from stretto.framework.model.pod_facts import SchedulingFacts
from stretto.framework.model.snapshot import ParitySnapshot
from stretto.framework.model.status import BoolArray, IntArray
from stretto.state.affinity.defaults import default_selector
from stretto.state.classes.terms import spread_selector
from stretto.state.objects import ClusterObjects

HARD: Final = "DoNotSchedule"
SOFT: Final = "ScheduleAnyway"
HOST_SKEW: Final = 3
ZONE_SKEW: Final = 5
CONTROLLERS: Final = {
    ("v1", "ReplicationController"),
    ("apps/v1", "ReplicaSet"),
    ("apps/v1", "StatefulSet"),
}
"""Owners whose selectors the defaults use."""


class ParitySpreadConstraint(NamedTuple):
    """One constraint."""

    #: Largest allowed difference of the number of pods between two values.
    skew: int
    #: The node label.
    key: str
    #: The pods that it counts.
    selector: Selector
    #: Minimum number of values; with fewer values, the minimum count is 0.
    min_domains: int
    #: True if only nodes that match the pod's node affinity count.
    honour_affinity: bool
    #: True if only nodes whose taints the pod tolerates count.
    honour_taints: bool

    def eligible(
        self, pod: SchedulingFacts, snapshot: ParitySnapshot, among: BoolArray
    ) -> BoolArray:
        """bool[n]: nodes of a mask that count, with their values."""
        if self.honour_affinity and pod.shape.node_key != NO_NODE_KEY:
            among = among & required_nodes(pod, snapshot.nodes)
        if self.honour_taints:
            among = among & ~untolerated(pod, snapshot.nodes)
        return among

    def counts(self, pod: SchedulingFacts, snapshot: ParitySnapshot) -> IntArray:
        """int64[n]: pods of the namespace that match; an empty selector counts none."""
        if self.selector == EVERYTHING:
            return snapshot.no_pods
        namespace, selector = pod.namespace, self.selector
        return snapshot.population.tally(
            ("spread", namespace, selector),
            lambda where, labels: where == namespace and selector.matches(labels),
            terminating_too=False,
        )


NO_NODE_KEY: Final = b"[{},null]"
"""``SpecFacts.node_key`` of a pod without node selector and required affinity."""


def own(pod: SchedulingFacts, action: str) -> tuple[ParitySpreadConstraint, ...]:
    """The pod's own constraints of one kind."""
    return tuple(
        _compiled(each, pod)
        for each in pod.pod.spec.topology_spread_constraints
        if each.when_unsatisfiable == action
    )


def defaults(pod: SchedulingFacts, objects: ClusterObjects) -> tuple[ParitySpreadConstraint, ...]:
    """Upstream's soft defaults; none for a pod without a service or controller."""
    selector = default_selector(pod.namespace, pod.labels, _owner(pod), objects)
    if selector == EVERYTHING:
        return ()
    return (
        ParitySpreadConstraint(HOST_SKEW, HOSTNAME_LABEL, selector, 1, True, False),
        ParitySpreadConstraint(ZONE_SKEW, ZONE_LABEL, selector, 1, True, False),
    )


def _owner(pod: SchedulingFacts) -> tuple[str, str] | None:
    """Return kind and name of the controller of a pod, if its kind selects pods."""
    owner = pod.pod.metadata.controller()
    if owner is None or (owner.api_version, owner.kind) not in CONTROLLERS:
        return None
    return owner.kind, owner.name


def _compiled(constraint: TopologySpreadConstraint, pod: SchedulingFacts) -> ParitySpreadConstraint:
    return ParitySpreadConstraint(
        constraint.max_skew,
        constraint.topology_key,
        spread_selector(constraint, pod.labels),
        1 if constraint.min_domains is None else constraint.min_domains,
        constraint.node_affinity_policy in (None, "Honor"),
        constraint.node_taints_policy == "Honor",
    )
