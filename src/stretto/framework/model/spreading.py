"""Spread constraints of a pod, compiled: its own, or the cluster's defaults.

The filter and the score read the same constraints. A pod without any gets upstream's soft defaults
(a skew of 3 over hosts and of 5 over zones), for the pods that its services and its controller
select.
"""

from typing import Final, NamedTuple

from stretto.api.types.pod import TopologySpreadConstraint
from stretto.api.types.workloads import ReplicaSet, ReplicationController, StatefulSet
from stretto.api.wire import selectors
from stretto.api.wire.labels import HOSTNAME_LABEL, ZONE_LABEL
from stretto.api.wire.meta import OwnerReference
from stretto.api.wire.selectors import EVERYTHING, Operator, Selector, SelectorRule
from stretto.framework.model.eligible import required_nodes, untolerated
from stretto.framework.model.pod_facts import SchedulingFacts
from stretto.framework.model.snapshot import ParitySnapshot
from stretto.framework.model.status import BoolArray, IntArray
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

    #: The largest allowed difference of pods between two values.
    skew: int
    #: The node label.
    key: str
    #: The pods that it counts.
    selector: Selector
    #: With fewer values than this, the minimum count is 0.
    min_domains: int
    #: Whether only nodes that match the pod's node affinity count.
    honour_affinity: bool
    #: Whether only nodes whose taints the pod tolerates count.
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
    selector = default_selector(pod, objects)
    if selector == EVERYTHING:
        return ()
    return (
        ParitySpreadConstraint(HOST_SKEW, HOSTNAME_LABEL, selector, 1, True, False),
        ParitySpreadConstraint(ZONE_SKEW, ZONE_LABEL, selector, 1, True, False),
    )


def default_selector(pod: SchedulingFacts, objects: ClusterObjects) -> Selector:
    """The conjunction of the selectors of the pod's services and its controller."""
    wanted: dict[str, str] = {}
    for service in objects.services.get(pod.namespace, {}).values():
        mine = service.spec.selector
        if mine and all(pod.labels.get(key) == value for key, value in mine.items()):
            wanted.update(mine)
    owner = pod.pod.metadata.controller()
    found = _controller(owner, pod.namespace, objects) if owner is not None else None
    if isinstance(found, ReplicationController):
        wanted.update(found.spec.selector)
        return _exactly(wanted)
    if found is None:
        return _exactly(wanted)
    other = selectors.label_selector(found.spec.selector, "selector")
    if other.nothing:
        return _exactly(wanted)
    return _both(_exactly(wanted), other)


def _controller(
    owner: OwnerReference, namespace: str, objects: ClusterObjects
) -> ReplicaSet | ReplicationController | StatefulSet | None:
    if (owner.api_version, owner.kind) not in CONTROLLERS:
        return None
    return objects.controllers.get((owner.kind, namespace, owner.name))


def _compiled(constraint: TopologySpreadConstraint, pod: SchedulingFacts) -> ParitySpreadConstraint:
    selector = selectors.label_selector(constraint.label_selector, "labelSelector")
    keys = [key for key in constraint.match_label_keys if key in pod.labels]
    if keys and not selector.nothing:
        selector = _both(_exactly({key: pod.labels[key] for key in keys}), selector)
    return ParitySpreadConstraint(
        constraint.max_skew,
        constraint.topology_key,
        selector,
        1 if constraint.min_domains is None else constraint.min_domains,
        constraint.node_affinity_policy in (None, "Honor"),
        constraint.node_taints_policy == "Honor",
    )


def _exactly(labels: dict[str, str]) -> Selector:
    rules = (SelectorRule(key, Operator.IN, (value,)) for key, value in labels.items())
    return Selector(tuple(sorted(rules, key=str)))


def _both(one: Selector, other: Selector) -> Selector:
    return Selector(tuple(sorted({*one.rules, *other.rules}, key=str)))
