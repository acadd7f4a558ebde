"""Finds victims for pods with volumes: PVCs in use by other pods, nodes at their volume limit.

If a node accepts the volumes of a pod in its current state, the victim search is the same as for
other pods. Nodes that reject the pod because of volumes in use there are simulated one by one, with
all rules.
"""

from typing import Final

import numpy as np

from stretto.framework.preemption.finder import VictimFinder
from stretto.framework.preemption.places import Mask
from stretto.framework.preemption.tiers import NOTHING, VictimSearchResult
from stretto.framework.volumes.rules import VolumeJudgement, VolumeRules

TRIES: Final = 8
"""Maximum number of accepted nodes that fail after evicting victims with a shared volume.

After these failures, the search excludes all similar nodes for the cycle.
"""


class VolumeVictimFinder(VictimFinder):
    """Finds victims for every pod of one shard, with or without volumes."""

    def use(self, volumes: VolumeRules) -> None:
        """Use this evaluator of volume rules."""
        self._others.volumes = volumes

    def find(self, row: int) -> VictimSearchResult:
        """Return the best node for a pod, and its victims."""
        if not self._cluster.pods.volumes[row] or not self.terms.may_search(row):
            return super().find(row)
        judged, only = self._others.judge_volumes(row, self.cycle.taken), self._only
        if judged is None:
            return super().find(row)
        if judged.nowhere[1]:
            return NOTHING
        try:
            return self._find_with_volumes(row, judged, only)
        finally:
            self._only = only

    def _find_with_volumes(
        self, row: int, judged: VolumeJudgement, only: Mask | None
    ) -> VictimSearchResult:
        """Best node that accepts the volumes of a pod, at present or after evictions.

        A volume that the pod shares with a victim must be attached again after the eviction: nodes
        that cannot attach it are simulated, too.
        """
        volumes, found = self._others.volumes, NOTHING
        assert volumes is not None
        content = np.ones(self._cluster.ledger.slots.size, np.bool_)
        if judged.allowed is not None:
            content &= judged.allowed
        rehearsed, holds = volumes.curable(judged), self._others.volumes_fit(row, judged)
        for _ in range(TRIES):
            self._only = content if only is None else content & only
            found = super().find(row)
            chosen = found.candidate
            if chosen is None or holds(chosen.slot, self._victim_rows(row, chosen)):
                break
            content[chosen.slot], rehearsed[chosen.slot], found = False, True, NOTHING
        self._only = rehearsed if only is None else rehearsed & only
        if not self._only.any():
            return found
        return self._search.better(found, self._find(row, holds))
