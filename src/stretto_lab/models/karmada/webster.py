"""Webster's method with Karmada's arithmetic.

Each replica is assigned to the cluster with the largest votes / (2 × replicas + 1). The quotients
are floating-point numbers, so that different quotients can tie. Ties go to the cluster with fewer
replicas, then by name, in the order that the uid of the workload selects.
"""

import heapq
from collections.abc import Mapping
from typing import TypeAlias

from stretto.federation.planner.hashes import fnv1a
from stretto_lab.models.karmada.integers import int32

_Rank: TypeAlias = tuple[float, int, int]
"""Negative quotient, replicas, position of the name: the smallest is next."""


def divide(
    replicas: int, votes: Mapping[str, int], initial: Mapping[str, int], uid: str = ""
) -> dict[str, int]:
    """Replicas by cluster: ``initial`` and ``replicas`` more, in proportion to ``votes``.

    Clusters of ``initial`` without votes keep their replicas. Nothing changes without votes, or
    without replicas if there is an initial division.
    """
    if (replicas == 0 and initial) or not sum(votes.values()):
        return dict(initial)
    return allocate(replicas, votes, initial, uid)


def allocate(
    replicas: int, votes: Mapping[str, int], initial: Mapping[str, int], uid: str = ""
) -> dict[str, int]:
    """Replicas by cluster, in the order of names: ``initial`` and ``replicas`` more by votes."""
    names = sorted(votes.keys() | initial.keys())
    descending = bool(uid) and fnv1a(uid) % 2 == 1
    found = {name: initial.get(name, 0) for name in names}

    def rank(position: int, count: int) -> _Rank:
        quotient = votes.get(names[position], 0) / int32(2 * count + 1)
        return -quotient, count, -position if descending else position

    queue = [rank(position, found[name]) for position, name in enumerate(names)]
    heapq.heapify(queue)
    for _ in range(replicas if queue else 0):
        position = abs(queue[0][2])
        count = int32(found[names[position]] + 1)
        found[names[position]] = count
        heapq.heapreplace(queue, rank(position, count))
    return found
