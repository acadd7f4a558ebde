"""Selection of a shard among equal scores: its partition, zone rotation and node ranks."""

import numpy as np
import numpy.typing as npt

from stretto.base.rng import Rng
from stretto.framework.compiled.tables import SlotChoice, TieBreak
from stretto.framework.compiled.ties import PICKS, TieRule, ZoneTurns, drawn_order
from stretto.framework.profile.profile import Profile
from stretto.state.cluster.cluster import Cluster


class TieState:
    """The tie rule of a profile on one shard."""

    def __init__(self, profile: Profile, cluster: Cluster, rng: Rng) -> None:
        """Start with every block in the shard's own partition."""
        #: int32[slot]: ranks for tie rules that use a column, if they are set.
        self.rank: npt.NDArray[np.int32] = np.zeros(0, np.int32)
        #: uint8[block]: blocks of the shard's own partition; all blocks without a partition.
        self.own_block: npt.NDArray[np.uint8] = np.zeros(0, np.uint8)
        self._ties = profile.ties
        self._pick, self._device_pick = int(profile.tie_rule), int(profile.device_pick)
        self._uses_draws = profile.draws
        self._cluster = cluster
        self._random = rng.numpy()
        self._zones = ZoneTurns()
        self._order_seed = rng.child("order").randint(0, 1 << 62)

    @property
    def ranges(self) -> int:
        """Number of ranges of blocks; each has a maximum."""
        return len(self._zones.ranges.first) - 1

    def sync(self) -> bool:
        """Follow the blocks of the cluster; return whether the ranges changed."""
        slots = self._cluster.ledger.slots
        if len(self.own_block) != len(slots.block_zone):
            more = np.ones(len(slots.block_zone) - len(self.own_block), np.uint8)
            self.own_block = np.concatenate([self.own_block, more])
        return self._zones.follow(slots, self.own_block)

    def choice(self, generations: npt.NDArray[np.int64]) -> SlotChoice:
        """Data for selecting a slot among the best; its cursors advance with every pick."""
        return SlotChoice(
            pick=self._pick,
            device_pick=self._device_pick,
            rank=self._ranks(generations),
            block_zone=self._cluster.ledger.slots.block_zone,
            own_block=self.own_block,
            range_of=self._zones.ranges.of_block,
            range_first=self._zones.ranges.first,
            range_block=self._zones.ranges.block,
            stride=self._zones.stride,
            passes=self._zones.passes,
            cursor=self._zones.cursor,
        )

    def draws(self, count: int) -> npt.NDArray[np.uint64]:
        """Random draws, if the profile uses them (a seed includes its random streams)."""
        if not self._uses_draws:
            return np.zeros(count, np.uint64)
        return self._random.integers(0, 1 << 63, count, dtype=np.uint64)

    def _ranks(self, generations: npt.NDArray[np.int64]) -> npt.NDArray[np.int32]:
        """Ranks for the tie rule: the given ranks, or else by name or in a random order."""
        ties = self._ties
        if PICKS[ties] is not TieBreak.RANK or len(self.rank) == len(generations):
            return self.rank
        if ties is TieRule.NAME:
            return self._cluster.nodes.name_rank
        return drawn_order(generations, self._order_seed)
