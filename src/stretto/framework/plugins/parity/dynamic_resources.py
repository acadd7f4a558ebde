"""DynamicResources: without an allocator of devices.

It skips pods without resource claims. What remains of it is a score of 0, and its word after a
failed cycle. A pod with claims is refused everywhere in upstream's words: nobody here
allocates devices to claims, and a pod that is bound without them never starts.
"""

from typing import ClassVar, Final

import numpy as np

from stretto.framework.model.plugin import FilterPlugin, FixedCheck, NodeCheck, ScorePlugin
from stretto.framework.model.pod_facts import SchedulingFacts
from stretto.framework.model.snapshot import ParitySnapshot
from stretto.framework.model.status import SKIP, IntArray, PluginStatus, refuse, unresolvable

NAME: Final = "DynamicResources"
NOT_ALLOCATED: Final = "cannot allocate all claims"
"""Upstream's reason for a node on which a pod's claims cannot be met."""
NOTHING_TO_FREE: Final = "no new claims to deallocate"
"""What it says after a cycle in which it was asked."""
NO_STATE: Final = "not found"
"""What it says after a cycle that ended before it was asked: upstream finds no state of its own."""


class DynamicResourcesPlugin(FilterPlugin, ScorePlugin):
    """Skips pods without resource claims, and refuses those with some everywhere."""

    NAME: ClassVar[str] = NAME
    WEIGHT: ClassVar[int] = 2

    def prefilter(self, pod: SchedulingFacts, snapshot: ParitySnapshot) -> NodeCheck | PluginStatus:
        """Skipped where there are no claims."""
        if not pod.pod.spec.resource_claims:
            return SKIP
        everywhere = np.ones(snapshot.nodes.count, np.bool_)
        return FixedCheck(refuse(everywhere, unresolvable(NOT_ALLOCATED)))

    def score(
        self, pod: SchedulingFacts, snapshot: ParitySnapshot, feasible: IntArray
    ) -> IntArray | None:
        """0 for every node."""
        return np.zeros(len(feasible), np.int64)
