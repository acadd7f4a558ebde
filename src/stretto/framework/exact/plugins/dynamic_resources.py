"""DynamicResources and NodeDeclaredFeatures: as far as pods without resource claims see them.

Both skip such pods. What remains is a score of 0, and DynamicResources' word after a failed cycle.
"""

from typing import ClassVar, Final

import numpy as np

from stretto.framework.exact.contract import Check, FilterPlugin, ScorePlugin
from stretto.framework.exact.pod_facts import PodFacts
from stretto.framework.exact.snapshot import Snapshot
from stretto.framework.exact.status import SKIP, IntArray, Status

NAME: Final = "DynamicResources"
NOTHING_TO_FREE: Final = "no new claims to deallocate"
"""What it says after a cycle in which it was asked."""
NO_STATE: Final = "not found"
"""What it says after a cycle that ended before it was asked: upstream finds no state of its own."""


class DynamicResources(FilterPlugin, ScorePlugin):
    """Skips pods without resource claims."""

    NAME: ClassVar[str] = NAME
    WEIGHT: ClassVar[int] = 2

    def prefilter(self, pod: PodFacts, snapshot: Snapshot) -> Check | Status:
        """Skipped: there are no claims."""
        return SKIP

    def score(self, pod: PodFacts, snapshot: Snapshot, feasible: IntArray) -> IntArray | None:
        """0 for every node."""
        return np.zeros(len(feasible), np.int64)


class NodeDeclaredFeatures(FilterPlugin):
    """Skips pods that need no declared feature."""

    NAME: ClassVar[str] = "NodeDeclaredFeatures"

    def prefilter(self, pod: PodFacts, snapshot: Snapshot) -> Check | Status:
        """Skipped: nothing is needed."""
        return SKIP
