"""DynamicResources under kube-parity: the shared filter, a score of 0, and its PostFilter texts.

There is no allocator of devices, so pods with resource claims are refused on every node.
"""

from typing import Final

import numpy as np

from stretto.framework.contract.rule import NodeScores, ScorePlugin
from stretto.framework.contract.shared import SharedFilter
from stretto.framework.model.pod_facts import SchedulingFacts
from stretto.framework.model.snapshot import ParitySnapshot
from stretto.framework.plugins.dynamic_resources import DynamicResourcesRule

NOTHING_TO_FREE: Final = "no new claims to deallocate"
"""PostFilter's reason after a cycle in which the plugin was called."""
NO_STATE: Final = "not found"
"""PostFilter's error after a cycle that ended before the plugin was called: without state."""


class DynamicResourcesPlugin(SharedFilter, ScorePlugin, rule=DynamicResourcesRule):
    """Shares the filter; gives every node the same score."""

    def score(
        self, pod: SchedulingFacts, snapshot: ParitySnapshot, feasible: NodeScores
    ) -> NodeScores | None:
        """Scores: 0 for every node."""
        return np.zeros(len(feasible), np.int64)
