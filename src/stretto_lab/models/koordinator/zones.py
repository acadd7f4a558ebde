"""Batch capacity of the NUMA nodes of one node.

Amounts that belong to no NUMA node are divided evenly, each rounded up to a thousandth of a unit.
Source: Koordinator's ``noderesource/plugins/batchresource``.
"""

from collections.abc import Iterable, Sequence

import msgspec
import numpy as np

from stretto.capacity.reclaim import batch as batches
from stretto.capacity.reclaim.batch import BatchStrategy, NodeSupply
from stretto.capacity.reclaim.held import Amounts, HeldAmounts

MILLI = 1000
"""Thousandths per byte: memory is divided in thousandths of a byte."""


class ZonePod(msgspec.Struct, frozen=True):
    """A pod as input of the NUMA nodes: milli-CPU and bytes."""

    #: Requests.
    requested: tuple[int, int]
    #: Use; without a metric, the request.
    used: tuple[int, int]
    #: True if the pod has exclusive cores: its use of CPU is its request.
    exclusive: bool = False
    #: NUMA nodes that are assigned to the pod; all if none of them exists. A NUMA node that is
    #: listed twice counts twice in the division, but gets one part.
    zones: tuple[int, ...] = ()


def zone_batch(
    capacity: Amounts, node: NodeSupply, pods: Iterable[ZonePod], strategy: BatchStrategy
) -> Amounts:
    """Milli-CPU and bytes for batch pods, by NUMA node.

    Args:
        capacity: capacity of each NUMA node, shape (zones, 2).
        node: one row; the reserved amounts and the use of the system are divided.
        pods: pods above batch, and deleted pods that are still measured.
        strategy: parameters.
    """
    count = len(capacity)
    whole = capacity * np.array((1, MILLI))
    kept = batches.percent_of(capacity, [100 - each for each in strategy.reclaim_percent])
    outside = [_divided(each[0], count) for each in (node.reserved, node.system)]
    supply = NodeSupply(whole, *(np.tile(each, (count, 1)) for each in outside))
    held = _held(pods, count)
    found = np.zeros_like(whole)
    for column, policy in enumerate(strategy.policies):
        taken = batches.taken(policy, supply, held)[:, column]
        found[:, column] = whole[:, column] - kept[:, column] * (1, MILLI)[column] - taken
    units = -(-np.maximum(found, 0) // np.array((1, MILLI)))
    return batches.bounded(units, capacity, strategy)


def _held(pods: Iterable[ZonePod], count: int) -> HeldAmounts:
    sums = HeldAmounts(*(np.zeros((count, 2), np.int64) for _ in range(3)))
    for pod in pods:
        given = [each for each in pod.zones if 0 <= each < count]
        rows: Sequence[int] = given or range(count)
        requested, used = (_divided(each, len(rows)) for each in (pod.requested, pod.used))
        for row in set(rows):
            sums.requested[row] += requested
            sums.used[row] += (requested[0] if pod.exclusive else used[0], used[1])
            sums.larger[row] += np.maximum(requested, used)
    return sums


def _divided(amounts: Iterable[int], parts: int) -> Amounts:
    """Equal part of amounts, in milli-CPU and thousandths of a byte, rounded up."""
    whole: Amounts = np.fromiter(amounts, np.int64) * np.array((1, MILLI))
    each: Amounts = np.negative(np.negative(whole) // parts)
    return each
