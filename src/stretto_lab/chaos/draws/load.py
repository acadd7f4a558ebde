"""Measured load in the simulator: the filter ``LoadAware`` on wrong or late reports.

The reference computes the formula of the rule for one node at a time. The kernels compare columns
that they derive once and decrease by each claim.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec
import numpy as np

from stretto.base.clock import timestamp
from stretto.base.rng import Rng
from stretto.framework.plugins.load_aware import COLUMNS, LoadAwareRule, SlotAmounts, most_spent
from stretto.framework.profile.profile import Profile
from stretto.plane.plane import Plane
from stretto_lab.chaos.draws.pods import MIB, PodRequest

SHARE: Final = 0.5
"""Share of the seeds with overcommit in which agents report load."""
ARGUMENTS: Final[tuple[Mapping[str, Any], ...]] = (
    {},
    {"usageThresholds": {"cpu": 40, "memory": 50}},
    {"filterExpiredNodeMetrics": True, "nodeMetricExpirationSeconds": 60},
    {"aggregated": {"usageAggregationType": "p90", "scoreAggregationType": "p90"}},
    {"usageThresholds": {"cpu": 0}},
)
"""Arguments of the rule; the last ones exceed columns, so the rule is called per placement."""


class LoadDraw:
    """Draws of a seed with overcommit for measured load."""

    def __init__(self, seed: int) -> None:
        """Draw from a separate stream."""
        rng = Rng(seed).child("load")
        #: The filter; ``None`` in a seed without it.
        self.rule = LoadAwareRule(rng.choice(ARGUMENTS)) if rng.random() < SHARE else None
        self._scores = rng.random() < 0.5

    def rules(self, profile: Profile) -> Profile:
        """Return the profile with the rule as a filter, and in some seeds as a score."""
        if self.rule is None:
            return profile
        scores = ((self.rule, 1),) if self._scores else ()
        return msgspec.structs.replace(
            profile,
            filters=(*profile.filters, self.rule),
            scores=(*profile.scores, *scores),
        )

    def allows(self, plane: Plane, name: str, request: PodRequest, count: int) -> bool:
        """True if the load of a node allows that many more equal pods."""
        rule, slot = self.rule, plane.cluster.nodes.by_name.get(name)
        if rule is None or slot is None or plane.config.profile.exact:
            return True
        slots, nodes = np.array([slot], np.int64), plane.cluster.nodes
        if not rule.known(nodes, slots)[0]:
            return not (rule.refuses_old and nodes.reports.used_on(slots)[0, 0] >= 0)
        ledger = plane.cluster.ledger
        requested = {"cpu": request.cpu, "memory": request.memory * MIB}
        for resource, threshold in rule.thresholds.items():
            column = COLUMNS[resource]
            step = ledger.resources.steps[column]
            promised = ledger.alloc[slots, column] // step
            free = (ledger.alloc[slots, column] - ledger.used[slots, column]) // step
            of = SlotAmounts(resource, slots, promised, free.astype(np.int32))
            spent, real = rule.spent(nodes, ledger, of, rule.filter_percentile)
            own = 0 if request.best_effort else -(-requested[resource] // step)
            most = most_spent(real, threshold)
            if threshold and int(spent[0]) + count * rule.factors[resource] * own > int(most[0]):
                return False
        return True


def metric_json(at_s: float, cpu: str, pods: Sequence[str]) -> dict[str, Any]:
    """A measurement of a node in the form of its report, with the pods that it includes."""
    names = [f"default/{pod}" for pod in pods]
    return {
        "updateTime": timestamp(at_s),
        "nodeMetric": {"genericUsage": {"cpu": cpu, "memory": "64Mi"}},
        "groupMetric": [{"QoSLevel": "shared_cores", "podList": names}],
    }
