"""Score: rates the NUMA nodes of a machine for a pod."""

from collections.abc import Mapping
from enum import Enum
from itertools import combinations
from math import isnan, nan
from statistics import fmean, variance
from typing import Final

import msgspec

from stretto.capacity.model.profiles import CapacityProfile
from stretto_lab.models.katalyst.numa.pods import CPU, WHOLE, AlignmentPolicy, NumaPod, positive
from stretto_lab.models.katalyst.numa.zones import (
    AlignedMachine,
    FreeZones,
    TopologyPolicy,
    free_zones,
    policy_of,
)

MAX_SCORE: Final = 100
"""Best score."""
_NO_NUMBER: Final = -(2.0**63)
"""Katalyst's value for a score that is NaN."""


class NumaStrategy(Enum):
    """The preference of a score."""

    #: Prefer NUMA nodes with the least free amounts.
    MOST = "MostAllocated"
    #: Prefer NUMA nodes with the most free amounts.
    LEAST = "LeastAllocated"
    #: Prefer NUMA nodes with equal use of all resources.
    BALANCED = "BalancedAllocation"


class NumaScoring(msgspec.Struct, frozen=True):
    """Settings of the score."""

    #: Preference of the score.
    strategy: NumaStrategy
    #: Selection of the pods that are aligned.
    policy: AlignmentPolicy
    #: Resources that must come from the same NUMA nodes.
    aligned: frozenset[str]
    #: Weights by resource; a weight below 1 counts as 1.
    weights: dict[str, int] = {}
    #: System whose results are reproduced.
    profile: CapacityProfile = CapacityProfile.STRETTO

    def weight(self, resource: str) -> int:
        """The weight of a resource."""
        return max(self.weights.get(resource, 1), 1)


class UndefinedScoreError(ArithmeticError):
    """Error: Katalyst's score divides by zero."""


def score(machine: AlignedMachine, pod: NumaPod, rules: NumaScoring) -> float:
    """Score of a machine, 0 to 100; a pod without alignment gets 100 on every machine.

    ``KATALYST`` has no score for whole pods and none for containers without aligned resources.

    Raises:
        UndefinedScoreError: ``KATALYST`` divides integers by zero; if it divides floats by zero,
            the score is NaN.
    """
    if not pod.is_aligned_by(rules.policy):
        return MAX_SCORE
    way = policy_of(machine, rules.policy)
    if way is None:
        return 0
    free = free_zones(machine, pod, rules.policy, rules.aligned)
    if way is TopologyPolicy.SINGLE_POD:
        return _pod_score(free, pod, rules)
    spans = way is TopologyPolicy.NUMERIC_CONTAINER and free.is_exclusive
    scores = [
        _container_score(free, each.requests, spans, rules) for each in (*pod.containers, *pod.init)
    ]
    if rules.profile is CapacityProfile.KATALYST:
        mean = fmean(_NO_NUMBER if isnan(each) else each for each in scores)
        return nan if mean == _NO_NUMBER else int(mean)
    known = [each for each in scores if not isnan(each)]
    return int(fmean(known)) if known else MAX_SCORE


def _pod_score(free: FreeZones, pod: NumaPod, rules: NumaScoring) -> float:
    """Score of a pod that is aligned as a whole."""
    if rules.profile is not CapacityProfile.KATALYST:
        found = _container_score(free, pod.total(), False, rules)
        return MAX_SCORE if isnan(found) else int(found)
    if rules.strategy is NumaStrategy.BALANCED:
        return nan
    raise UndefinedScoreError


def _container_score(
    free: FreeZones, requests: Mapping[str, int], spans: bool, rules: NumaScoring
) -> float:
    """Lowest score above 0 of the NUMA nodes, or of sets of them; NaN if it is undefined."""
    left = [_usable(free, zone) for zone in range(len(free.zones))]
    if spans:
        wanted = positive({n: v for n, v in requests.items() if n in free.aligned})
        counts = [
            free.least_count(name, amount, rules.profile) or len(free.zones)
            for name, amount in wanted.items()
        ]
        sets = combinations(left, max(counts, default=1))
        left = [{n: sum(each.get(n, 0) for each in some) for n in requests} for some in sets]
    if rules.policy is AlignmentPolicy.DYNAMIC:
        requests = {name: n for name, n in requests.items() if name in free.aligned}
    scores = [_zone_score(requests, each, rules) for each in left]
    if any(map(isnan, scores)):
        return nan
    return min((each for each in scores if each > 0), default=0)


def _usable(free: FreeZones, zone: int) -> Mapping[str, int]:
    """Amounts of a NUMA node for the pod: an exclusive pod uses only unused resources."""
    left = free.free[zone]
    if not free.is_exclusive:
        return left
    return {
        name: 0 if name in free.aligned and not free.is_untouched(zone, name) else amount
        for name, amount in left.items()
    }


def _zone_score(requests: Mapping[str, int], left: Mapping[str, int], rules: NumaScoring) -> float:
    """Score of one NUMA node; NaN if it is undefined."""
    pairs = {
        name: (_units(name, n), _units(name, left.get(name, 0))) for name, n in requests.items()
    }
    if rules.strategy is NumaStrategy.BALANCED:
        return _balance([n / has if has else 1.0 for n, has in pairs.values()], rules.profile)
    total = weights = 0
    for name, (amount, has) in pairs.items():
        part = 0
        if has and requests[name] <= left.get(name, 0):
            rest = amount if rules.strategy is NumaStrategy.MOST else has - amount
            part = rest * MAX_SCORE // has
        total += part * rules.weight(name)
        weights += rules.weight(name)
    if weights:
        return total // weights
    if rules.profile is CapacityProfile.KATALYST:
        raise UndefinedScoreError
    return nan


def _balance(fractions: list[float], profile: CapacityProfile) -> float:
    """Balance: 100 if all resources are used equally; NaN without resources."""
    if any(each > 1 for each in fractions):
        return 0
    if len(fractions) < 2:
        is_defined = fractions and profile is not CapacityProfile.KATALYST
        return MAX_SCORE if is_defined else nan
    return int((1 - variance(fractions)) * MAX_SCORE)


def _units(resource: str, amount: int) -> int:
    """Convert an amount to units of scores: CPU in whole cores, rounded up."""
    return -(-amount // WHOLE) if resource == CPU else amount
