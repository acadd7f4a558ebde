"""Amounts of pods above a band on each node: use, requests and the larger of both.

Pods are columns, so that one call sums a fleet.
"""

from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Amounts: TypeAlias = NDArray[np.int64]
"""Shape (rows, 2): milli-CPU and bytes."""
Mask: TypeAlias = NDArray[np.bool_]


class Unmeasured(Enum):
    """The larger of use and request, for a pod without a metric."""

    #: Its request.
    REQUEST = "request"
    #: Nothing, as on the level of nodes in Koordinator.
    NOTHING = "nothing"


@dataclass(frozen=True)
class PodTable:
    """Pods that hold capacity, one per row."""

    #: Index of the node of each pod.
    node: NDArray[np.int64]
    #: Requests.
    requested: Amounts
    #: Measured use; 0 where there is no metric.
    used: Amounts
    #: Pods with a metric.
    measured: Mask
    #: Pods with exclusive cores: their use of CPU is their request.
    exclusive: Mask


@dataclass(frozen=True)
class HeldAmounts:
    """Sums by node."""

    #: Use; the request of a pod without metric.
    used: Amounts
    #: Requests.
    requested: Amounts
    #: The larger of use and request of each pod.
    larger: Amounts


def held(pods: PodTable, nodes: int, unmeasured: Unmeasured = Unmeasured.REQUEST) -> HeldAmounts:
    """Sum the pods of ``nodes`` nodes."""
    used = np.where(pods.measured[:, None], pods.used, pods.requested)
    larger = np.maximum(pods.requested, used)
    used[:, 0] = np.where(pods.exclusive, pods.requested[:, 0], used[:, 0])
    if unmeasured is Unmeasured.NOTHING:
        larger = np.where(pods.measured[:, None], larger, 0)
    return HeldAmounts(
        *(by_node(pods.node, each, nodes) for each in (used, pods.requested, larger))
    )


def by_node(node: NDArray[np.int64], amounts: Amounts, nodes: int) -> Amounts:
    """The sum of rows by node."""
    sums = np.zeros((nodes, amounts.shape[1]), np.int64)
    np.add.at(sums, node, amounts)
    return sums
