"""Removes capacity whose report is too old: the pool is empty until the agent reports again.

A stopped agent cannot throttle or evict reclaimed pods any more, so no further pod may use its last
headroom. A report from the future is not valid either: after its agent stops, it would become old
too late. Existing pods stay. Source: Koordinator's ``degradeTimeMinutes``.
"""

from collections.abc import Callable
from math import inf
from typing import Final

import numpy as np

from stretto.base.clock import parse_timestamp
from stretto.base.errors import InputError
from stretto.framework.profile.capacity.reclaim import ReclaimRules
from stretto.state.cluster.cluster import Cluster

EVERY_S: Final = 60.0
"""Seconds between two checks."""


class PoolDegradation:
    """Empties the pools of nodes whose reports are too old."""

    def __init__(
        self, cluster: Cluster, rules: ReclaimRules | None, wall: Callable[[], float]
    ) -> None:
        """Check against the wall clock; without rules nothing is checked."""
        self._cluster = cluster
        self._after = inf if rules is None else rules.degrade_seconds
        self._wall = wall
        self._due = inf if rules is None else -inf

    def next_due(self) -> float:
        """Clock time of the next check; infinity without rules."""
        return max(self._due, 0.0)

    def step(self, now: float) -> None:
        """Check if it is due."""
        if now < self._due:
            return
        self._due = now + EVERY_S
        reports, ledger = self._cluster.nodes.reports, self._cluster.ledger
        at = self._wall()
        for slot in np.flatnonzero(self._cluster.nodes.live).tolist():
            pool = ledger.pool(slot)
            if pool and self._is_old(reports.measured_at[slot], at):
                ledger.set_pool(slot, dict.fromkeys(pool, 0))

    def _is_old(self, measured: str, at: float) -> bool:
        """Return whether a measurement is too old or from the future.

        A report without a measurement is neither.
        """
        if not measured:
            return False
        try:
            return abs(at - parse_timestamp(measured)) > self._after
        except InputError:
            return True
