"""The moves of one round in one pool, within the budget of its receivers.

The budget of a receiver is its distance to its high threshold. Pods leave a node until its load is
below the threshold, as long as the receivers have budget in sum and one receiver admits the pod.
"""

from collections.abc import Callable
from math import inf
from typing import Final, NamedTuple

import numpy as np

from stretto.control.controllers.fragmentation import Move
from stretto.control.controllers.hot_nodes.loads import Amounts, NodeLoads, Slots
from stretto.control.controllers.movable import MoveLimits, may_leave
from stretto.state.cluster.cluster import Cluster

TRIED: Final = 8
"""Number of receivers whose node rules are checked for one pod."""


class PodMoves(NamedTuple):
    """Conditions of the moves of a round, shared by all pools."""

    #: Budgets and owners; ``moves`` is the maximum number of moves of the round.
    limits: MoveLimits
    #: Predicate (class id, slot): the node rules admit the class.
    eligible: Callable[[int, int], bool]
    #: End of the rest by owner, as clock time; owners in it are not moved.
    rests: dict[str, float]
    #: The moves so far.
    made: list[Move]

    @property
    def is_full(self) -> bool:
        """True if the round has its maximum number of moves."""
        return len(self.made) >= self.limits.moves


class PoolMoves:
    """Moves from the hot nodes of a pool; it updates use and free amounts with each move."""

    def __init__(
        self, cluster: Cluster, loads: NodeLoads, receivers: Slots, moves: PodMoves
    ) -> None:
        """Move pods to receivers: int64[r], positions in ``loads``."""
        self._cluster, self._loads, self._moves = cluster, loads, moves
        ledger, self._receivers = cluster.ledger, receivers
        at = loads.slots[receivers]
        self._free = ledger.alloc[at] - ledger.used[at]
        self._spare = loads.high[receivers] - loads.used[receivers]
        self._real = np.maximum(loads.real[receivers], 1)
        self._left = (self._spare / self._real).min(axis=1, initial=1.0)
        self._budget = self._spare.sum(axis=0)

    def unload(self, place: int, pods: list[tuple[int, Amounts]]) -> bool:
        """Move pods of a node in order; return whether its load falls below its threshold."""
        used, high = self._loads.used[place].copy(), self._loads.high[place]
        for row, use in pods:
            if (used <= high).all():
                return True
            if self.is_spent:
                return False
            if self._move(place, row, use):
                used -= use
        return False

    @property
    def is_spent(self) -> bool:
        """True if no further pod is moved: a budget or the number of moves is exhausted."""
        return self._moves.is_full or bool((self._budget <= 0).any())

    def _move(self, place: int, row: int, use: Amounts) -> bool:
        """Move a pod to the receiver with the largest budget that admits it.

        Pods with devices or host ports stay: amounts do not show which of them a receiver has free.
        """
        cluster, limits, rests = self._cluster, self._moves.limits, self._moves.rests
        owner = limits.owner_of(row)
        if not owner or owner in rests or not may_leave(cluster, limits, row, owner):
            return False
        if limits.budgets.violating([row]):
            return False
        class_id = int(cluster.pods.class_id[row])
        if cluster.classes[class_id].ports or cluster.classes[class_id].devices:
            return False
        needs = cluster.classes.requests_of(np.array([class_id], np.int32))[0]
        chosen = self._receiver(class_id, needs, use)
        if chosen < 0:
            return False
        self._charge(chosen, needs, use)
        limits.budgets.spend([row])
        rests[owner] = inf
        pods, names = cluster.pods, cluster.nodes.names
        source = names[int(self._loads.slots[place])]
        target = names[int(self._loads.slots[self._receivers[chosen]])]
        serial = int(pods.serial[row])
        made = self._moves.made
        made.append(Move(row, serial, pods.key(row), owner, source, target, len(made)))
        return True

    def _receiver(self, class_id: int, needs: Slots, use: Amounts) -> int:
        """Position of a receiver that admits a class with this use; -1 if there is none."""
        width = min(len(needs), self._free.shape[1])
        fits = (self._spare >= use).all(axis=1) & (not needs[width:].any())
        for column in np.flatnonzero(needs[:width]).tolist():
            fits &= self._free[:, column] >= needs[column]
        left = np.where(fits, self._left, -inf)
        for _ in range(TRIED):
            i = int(np.argmax(left)) if len(left) else -1
            if i < 0 or left[i] == -inf:
                return -1
            if self._moves.eligible(class_id, int(self._loads.slots[self._receivers[i]])):
                return i
            left[i] = -inf
        return -1

    def _charge(self, i: int, needs: Slots, use: Amounts) -> None:
        """Subtract a moved pod from the free amounts and the budget of its receiver."""
        width = min(len(needs), self._free.shape[1])
        self._free[i, :width] -= needs[:width]
        self._spare[i] -= use
        self._left[i] = (self._spare[i] / self._real[i]).min(initial=1.0)
        self._budget -= use
