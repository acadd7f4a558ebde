"""Amounts of pods above a band on each node: use, requests and the larger of both.

Pods are columns, so that one call sums all nodes.
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
    """Value of the larger of use and request, for a pod without a metric."""

    #: The request.
    REQUEST = "request"
    #: 0, as at node level in Koordinator.
    NOTHING = "nothing"


@dataclass(frozen=True)
class PodTable:
    """Pods with allocated capacity, one per row."""

    #: Index of the node of each pod.
    node: NDArray[np.int64]
    #: Requests.
    requested: Amounts
    #: Measured use; 0 without a metric.
    used: Amounts
    #: True for pods with a metric.
    measured: Mask
    #: True for pods with exclusive cores: their use of CPU is their request.
    exclusive: Mask


@dataclass(frozen=True)
class HeldAmounts:
    """Sums by node."""

    #: Use; for a pod without a metric, its request.
    used: Amounts
    #: Requests.
    requested: Amounts
    #: Larger of use and request of each pod.
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
