"""Results of kube-scheduler's plugins: a status for one node, columns for all nodes."""

from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

BoolArray = npt.NDArray[np.bool_]
"""bool[n]: one flag per node."""
IntArray = npt.NDArray[np.int64]
"""int64[n]: one amount per node."""


class StatusCode(StrEnum):
    """Code of a status, with upstream's spelling."""

    SUCCESS = "Success"
    #: Infeasible now; evicting pods may help.
    UNSCHEDULABLE = "Unschedulable"
    #: Infeasible, and evicting pods does not help.
    UNRESOLVABLE = "UnschedulableAndUnresolvable"
    #: The plugin does not apply to this pod.
    SKIP = "Skip"
    #: The plugin cannot evaluate the pod or node; the cycle ends.
    ERROR = "Error"


class PluginStatus(NamedTuple):
    """The result of one plugin for a pod, or for a pod and a node."""

    #: The code.
    code: StatusCode
    #: The reasons, in upstream's wording.
    reasons: tuple[str, ...] = ()

    @property
    def message(self) -> str:
        """The reasons in the format of events."""
        return ", ".join(self.reasons)


SUCCESS: Final = PluginStatus(StatusCode.SUCCESS)
SKIP: Final = PluginStatus(StatusCode.SKIP)


def unresolvable(reason: str) -> PluginStatus:
    """A rejection that evictions do not resolve."""
    return PluginStatus(StatusCode.UNRESOLVABLE, (reason,))


def unschedulable(reason: str) -> PluginStatus:
    """A rejection that evictions may resolve."""
    return PluginStatus(StatusCode.UNSCHEDULABLE, (reason,))


class NodeStatuses(NamedTuple):
    """The statuses of one plugin for every node."""

    #: bool[n]: the nodes that it rejects.
    refused: BoolArray
    #: int64[n]: number of the status of each rejected node, for ``status_of``.
    which: IntArray
    #: Returns the status of a number.
    status_of: Callable[[int], PluginStatus]
    #: True if one of the statuses is an error.
    broken: bool = False

    def status(self, node: int) -> PluginStatus:
        """The status of one node."""
        if not self.refused[node]:
            return SUCCESS
        return self.status_of(int(self.which[node]))


def refuse(mask: BoolArray, status: PluginStatus) -> NodeStatuses | None:
    """One status for all nodes of a mask; ``None`` if the mask is empty."""
    if not mask.any():
        return None
    broken = status.code is StatusCode.ERROR
    return NodeStatuses(mask, np.zeros(len(mask), np.int64), lambda _number: status, broken)


def refuse_nodes(size: int, statuses: Iterable[tuple[int, PluginStatus]]) -> NodeStatuses | None:
    """Statuses for single nodes; ``None`` if all succeed."""
    numbers: dict[PluginStatus, int] = {}
    refused = np.zeros(size, np.bool_)
    which = np.zeros(size, np.int64)
    for node, status in statuses:
        if status.code is not StatusCode.SUCCESS:
            refused[node] = True
            which[node] = numbers.setdefault(status, len(numbers))
    if not numbers:
        return None
    distinct = list(numbers)
    return NodeStatuses(
        refused, which, distinct.__getitem__, any(s.code is StatusCode.ERROR for s in distinct)
    )


def refuse_groups(
    statuses: Sequence[PluginStatus], numbers: npt.NDArray[np.intp]
) -> NodeStatuses | None:
    """One status per group of nodes; ``numbers`` contains the group of each node."""
    refused = np.array([each.code is not StatusCode.SUCCESS for each in statuses])
    if not refused.any():
        return None
    broken = any(each.code is StatusCode.ERROR for each in statuses)
    return NodeStatuses(refused[numbers], numbers.astype(np.int64), statuses.__getitem__, broken)


def refuse_each(
    size: int, statuses: Sequence[tuple[BoolArray, PluginStatus]]
) -> NodeStatuses | None:
    """First of several statuses whose mask is set; ``None`` if all masks are empty."""
    refused = np.zeros(size, np.bool_)
    which = np.zeros(size, np.int64)
    for number, (mask, _) in enumerate(statuses):
        fresh = mask & ~refused
        which[fresh] = number
        refused |= fresh
    if not refused.any():
        return None
    return NodeStatuses(refused, which, lambda number: statuses[number][1])
