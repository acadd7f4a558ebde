"""Facts about clusters and objects of a replay at an outcome, as input of rules."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from stretto.api.kinds.federation import CLUSTER_OVERRIDE_POLICY, OVERRIDE_POLICY
from stretto.api.types.federation.policies import ReplicasStrategy, SchedulingMode
from stretto.base.errors import StrettoError
from stretto.federation import names
from stretto.federation.controllers.keys import everything
from stretto.federation.controllers.placing.policies import PolicyFinder
from stretto.federation.fleet import ClusterFleet, unready_clusters
from stretto.federation.objects.rules.steering import Steering
from stretto.federation.problems import ObjectProblemError


class ReplayFacts(msgspec.Struct, frozen=True):
    """Facts about federated objects, by name, and about clusters.

    Recorded scenarios ran up to seven in parallel on the same clusters, so the free capacity at the
    moment of a decision is not part of a recording.
    """

    #: Objects whose replicas have been divided by the free capacity of clusters.
    weighed: frozenset[str] = frozenset()
    #: Objects for which free capacity has chosen among more clusters than are allowed.
    chosen: frozenset[str] = frozenset()
    #: Namespaces that an annotation keeps on the host.
    opted_out: frozenset[str] = frozenset()
    #: Objects whose annotation does not stop their scheduling, because it is not ``true``.
    not_stopped: frozenset[str] = frozenset()
    #: Objects whose members keep their replicas.
    keeping: frozenset[str] = frozenset()
    #: Objects with a label of an override policy that does not exist.
    without_policy: frozenset[str] = frozenset()
    #: Objects that waited for the scheduler at an earlier outcome.
    waited: frozenset[str] = frozenset()
    #: Clusters that have joined and are not ready.
    unready: frozenset[str] = frozenset()
    #: Namespaces of the scenario, and names of its objects without one; ``None`` for all.
    own: frozenset[str] | None = None


NO_FACTS: Final = ReplayFacts()
"""No facts."""


class FactCollector:
    """Collects the facts of one replay; a fact about a decision is kept."""

    def __init__(self, own: frozenset[str] | None) -> None:
        """Start without facts; ``own`` contains the namespaces and names of the scenario."""
        self._facts = ReplayFacts(own=own)

    def at(self, fleet: ClusterFleet | None, federated: Mapping[str, Any]) -> ReplayFacts:
        """The facts at an outcome.

        Args:
            fleet: the fleet; ``None`` while the controllers are stopped.
            federated: the federated objects of the replay, in the form of outcomes.
        """
        known = self._facts
        if fleet is not None:
            weighed, chosen = _by_capacity(fleet)
            known = msgspec.structs.replace(
                known,
                weighed=known.weighed | weighed,
                chosen=known.chosen | chosen,
                opted_out=known.opted_out | _noted(fleet, names.NO_PROPAGATION, "true"),
                not_stopped=known.not_stopped | _noted(fleet, names.NO_SCHEDULING, "false"),
                keeping=_noted(fleet, names.RETAIN_REPLICAS, "true"),
                without_policy=_without_policy(fleet),
                unready=unready_clusters(fleet),
            )
        self._facts = msgspec.structs.replace(known, waited=known.waited | _waiting(federated))
        return known


def _by_capacity(fleet: ClusterFleet) -> tuple[frozenset[str], frozenset[str]]:
    """Objects weighted by the present free capacity, and objects whose clusters depend on it."""
    finder = PolicyFinder(fleet)
    weighed, chosen = set(), set()
    for item in everything(fleet):
        try:
            rules = finder.policy_of(item.federated).rules
        except (ObjectProblemError, StrettoError):
            continue
        name = item.federated.record.name
        if rules is not None and _has_free_weights(rules):
            weighed.add(name)
        if rules is not None and _has_free_choice(rules):
            chosen.add(name)
    return frozenset(weighed), frozenset(chosen)


def _has_free_weights(rules: Steering) -> bool:
    divides = rules.mode is SchedulingMode.DIVIDE and rules.strategy is ReplicasStrategy.SPREAD
    return divides and all(each.preferences.weight is None for each in rules.placements)


def _has_free_choice(rules: Steering) -> bool:
    has_priorities = any(each.preferences.priority is not None for each in rules.placements)
    return rules.max_clusters is not None and not has_priorities


def _noted(fleet: ClusterFleet, key: str, value: str) -> frozenset[str]:
    """Objects that have an annotation with a value."""
    return frozenset(
        each.federated.record.name
        for each in everything(fleet)
        if each.federated.annotations.get(key) == value
    )


def _without_policy(fleet: ClusterFleet) -> frozenset[str]:
    """Objects with a label of an override policy that does not exist."""
    policies = (
        (names.OVERRIDE_POLICY, fleet.host.follow_synced(OVERRIDE_POLICY.kind), True),
        (
            names.CLUSTER_OVERRIDE_POLICY,
            fleet.host.follow_synced(CLUSTER_OVERRIDE_POLICY.kind),
            False,
        ),
    )
    found = set()
    for item in everything(fleet):
        for label, cache, is_namespaced in policies:
            name = item.federated.labels.get(label)
            namespace = item.federated.record.namespace if is_namespaced else ""
            if name is not None and cache.get(namespace, name) is None:
                found.add(item.federated.record.name)
    return frozenset(found)


def _waiting(federated: Mapping[str, Any]) -> frozenset[str]:
    """Objects that wait for the scheduler and have no placement."""
    return frozenset(name for name, shown in federated.items() if waits_for_scheduler(shown))


def waits_for_scheduler(shown: Mapping[str, Any]) -> bool:
    """True if an object that has never been placed waits for the scheduler."""
    groups = shown.get("pending") or [[]]
    return groups[0] == [names.SCHEDULER] and "placements" not in shown
