"""The attempts with which kube-parity places a gang with members of different sizes."""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stretto.framework.compiled.placement import PlacementRequest
from stretto.state.cluster.cluster import Cluster
from stretto.state.queries.gang_attempts import (
    Attempt,
    NodeAmounts,
    attempts,
    gang_amounts,
    is_mixed,
    kinds_of,
)
from stretto.state.queries.packing import PackingProblem
from stretto.state.rows.snapshot import Columns

SlotArray = npt.NDArray[np.int64]


class UnitAttempt(NamedTuple):
    """One attempt to place a unit."""

    #: Number of members that must be placed.
    goal: int
    #: Index of each member, in the order of placement.
    order: Sequence[int]
    #: Slot of each member in this order, -1 for any; empty without an assignment.
    slots: Sequence[int] = ()


class GangOrders:
    """Creates the attempts of one unit, on a snapshot of the amounts."""

    def __init__(self, cluster: Cluster, feasible: Callable[[int], SlotArray]) -> None:
        """Use a cluster; ``feasible`` returns the slots that accept the pod of a row now."""
        #: Amounts, generations and versions by slot; the runtime updates them.
        self.columns = Columns(cluster.ledger)
        self._cluster = cluster
        self._feasible = feasible

    def of(
        self, request: PlacementRequest, unit: int, slots: npt.NDArray[np.int32]
    ) -> Iterator[UnitAttempt]:
        """The attempts of a unit; the caller stops at the first that succeeds.

        Args:
            request: the batch.
            unit: number of the unit in the batch.
            slots: int32[pod]: results for the earlier units.
        """
        start, stop = int(request.starts[unit]), int(request.starts[unit + 1])
        at_least, count = int(request.at_least[unit]), stop - start
        if (
            at_least <= 1
            or not len(request.class_ids)
            or not is_mixed(request.class_ids[start:stop])
        ):
            yield UnitAttempt(at_least, range(count))
            return
        for goal in dict.fromkeys((count, at_least)):
            for attempt in self._mixed(request, start, stop, slots, goal):
                yield UnitAttempt(goal, attempt.order, attempt.nodes)

    def _mixed(
        self,
        request: PlacementRequest,
        start: int,
        stop: int,
        slots: npt.NDArray[np.int32],
        goal: int,
    ) -> Iterator[Attempt]:
        kinds = kinds_of(request.class_ids[start:stop])
        columns = self.columns
        nodes = NodeAmounts(columns.free, columns.device_free, columns.device_kind)
        need, free = gang_amounts(self._cluster, kinds.ids, nodes)
        self._charge(request, start, slots, free)

        def problem() -> list[PackingProblem]:
            eligible = np.zeros((len(kinds.ids), len(free)), np.bool_)
            for k, members in enumerate(kinds.members):
                eligible[k, self._feasible(int(request.rows[start + members[0]]))] = True
            return [PackingProblem(free, need, eligible, kinds.counts)]

        # Pods of one class may differ here, so a search without result proves nothing.
        return attempts(kinds, goal, problem, (need, free), is_exact=False)

    def _charge(
        self,
        request: PlacementRequest,
        start: int,
        slots: npt.NDArray[np.int32],
        free: npt.NDArray[np.int64],
    ) -> None:
        """Subtract the pods that the batch has already placed."""
        placed = np.flatnonzero(slots[:start] >= 0)
        if not len(placed):
            return
        ids, which = np.unique(np.asarray(request.class_ids)[placed], return_inverse=True)
        width = len(self.columns.free)
        none = NodeAmounts(
            self.columns.free[:, :0], self.columns.device_free[:0], self.columns.device_kind[:0]
        )
        need = gang_amounts(self._cluster, ids.astype(np.int64), none)[0][:, :width]
        np.subtract.at(free[:, :width], slots[placed], need[which])
