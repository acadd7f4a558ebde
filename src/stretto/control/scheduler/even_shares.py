"""Dealing: pieces of a cluster to shards, even in every zone and in all, and few change hands.

What a piece is, the caller says: a block of slots where shards share one memory, a node where they
meet at an API server. Pieces without an owner go to whoever has least; owned ones stay with their
owners until a difference is greater than the grain.
"""

from bisect import bisect_left, insort
from collections.abc import Sequence
from typing import Final

import msgspec

NO_OWNER: Final = -1
"""Owner of a piece when there is no shard."""


class NodeBlocks(msgspec.Struct, frozen=True):
    """What there is to share out."""

    #: Zone number of each piece.
    zones: Sequence[int]
    #: What each piece weighs.
    weights: Sequence[int]
    #: A difference between two shards that is even enough, however small the pieces.
    grain: int = 0
    #: Part of a shard's mean share that is even enough, too.
    slack: float = 0.0


class EvenShares:
    """One dealing of pieces to shards; changes the owners in place."""

    def __init__(self, pieces: NodeBlocks, shards: Sequence[int], owner: list[int]) -> None:
        """Take pieces as they are owned now.

        Args:
            pieces: what is shared out.
            shards: numbers of the shards.
            owner: the shard of each piece now; any other number where there is none.
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
        #: (weight, -piece) of what each shard has of a zone, the heaviest last, but the weightless.
        self._held: list[dict[int, list[tuple[int, int]]]] = [
            {shard: [] for shard in self._shards} for _ in self._zones
        ]
        self._grains = self._even_enough(pieces)

    def _even_enough(self, pieces: NodeBlocks) -> list[int]:
        """The difference that is even enough in each zone; the last is for all of them."""
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
        """Give out pieces without an owner, then even out each zone, then the whole."""
        self.give_out()
        for zone in self._zones:
            self._even_out(zone)
        self._even_out_all()

    def give_out(self) -> None:
        """Give pieces without an owner to the shards that have least, the heaviest first."""
        homeless: list[list[int]] = [[] for _ in self._zones]
        for piece, owner in enumerate(self._owner):
            if owner in self._total:
                self._count(piece, owner, 1)
            else:
                homeless[self._zone_of[piece]].append(piece)
        for zone, pieces in enumerate(homeless):
            for piece in sorted(pieces, key=lambda piece: (-self._weights[piece], piece)):
                self._give(piece, self._least(zone))

    def shares(self) -> dict[int, float]:
        """Part of the whole that each shard has; all alike where there is nothing."""
        whole = sum(self._total.values())
        return {n: mine / whole if whole else 1.0 for n, mine in self._total.items()}

    def _even_out(self, zone: int) -> None:
        """Move pieces from the fullest to the emptiest until they differ by the grain at most.

        A piece of more than nothing and less than the difference always lessens it, so this ends.
        """
        loads = self._loads[zone]
        while True:
            low, high = self._least(zone), max(self._shards, key=lambda n: (loads[n], n))
            gap = loads[high] - loads[low]
            if gap <= self._grains[zone]:
                return
            self._give(self._nearest(zone, high, gap // 2, gap - 1), low)

    def _even_out_all(self) -> None:
        """Even out what the zones add up to, as far as each zone stays even."""
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
        """A piece whose move lessens the whole's gap and leaves its zone even; -1 for none."""
        best = (gap, -1)
        for zone in self._zones:
            most = min(gap - 1, self._room(zone, low, high))
            held = self._held[zone][high]
            if held and held[0][0] <= most:
                piece = self._nearest(zone, high, gap // 2, most)
                best = min(best, (abs(self._weights[piece] - gap // 2), piece))
        return best[1]

    def _room(self, zone: int, low: int, high: int) -> int:
        """The most that may go from one shard to another without making a zone uneven."""
        loads, grain = self._loads[zone], self._grains[zone]
        others = [loads[n] for n in self._shards if n not in (low, high)]
        bounds = [(grain + loads[high] - loads[low]) // 2]
        if others:
            bounds += [grain + min(others) - loads[low], grain + loads[high] - max(others)]
        return min(bounds)

    def _nearest(self, zone: int, owner: int, wanted: int, most: int) -> int:
        """The piece that weighs nearest to what is wanted, and not too much; there must be one."""
        held = self._held[zone][owner]
        end = bisect_left(held, (most + 1,))
        at = bisect_left(held, (min(wanted, most) + 1,), 0, end)
        near = [weight for weight, _ in held[max(0, at - 1) : min(at + 1, end)]]
        weight = min(near, key=lambda weight: abs(weight - wanted))
        return -held[bisect_left(held, (weight + 1,)) - 1][1]

    def _least(self, zone: int) -> int:
        """The shard with the least of a zone; among equals, with the least in all."""
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
