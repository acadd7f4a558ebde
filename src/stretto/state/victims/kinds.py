"""The kind of each pod in the victim index: evictable, waiting claim, terminating or protected.

Pods that started recently become evictable later; they are checked again when their protection
ends.
"""

from collections.abc import Iterator
from heapq import heappop, heappush
from math import inf

import numpy as np
import numpy.typing as npt

from stretto.state.classes.preemption_attributes import DEFAULT_ATTRIBUTES
from stretto.state.cluster.cluster import Cluster
from stretto.state.rows.lifecycle import PodState
from stretto.state.rows.pods import NO_SLOT
from stretto.state.victims.columns import EVICTABLE, NOMINEE, NOT_EVICTABLE, TERMINATING
from stretto.state.victims.rules import (
    EvictionGuard,
    PreemptionRules,
    guard_by_attributes,
    guard_of,
    protected_until,
)
from stretto.state.work.evictions import EvictionState


class VictimKinds:
    """Determines kinds by a profile's rules."""

    def __init__(self, cluster: Cluster, rules: PreemptionRules) -> None:
        """Start without protected pods."""
        self._cluster = cluster
        self._rules = rules
        self._protection_ends: list[tuple[float, int, int]] = []

    def clear(self) -> None:
        """Reset before all pods are classified again."""
        self._protection_ends.clear()

    def of(self, row: int, now: float) -> int | None:
        """Return the kind of a row; ``None`` if it has no node or may not be evicted."""
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
        """uint8[row]: kinds of rows on nodes, ``NOT_EVICTABLE`` for protected ones."""
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
        self._decide_by_attributes(pods.preemption_attributes[rows], slow, kinds)
        for at in np.flatnonzero(slow).tolist():
            kind = self.of(int(rows[at]), now)
            kinds[at] = NOT_EVICTABLE if kind is None else kind
        return kinds

    def _decide_by_attributes(
        self,
        numbers: npt.NDArray[np.int32],
        slow: npt.NDArray[np.bool_],
        kinds: npt.NDArray[np.uint8],
    ) -> None:
        """Set the kinds of running pods whose start is irrelevant; they are no longer slow."""
        for number in np.unique(numbers[slow]).tolist():
            attributes = self._cluster.preemption_attributes[number]
            here = slow & (numbers == number)
            guard = guard_by_attributes(attributes, self._rules)
            if guard is not None:
                kinds[here] = NOT_EVICTABLE
            elif max(self._rules.protected_for, attributes.protected_for) <= 0:
                kinds[here] = EVICTABLE
            else:
                continue
            slow &= ~here

    def next_end(self) -> float:
        """Clock time at which the next protection ends; infinity for none."""
        ends = self._protection_ends
        return ends[0][0] if ends else inf

    def protection_ended(self, now: float) -> Iterator[int]:
        """Rows whose protection has ended."""
        while self._protection_ends and self._protection_ends[0][0] <= now:
            _, row, serial = heappop(self._protection_ends)
            if self._cluster.pods.serial[row] == serial:
                yield row
