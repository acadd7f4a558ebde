"""What each pod is to the index of victims: may it be asked, does it wait, does it leave.

Pods that started a short while ago may be asked later; they are looked at again when their time has
come.
"""

from collections.abc import Iterator
from heapq import heappop, heappush

import numpy as np
import numpy.typing as npt

from stretto.state.classes.preemption_attributes import DEFAULT_ATTRIBUTES
from stretto.state.cluster.cluster import Cluster
from stretto.state.rows.lifecycle import PodState
from stretto.state.rows.pods import NO_SLOT
from stretto.state.victims.columns import EVICTABLE, NOMINEE, NOT_EVICTABLE, TERMINATING
from stretto.state.victims.rules import EvictionGuard, PreemptionRules, guard_of, protected_until
from stretto.state.work.evictions import EvictionState


class VictimKinds:
    """Tells kinds by a profile's rules."""

    def __init__(self, cluster: Cluster, rules: PreemptionRules) -> None:
        """Nothing asked yet."""
        self._cluster = cluster
        self._rules = rules
        self._protection_ends: list[tuple[float, int, int]] = []

    def clear(self) -> None:
        """Everybody is about to be asked about again."""
        self._protection_ends.clear()

    def of(self, row: int, now: float) -> int | None:
        """The kind of a row; ``None`` where it is on no node or may not be asked."""
        pods = self._cluster.pods
        if pods.slot[row] == NO_SLOT:
            return None
        if int(pods.eviction_state[row]) == EvictionState.EVICTING:
            return TERMINATING
        if int(pods.state[row]) == PodState.NOMINATED:
            return NOMINEE
        guard = guard_of(self._cluster, self._rules, row, now)
        if guard is EvictionGuard.RECENT:
            until = protected_until(self._cluster, self._rules, row)
            heappush(self._protection_ends, (until, row, int(pods.serial[row])))
        return EVICTABLE if guard is None else None

    def of_many(self, rows: npt.NDArray[np.int64], now: float) -> npt.NDArray[np.uint8]:
        """uint8[row]: the same for rows that are on nodes, ``NOT_EVICTABLE`` for those not to be asked."""
        pods, rules = self._cluster.pods, self._rules
        kinds = np.full(len(rows), NOT_EVICTABLE, np.uint8)
        running = pods.state[rows] == PodState.BOUND
        running &= (pods.eviction_state[rows] == EvictionState.NONE) & (
            pods.priority[rows] < rules.protected_from
        )
        slow = running & (pods.preemption_attributes[rows] != DEFAULT_ATTRIBUTES)
        if rules.protected_for > 0:
            slow |= running
        if not rules.opt_in:
            kinds[running] = EVICTABLE
        kinds[pods.state[rows] == PodState.NOMINATED] = NOMINEE
        kinds[pods.eviction_state[rows] == EvictionState.EVICTING] = TERMINATING
        for at in np.flatnonzero(slow).tolist():
            kind = self.of(int(rows[at]), now)
            kinds[at] = NOT_EVICTABLE if kind is None else kind
        return kinds

    def protection_ended(self, now: float) -> Iterator[int]:
        """Rows whose protection is over."""
        while self._protection_ends and self._protection_ends[0][0] <= now:
            _, row, serial = heappop(self._protection_ends)
            if self._cluster.pods.serial[row] == serial:
                yield row
