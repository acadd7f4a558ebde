"""The cluster as one pool: total capacity of all nodes, and the free amounts.

Queue shares and estimates of start times use it. Totals are exact for one node. For many nodes they
ignore fragmentation, so a pod that fits the pool may fit no node. Devices count in milli, in
columns of their own after those of resources.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Final, Protocol

import numpy as np
import numpy.typing as npt

from stretto.base.amounts import add_amounts
from stretto.base.errors import InputError
from stretto.state.classes.table import PodClass
from stretto.state.cluster.cluster import Cluster
from stretto.state.rows.ledger import Ledger
from stretto.state.rows.resources import PODS

DEVICES: Final = 1 << 16
"""First column of device kinds: far above those of resources, whose number may grow."""

Amounts = tuple[tuple[int, int], ...]
"""(column, exact amount), each column once."""


class PoolView(Protocol):
    """The dispatcher's view of the cluster."""

    def requests_of(self, class_id: int) -> Amounts:
        """Requests of one pod of a class, including the pod slot."""

    def requesters(self) -> Callable[[int], bool] | None:
        """Predicate on a class id: the class depends on pods placed since the last call."""

    def capacity(self) -> Mapping[int, int]:
        """Total capacity of all nodes, by column."""

    def free(self) -> Mapping[int, int]:
        """Free amounts of schedulable nodes, by column."""

    def column(self, name: str) -> int:
        """The column of a resource or device kind."""

    def count(self, name: str, amount: int) -> tuple[int, int]:
        """Return the column of a resource, and an amount in the unit of that column."""

    def names(self, column: int, amount: int) -> tuple[str, int]:
        """Convert back from ``count``: a resource, and an amount in its own unit."""


def devices_of(pod: PodClass, ledger: Ledger) -> dict[int, int]:
    """Return the thousandths of devices that a pod requests, by column."""
    found: dict[int, int] = {}
    number = ledger.devices.kind_number
    add_amounts(
        found, ((DEVICES + number(each.kind), each.count * each.milli) for each in pod.devices)
    )
    return found


class Pool:
    """Reads the pool from a cluster."""

    def __init__(self, cluster: Cluster) -> None:
        """Read a cluster."""
        #: Predicate on a class id: the class depends on pods placed since the last call; ``None``
        #: if unknown.
        self.requesters = cluster.domains.requesters
        self._cluster = cluster
        self._requests: dict[int, tuple[PodClass, Amounts]] = {}
        self._capacity: dict[int, int] = {}
        self._seen = -1

    def requests_of(self, class_id: int) -> Amounts:
        """Requests of one pod of a class, including the pod slot."""
        pod = self._cluster.classes[class_id]
        known = self._requests.get(class_id)
        if known is not None and known[0] is pod:
            return known[1]
        made = (*pod.requests, (PODS, 1), *devices_of(pod, self._cluster.ledger).items())
        self._requests[class_id] = (pod, made)
        return made

    def capacity(self) -> Mapping[int, int]:
        """Total capacity of all nodes, by column; summed again after a node has changed."""
        ledger = self._cluster.ledger
        ledger.widen()
        changed = int(ledger.static_version.max(initial=0))
        if changed != self._seen:
            self._seen = changed
            kinds = ledger.devices.kind
            self._capacity = {
                **_sums(ledger.alloc),
                **{DEVICES + int(k): 1000 * int((kinds == k).sum()) for k in _numbers(kinds)},
            }
        return self._capacity

    def free(self) -> Mapping[int, int]:
        """Free amounts of schedulable nodes, by column; an over-committed node counts as full."""
        ledger, nodes = self._cluster.ledger, self._cluster.nodes
        ledger.widen()
        size = min(len(ledger.alloc), nodes.size)
        takes = (nodes.live[:size] > 0) & (nodes.unschedulable[:size] == 0)
        free = np.maximum(ledger.alloc[:size] - ledger.used[:size], 0)
        kinds = np.where(takes[:, None], ledger.devices.kind[:size], 0)
        left = np.maximum(ledger.devices.free[:size], 0)
        return {
            **_sums(free[takes]),
            **{DEVICES + int(k): int(left[kinds == k].sum()) for k in _numbers(kinds)},
        }

    def column(self, name: str) -> int:
        """The column of a resource or device kind.

        Raises:
            InputError: the name is empty, or there are too many resource names.
        """
        if not name:
            raise InputError("fair share: resource", name, "the name of a resource", "such as cpu")
        if name in self._cluster.config.device_kinds:
            return DEVICES + self._cluster.ledger.devices.kind_number(name)
        return self._cluster.ledger.resources.column(name)

    def count(self, name: str, amount: int) -> tuple[int, int]:
        """Return the column of a resource, and an amount in the unit of that column."""
        column = self.column(name)
        return column, amount * 1000 if column >= DEVICES else amount

    def names(self, column: int, amount: int) -> tuple[str, int]:
        """Convert back from ``count``; a part of a device counts as a whole one."""
        if column < DEVICES:
            return self._cluster.ledger.resources.names[column], amount
        number = self._cluster.ledger.devices.kind_number
        kind = next(k for k in self._cluster.config.device_kinds if DEVICES + number(k) == column)
        return kind, -(-amount // 1000)


def _sums(amounts: npt.NDArray[np.int64]) -> dict[int, int]:
    """Non-zero columns with their totals."""
    return {column: int(n) for column, n in enumerate(amounts.sum(axis=0).tolist()) if n}


def _numbers(kinds: npt.NDArray[np.uint8]) -> Iterable[int]:
    """Numbers of the device kinds present."""
    return (int(kind) for kind in np.unique(kinds) if kind)
