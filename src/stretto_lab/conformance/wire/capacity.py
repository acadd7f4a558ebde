"""Federated objects whose placement depends on what other workloads leave free.

Recorded scenarios ran up to seven at a time on the same clusters, so the free capacity at the
moment of a decision is not part of a recording.
"""

from stretto.api.types.federation.policies import ReplicasStrategy, SchedulingMode
from stretto.base.errors import StrettoError
from stretto.federation.controllers.keys import everything
from stretto.federation.controllers.placing.policies import PolicyFinder
from stretto.federation.fleet import ClusterFleet
from stretto.federation.objects.rules.steering import Steering
from stretto.federation.problems import ObjectProblemError


def by_capacity(fleet: ClusterFleet) -> frozenset[str]:
    """Names of the federated objects that are placed by free capacity now."""
    finder = PolicyFinder(fleet)
    found = set()
    for item in everything(fleet):
        try:
            rules = finder.policy_of(item.federated).rules
        except (ObjectProblemError, StrettoError):
            continue
        if rules is not None and _depends_on_capacity(rules):
            found.add(item.federated.record.name)
    return frozenset(found)


def _depends_on_capacity(rules: Steering) -> bool:
    """Whether weights, or the choice among more clusters than are allowed, follow capacity."""
    preferences = [each.preferences for each in rules.placements]
    divides = rules.mode is SchedulingMode.DIVIDE and rules.strategy is ReplicasStrategy.SPREAD
    has_weights = any(each.weight is not None for each in preferences)
    has_priorities = any(each.priority is not None for each in preferences)
    return (divides and not has_weights) or (rules.max_clusters is not None and not has_priorities)
