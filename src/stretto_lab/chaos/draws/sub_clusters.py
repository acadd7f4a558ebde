"""Sub-clusters in the simulator: by seed, the pools are sub-clusters with scheduling loops.

The rule allows what the pods' node selectors allow anyway, so whatever must hold without it must
hold with it; nodes that change their pool change their sub-cluster.
"""

from collections.abc import Sequence
from typing import Final

import msgspec

from stretto.base.rng import Rng
from stretto.framework.plugins.sub_cluster import RECYCLE_AFTER, SubClusterRule
from stretto.framework.profile.profile import Profile
from stretto_lab.chaos.draws.pods import PodRequest

SHARE: Final = 0.5
"""Share of the seeds that have sub-clusters, where the profile can."""


class SubClusterDraw:
    """What a seed draws about sub-clusters."""

    def __init__(self, seed: int) -> None:
        """Draw from a stream of its own."""
        rng = Rng(seed).child("sub-clusters")
        #: Whether there are any.
        self.parts = rng.random() < SHARE
        #: How many more of the pods name one.
        self.naming = rng.choice((0.2, 0.5, 0.9))
        #: Seconds without work after which a loop ends.
        self.recycle_after = rng.choice((0.0, 5.0, RECYCLE_AFTER))
        self._rng = rng

    def rules(self, profile: Profile) -> Profile:
        """A profile with the rule; kube-scheduler's own rules know none."""
        if not self.parts or profile.exact:
            return profile
        rule = SubClusterRule({"key": "pool", "recycleAfter": self.recycle_after})
        return msgspec.structs.replace(profile, filters=(*profile.filters, rule))

    def add_extras(self, asks: Sequence[PodRequest]) -> tuple[PodRequest, ...]:
        """Some more of the pods name a pool."""
        if not self.parts:
            return tuple(asks)
        named = [each.pool or self._rng.choice(("blue", "green")) for each in asks]
        return tuple(
            msgspec.structs.replace(ask, pool=pool) if self._rng.random() < self.naming else ask
            for ask, pool in zip(asks, named, strict=True)
        )
