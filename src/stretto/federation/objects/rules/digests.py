"""Digests of the cluster fields that policies read, for the present and past states of a fleet.

A digest of several clusters is the sum of their digests. Clusters are ordered by the time at which
they joined, so the sum up to a time covers exactly the clusters of a past decision. It shows if
these clusters changed or others joined, without their names.
"""

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import blake2b
from itertools import accumulate
from typing import Any, Final, NamedTuple

import msgspec

from stretto.reconcile.cache import StoredObject
from stretto.reconcile.conditions import condition_of

_MASK: Final = 2**64 - 1
_BYTES: Final = 8
NEVER: Final = ""
"""Time before all clusters joined."""


class ClusterDigests(NamedTuple):
    """64-bit digests of one cluster, or their sums over several."""

    #: Labels.
    labels: int = 0
    #: Taints.
    taints: int = 0
    #: Kinds that the API server serves.
    kinds: int = 0

    def __add__(self, other: Any) -> "ClusterDigests":
        """The sums with another cluster."""
        return ClusterDigests(*((a + b) & _MASK for a, b in zip(self, other, strict=True)))


@dataclass(frozen=True, slots=True)
class JoinedCluster:
    """A cluster that has joined."""

    #: Time of joining, in RFC 3339.
    joined: str
    #: Its digests.
    digests: ClusterDigests


class FleetDigests:
    """The digests of all clusters of a fleet."""

    def __init__(self, clusters: Iterable[JoinedCluster]) -> None:
        """Initialize with the clusters, in any order."""
        ordered = sorted(clusters, key=lambda each: each.joined)
        self._times = [each.joined for each in ordered]
        self._sums = list(accumulate((x.digests for x in ordered), initial=ClusterDigests()))

    @property
    def last(self) -> str:
        """Time at which the last cluster joined."""
        return self._times[-1] if self._times else NEVER

    def until(self, time: str) -> ClusterDigests:
        """The sums of the clusters that joined until a time."""
        return self._sums[bisect_right(self._times, time)]


def joined_cluster(cluster: StoredObject) -> JoinedCluster:
    """A cluster that has joined, with its digests."""
    parts = cluster.metadata.get("labels"), cluster.spec.get("taints")
    kinds = cluster.status.get("apiResourceTypes")
    name = cluster.record.name
    return JoinedCluster(
        _joined_at(cluster), ClusterDigests(*(digest([name, each]) for each in (*parts, kinds)))
    )


def _joined_at(cluster: StoredObject) -> str:
    """Time at which a cluster joined; its creation time if its condition has no time."""
    joined = condition_of(cluster.status.get("conditions") or (), "Joined") or {}
    return str(joined.get("lastTransitionTime") or cluster.record.created or NEVER)


def digest(value: Any) -> int:
    """A 64-bit digest of JSON, independent of the order of members; ``None`` counts as empty."""
    text = msgspec.json.encode(value, order="deterministic")
    return int.from_bytes(blake2b(text, digest_size=_BYTES).digest())
