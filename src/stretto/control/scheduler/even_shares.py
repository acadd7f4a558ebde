"""Balances pieces of a cluster over shards, in every zone and in total, with few changes of owner.

The caller defines a piece: a block of slots for shards that share memory, a node for shards that
share only an API server. Pieces without an owner go to the shard with the least weight; other
pieces change owner only if the imbalance exceeds the tolerance.
"""

from bisect import bisect_left, insort
from collections.abc import Sequence
from typing import Final

import msgspec

NO_OWNER: Final = -1
"""Owner of a piece when there is no shard."""


class NodeBlocks(msgspec.Struct, frozen=True):
    """The pieces to balance."""

    #: Zone number of each piece.
    zones: Sequence[int]
    #: Weight of each piece.
    weights: Sequence[int]
    #: Tolerated difference between two shards, in weight.
    grain: int = 0
    #: Tolerated difference as a fraction of a shard's mean share.
    slack: float = 0.0


class EvenShares:
    """One balancing of pieces over shards; changes the owners in place."""

    def __init__(self, pieces: NodeBlocks, shards: Sequence[int], owner: list[int]) -> None:
        """Start from the current owners.

        Args:
            pieces: the pieces.
            shards: numbers of the shards.
            owner: shard of each piece; any other number for none. Changed in place.
        """
        self._owner = owner
        self._shards = tuple(shards)
        self._weights = pieces.weights
        self._zone_of = pieces.zones
        self._zones = range(max(pieces.zones, default=-1) + 1)
        #: Weight of each shard in all zones.
        self._total = dict.fromkeys(self._shards, 0)
        #: Weight of each shard by zone.
        self._loads = [dict.fromkeys(self._shards, 0) for _ in self._zones]
        #: Sorted (weight, -piece) of each shard's pieces in a zone, without pieces of weight 0.
        self._held: list[dict[int, list[tuple[int, int]]]] = [
            {shard: [] for shard in self._shards} for _ in self._zones
        ]
        self._grains = self._even_enough(pieces)

    def _even_enough(self, pieces: NodeBlocks) -> list[int]:
        """Tolerated difference in each zone; the last entry is for the total."""
        wholes, heaviest = [0] * (len(self._zones) + 1), [0] * (len(self._zones) + 1)
        for zone, weight in zip(pieces.zones, pieces.weights, strict=True):
            for at in (zone, -1):
                wholes[at] += weight
                heaviest[at] = max(heaviest[at], weight)
        share = pieces.slack / max(1, len(self._shards))
        return [
            max(pieces.grain, heavy, int(whole * share))
            for whole, heavy in zip(wholes, heaviest, strict=True)
        ]

    def deal(self) -> None:
        """Assign pieces without an owner, then balance each zone, then the total."""
        self.give_out()
        for zone in self._zones:
            self._even_out(zone)
        self._even_out_all()

    def give_out(self) -> None:
        """Assign pieces without an owner, heaviest first, to the shards with the least weight."""
        unassigned: list[list[int]] = [[] for _ in self._zones]
        for piece, owner in enumerate(self._owner):
            if owner in self._total:
                self._count(piece, owner, 1)
            else:
                unassigned[self._zone_of[piece]].append(piece)
        for zone, pieces in enumerate(unassigned):
            for piece in sorted(pieces, key=lambda piece: (-self._weights[piece], piece)):
                self._give(piece, self._least(zone))

    def shares(self) -> dict[int, float]:
        """Fraction of the total weight of each shard; equal fractions if the total is 0."""
        whole = sum(self._total.values())
        return {n: mine / whole if whole else 1.0 for n, mine in self._total.items()}

    def _even_out(self, zone: int) -> None:
        """Move pieces from the heaviest to the lightest shard until both are within tolerance.

        Each moved piece weighs more than 0 and less than the difference, so every move reduces it
        and the loop ends.
        """
        loads = self._loads[zone]
        while True:
            low, high = self._least(zone), max(self._shards, key=lambda n: (loads[n], n))
            gap = loads[high] - loads[low]
            if gap <= self._grains[zone]:
                return
            self._give(self._nearest(zone, high, gap // 2, gap - 1), low)

    def _even_out_all(self) -> None:
        """Balance the total as far as each zone stays balanced."""
        for _ in range(len(self._weights)):
            low = min(self._shards, key=lambda n: (self._total[n], n))
            high = max(self._shards, key=lambda n: (self._total[n], n))
            gap = self._total[high] - self._total[low]
            if gap <= self._grains[-1]:
                return
            piece = self._harmless_move(low, high, gap)
            if piece < 0:
                return
            self._give(piece, low)

    def _harmless_move(self, low: int, high: int, gap: int) -> int:
        """Piece whose move reduces the total difference and keeps its zone balanced.

        -1 for none.
        """
        best = (gap, -1)
        for zone in self._zones:
            most = min(gap - 1, self._movable(zone, low, high))
            held = self._held[zone][high]
            if held and held[0][0] <= most:
                piece = self._nearest(zone, high, gap // 2, most)
                best = min(best, (abs(self._weights[piece] - gap // 2), piece))
        return best[1]

    def _movable(self, zone: int, low: int, high: int) -> int:
        """Maximum weight that may move between two shards without unbalancing a zone."""
        loads, grain = self._loads[zone], self._grains[zone]
        others = [loads[n] for n in self._shards if n not in (low, high)]
        bounds = [(grain + loads[high] - loads[low]) // 2]
        if others:
            bounds += [grain + min(others) - loads[low], grain + loads[high] - max(others)]
        return min(bounds)

    def _nearest(self, zone: int, owner: int, wanted: int, most: int) -> int:
        """The piece with the weight nearest to ``wanted``, at most ``most``; one must exist."""
        held = self._held[zone][owner]
        end = bisect_left(held, (most + 1,))
        at = bisect_left(held, (min(wanted, most) + 1,), 0, end)
        near = [weight for weight, _ in held[max(0, at - 1) : min(at + 1, end)]]
        weight = min(near, key=lambda weight: abs(weight - wanted))
        return -held[bisect_left(held, (weight + 1,)) - 1][1]

    def _least(self, zone: int) -> int:
        """The shard with the least weight in a zone; ties by total weight."""
        loads, total = self._loads[zone], self._total
        return min(self._shards, key=lambda number: (loads[number], total[number], number))

    def _give(self, piece: int, shard: int) -> None:
        before = self._owner[piece]
        if before in self._total:
            self._count(piece, before, -1)
        self._owner[piece] = shard
        self._count(piece, shard, 1)

    def _count(self, piece: int, shard: int, sign: int) -> None:
        zone, weight = self._zone_of[piece], self._weights[piece]
        self._loads[zone][shard] += sign * weight
        self._total[shard] += sign * weight
        if not weight:
            return
        held, entry = self._held[zone][shard], (weight, -piece)
        if sign > 0:
            insort(held, entry)
        else:
            del held[bisect_left(held, entry)]
