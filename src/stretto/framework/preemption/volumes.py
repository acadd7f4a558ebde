"""Finding victims for pods with volumes: claims that others hold, nodes that take no more volumes.

Where a pod's volumes are content with a node as it is, its victims are found as for any pod. Nodes
that refuse it for what pods there use are rehearsed one by one, with all rules.
"""

from typing import Final

import numpy as np

from stretto.framework.preemption.finder import NOTHING, VictimFinder, VictimSearchResult
from stretto.framework.preemption.places import Mask
from stretto.framework.volumes.rules import VolumeJudgement, VolumeRules
from stretto.state.victims.rules import may_preempt

TRIES: Final = 8
"""Nodes that are taken for content and are not, once those have left who share a volume with the
pod, before all the others like them are given up for a cycle."""


class VolumeVictimFinder(VictimFinder):
    """Finds victims for every pod of one shard, those with volumes too."""

    def use(self, volumes: VolumeRules) -> None:
        """Ask these about volumes."""
        self._others.volumes = volumes

    def find(self, row: int) -> VictimSearchResult:
        """The best node for a pod, and who must leave it."""
        pods = self._cluster.pods
        if not pods.volumes[row] or int(pods.priority[row]) <= pods.lowest:
            return super().find(row)
        judged, only = self._others.judge_volumes(row, self._taken), self._only
        if judged is None:
            return super().find(row)
        if judged.nowhere[1] or not may_preempt(self._cluster, row):
            return NOTHING
        try:
            return self._find_with_volumes(row, judged, only)
        finally:
            self._only = only

    def _find_with_volumes(
        self, row: int, judged: VolumeJudgement, only: Mask | None
    ) -> VictimSearchResult:
        """The best node that is content with a pod's volumes, or will be.

        A volume that the pod shares with a victim must be had anew once that has left: nodes on
        which that asks too much are rehearsed, too.
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
        return self._better(found, self._find(row, holds))
