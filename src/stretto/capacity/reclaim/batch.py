"""Batch capacity: capacity that online pods do not use now.

Source: Koordinator's ``noderesource/plugins/batchresource``.
"""

from dataclasses import dataclass
from enum import Enum
from typing import Final

import numpy as np
import numpy.typing as npt

from stretto.capacity.reclaim.held import Amounts, HeldAmounts

NO_LIMIT: Final = np.iinfo(np.int64).max
"""Bound of a resource without a bound."""


class BatchPolicy(Enum):
    """The amounts of online pods that lower batch capacity."""

    #: Use of the pods.
    USAGE = "usage"
    #: Requests of the pods; only for memory.
    REQUEST = "request"
    #: Larger of use and request of each pod.
    LARGER = "maxUsageRequest"


@dataclass(frozen=True)
class BatchStrategy:
    """Parameters of the estimator; CPU first, then memory."""

    #: Percent of the capacity that online and batch pods may use together; above 100 is overcommit.
    reclaim_percent: tuple[int, int] = (60, 65)
    #: Amounts of online pods that lower batch capacity.
    policies: tuple[BatchPolicy, BatchPolicy] = (BatchPolicy.USAGE, BatchPolicy.USAGE)
    #: Upper bound in percent of the capacity; ``None`` for no bound.
    cap_percent: tuple[int | None, int | None] = (None, None)


@dataclass(frozen=True)
class NodeSupply:
    """Nodes, one per row."""

    #: Capacity.
    capacity: Amounts
    #: Amounts reserved for processes of the node.
    reserved: Amounts
    #: Measured use of processes outside pods.
    system: Amounts


def batch(supply: NodeSupply, pods: HeldAmounts, strategy: BatchStrategy) -> Amounts:
    """Milli-CPU and bytes for batch pods, by node, at least 0."""
    kept = percent_of(supply.capacity, [100 - each for each in strategy.reclaim_percent])
    found = np.zeros_like(supply.capacity)
    for column, policy in enumerate(strategy.policies):
        base = supply.capacity[:, column] - kept[:, column]
        found[:, column] = base - taken(policy, supply, pods)[:, column]
    return bounded(np.maximum(found, 0), supply.capacity, strategy)


def bounded(amounts: Amounts, capacity: Amounts, strategy: BatchStrategy) -> Amounts:
    """Limit ``amounts`` to the strategy's share of the capacity."""
    limit = np.full_like(capacity, NO_LIMIT)
    for column, percent in enumerate(strategy.cap_percent):
        if percent is not None:
            limit[:, column] = percent_of(capacity[:, column], percent)
    bound: Amounts = np.minimum(amounts, limit)
    return bound


def percent_of(capacity: Amounts, percent: npt.ArrayLike) -> Amounts:
    """Percentage of the capacity, truncated.

    The ratio is computed first, as in Koordinator: 29 % of 96,000 is 27,839, because 0.29 is not
    exact.
    """
    part = np.trunc(capacity.astype(np.float64) * (np.asarray(percent) / 100))
    whole: Amounts = part.astype(np.int64)
    return whole


def taken(policy: BatchPolicy, supply: NodeSupply, pods: HeldAmounts) -> Amounts:
    """Amounts of the node and its online pods that lower the capacity, by node."""
    if policy is BatchPolicy.REQUEST:
        return supply.reserved + pods.requested
    outside = np.maximum(supply.system, supply.reserved)
    return outside + (pods.used if policy is BatchPolicy.USAGE else pods.larger)
