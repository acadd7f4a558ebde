"""Sub-clusters in the simulator: in some seeds, each pool is a sub-cluster with its own loops.

The rule admits the same nodes as the node selectors of the pods, so all laws hold with and without
it. A node that changes its pool changes its sub-cluster.
"""

from collections.abc import Sequence
from typing import Final

import msgspec

from stretto.base.rng import Rng
from stretto.framework.plugins.sub_cluster import RECYCLE_AFTER, SubClusterRule
from stretto.framework.profile.profile import Profile
from stretto_lab.chaos.draws.pods import PodRequest

SHARE: Final = 0.5
"""Share of seeds with sub-clusters, among those whose profile supports them."""


class SubClusterDraw:
    """Draws of a seed for sub-clusters."""

    def __init__(self, seed: int) -> None:
        """Draw from a separate stream."""
        rng = Rng(seed).child("sub-clusters")
        #: True if the seed has sub-clusters.
        self.parts = rng.random() < SHARE
        #: Share of pods that also request a pool.
        self.naming = rng.choice((0.2, 0.5, 0.9))
        #: Idle seconds after which a loop ends.
        self.recycle_after = rng.choice((0.0, 5.0, RECYCLE_AFTER))
        self._rng = rng

    def rules(self, profile: Profile) -> Profile:
        """Return the profile with the rule; exact profiles do not support it."""
        if not self.parts or profile.exact:
            return profile
        rule = SubClusterRule({"key": "pool", "recycleAfter": self.recycle_after})
        return msgspec.structs.replace(profile, filters=(*profile.filters, rule))

    def add_extras(self, requests: Sequence[PodRequest]) -> tuple[PodRequest, ...]:
        """Set a pool in more pods."""
        if not self.parts:
            return tuple(requests)
        named = [each.pool or self._rng.choice(("blue", "green")) for each in requests]
        return tuple(
            msgspec.structs.replace(request, pool=pool)
            if self._rng.random() < self.naming
            else request
            for request, pool in zip(requests, named, strict=True)
        )
