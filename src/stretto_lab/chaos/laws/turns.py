"""Law 8 over time: while nothing else changes, no two contenders evict each other in turn.

Controllers recreate evicted pods, so a wrong order of two evictors appears as a cycle. A *lineage*
is a pod with all its successors; a gang or the pods of one owner are one lineage. A change of the
world, a new plane and a claim of another lineage are changes, after which a pair may be decided
again.
"""

from collections.abc import Iterable, Iterator

from stretto.plane.plane import Plane
from stretto.state.queries.invariants import InvariantBreach
from stretto.state.work.evictions import EvictionCause
from stretto_lab.chaos.laws.started import StepEviction, StepEvictions
from stretto_lab.chaos.world import ChaosWorld

_WITHOUT_WINNER = frozenset({EvictionCause.RESCHEDULE, EvictionCause.OVER_COMMITTED})


class TurnsLaw:
    """Records the winner and the loser of each eviction since the last change."""

    def __init__(self, world: ChaosWorld) -> None:
        """Start without any eviction."""
        #: Number of evictions that were compared with earlier ones.
        self.looks = 0
        self._world = world
        self._changes = -1
        #: Winner and loser of each pair.
        self._pairs: set[tuple[str, str]] = set()
        #: Pods that left a node without a winner: evictor, lineage and node.
        self._left: set[tuple[EvictionCause, str, str]] = set()
        self._involved: set[str] = set()

    def reset(self) -> None:
        """Clear all pairs after another change."""
        self._pairs.clear()
        self._left.clear()
        self._involved.clear()

    def breaches(
        self, plane: Plane, started: StepEvictions, claimed: Iterable[str]
    ) -> Iterator[InvariantBreach]:
        """Check the evictions of a step; ``claimed`` contains the uids of its new claims."""
        if self._changes != self._world.changes:
            self._changes = self._world.changes
            self.reset()
        if not self._involved.issuperset(self._lineage(uid) for uid in claimed):
            self.reset()
        for each in started:
            loser, winner = self._lineage(each.uid), self._beneficiary(plane, each)
            self._involved |= {loser, winner}
            if winner:
                self.looks += 1
                if (loser, winner) in self._pairs and loser != winner:
                    text = f"{loser} is evicted for {winner}, which was evicted for it before"
                    yield InvariantBreach(8, text)
                self._pairs.add((winner, loser))
            elif each.cause in _WITHOUT_WINNER:
                self.looks += 1
                key = (each.cause, self._world.origins[each.uid], each.node)
                if key in self._left:
                    text = f"{key[1]} is {each.cause.value} from {each.node} a second time"
                    yield InvariantBreach(8, text)
                self._left.add(key)

    def _lineage(self, uid: str) -> str:
        role = self._world.members[uid].role
        return role.group or role.owner or self._world.origins[uid]

    def _beneficiary(self, plane: Plane, eviction: StepEviction) -> str:
        """Lineage of the pods that get the capacity; empty without such pods."""
        rows = eviction.beneficiaries
        return self._lineage(plane.cluster.pods.uid[rows[0]]) if rows else ""
