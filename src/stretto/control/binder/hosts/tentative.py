"""Tentative claims: hosts keep them for a unit until they are confirmed, released or expired.

The claims of a unit are charged one by one while other hosts still answer. If the binder dies in
between, the charges remain. This table outlives it: a successor releases them when it takes over,
and without a successor they expire.
"""

from collections.abc import Iterable
from math import inf
from typing import NamedTuple

from stretto.state.cluster.cluster import Cluster
from stretto.state.rows.lifecycle import PodState


class TentativeClaim(NamedTuple):
    """A charged claim whose unit is not decided yet."""

    #: Serial of the pod, to detect reused rows.
    serial: int
    #: Slot of the host.
    slot: int
    #: Clock time at which the host releases the claim, in seconds.
    until: float


class TentativeClaims:
    """All tentative claims of a cluster, by row."""

    def __init__(self, cluster: Cluster, ttl_s: float) -> None:
        """Keep claims on the hosts of ``cluster`` for at most ``ttl_s`` seconds."""
        self._cluster = cluster
        self._ttl_s = ttl_s
        self._claims: dict[int, TentativeClaim] = {}

    def __len__(self) -> int:
        return len(self._claims)

    def hold(self, row: int, slot: int, now: float) -> None:
        """Record that a host has granted a claim."""
        serial = int(self._cluster.pods.serial[row])
        self._claims[row] = TentativeClaim(serial, slot, now + self._ttl_s)

    def decide(self, rows: Iterable[int]) -> None:
        """Forget decided claims in host order.

        The caller rolls back the charges of refused ones.
        """
        for row in sorted(rows, key=self._host_of):
            self._claims.pop(row, None)

    def release(self, rows: Iterable[int]) -> None:
        """Release claims in host order, with their charges."""
        for row in sorted((row for row in rows if row in self._claims), key=self._host_of):
            claim, pods = self._claims.pop(row), self._cluster.pods
            is_same = pods.serial[row] == claim.serial and pods.slot[row] == claim.slot
            if is_same and pods.state[row] != PodState.ASSUMED:
                self._cluster.charges.refund(row)

    def release_all(self) -> None:
        """Release every claim, because the binder that would decide them is gone."""
        self.release(list(self._claims))

    def expire(self, now: float) -> None:
        """Release the claims that have expired."""
        self.release([row for row, claim in self._claims.items() if claim.until <= now])

    def next_due(self) -> float:
        """Clock time at which the next claim expires; infinity without claims."""
        return min((claim.until for claim in self._claims.values()), default=inf)

    def _host_of(self, row: int) -> int:
        claim = self._claims.get(row)
        return -1 if claim is None else claim.slot
