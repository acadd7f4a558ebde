"""Input of a search for victims: requests and allowed nodes of a preemptor, and the limits."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from stretto.base.rng import Rng
from stretto.framework.compiled.one_node import Preemptor
from stretto.framework.engine.runtime import Runtime
from stretto.framework.kernels.numpy.victims import (
    BudgetSetArrays,
    VictimDemand,
    VictimIndex,
    VictimSearchLimits,
    budget_standing_of,
    set_arrays,
)
from stretto.framework.preemption.places import Mask
from stretto.state.cluster.cluster import Cluster
from stretto.state.rows.devices import MAX_DEVICES
from stretto.state.rows.pods import NO_SLOT
from stretto.state.victims.budgets import BudgetLedger
from stretto.state.victims.index import Victims
from stretto.state.victims.rules import CandidateSelection


class DemandReader:
    """Reads the arguments of a search from the snapshot of a shard and its victim index."""

    def __init__(self, runtime: Runtime, victims: Victims, budgets: BudgetLedger) -> None:
        """Read with the rules of a runtime's profile."""
        self._engine = runtime.engine
        self._cluster = runtime.engine.cluster
        self._victims = victims
        self._budgets = budgets
        self._random = Rng(0)
        self._sets = victims.sets, set_arrays(victims.sets)

    def wanted(self, preemptor: Preemptor, only: Mask | None = None) -> VictimDemand:
        """Requests of a preemptor, and the nodes to which static rules admit it.

        Args:
            preemptor: the pod.
            only: bool[slot]: the allowed nodes; ``None`` for all.
        """
        cluster, eligibility = self._cluster, self._engine.eligibility
        amounts = cluster.classes.requests_of(np.array([preemptor.class_id], np.int32))[0]
        columns = np.flatnonzero(amounts).astype(np.int32)
        pod = cluster.classes[preemptor.class_id]
        size = cluster.ledger.slots.size
        row = eligibility.filter_row(pod)
        admitted = eligibility.rows[row, :size] & cluster.ledger.slots.live
        if only is not None:
            admitted &= only[:size].astype(admitted.dtype)
        bands = self._victims.bands_below(preemptor.priority)
        return VictimDemand(columns, amounts[columns], preemptor.priority, bands, admitted)

    def limits(self, wanted: VictimDemand) -> VictimSearchLimits:
        """Search limits of the profile."""
        rules, size, left = (
            self._engine.profile.preemption,
            len(wanted.admitted),
            self._budgets.remaining,
        )
        arrays = self._arrays()
        standing = budget_standing_of(arrays, left, self._victims.most)
        all_of_them = VictimSearchLimits(
            left, self._victims.sets, arrays, standing, rules.hard_budgets
        )
        if rules.select is CandidateSelection.BEST or not size:
            return all_of_them
        return all_of_them._replace(
            offset=self._random.randint(0, size - 1),
            most=rules.candidates,
            from_band=wanted.bands - 1 if rules.select is CandidateSelection.RANDOM else 0,
        )

    def index(self) -> VictimIndex:
        """The victim index as the kernels read it."""
        victims = self._victims
        return VictimIndex(victims.entries, victims.sums, victims.requests, victims.largest)

    def _arrays(self) -> BudgetSetArrays:
        """Sets of budgets as arrays, rebuilt when the budgets change."""
        sets = self._victims.sets
        if self._sets[0] is not sets or len(self._sets[1].first) != len(sets) + 1:
            self._sets = sets, set_arrays(sets)
        return self._sets[1]


def with_enough_devices(
    cluster: Cluster, preemptor: Preemptor, wanted: VictimDemand, gone: Sequence[int] = ()
) -> VictimDemand:
    """Restrict a search to nodes whose devices may suffice without the pods of lower priority.

    The condition is necessary, not sufficient: a device counts as free if a pod of lower priority,
    or a row in ``gone``, uses a part of it.
    """
    requests = cluster.classes[preemptor.class_id].devices
    if not requests:
        return wanted
    table, pods, size = cluster.ledger.devices, cluster.pods, len(wanted.admitted)
    leaves = pods.priority[: pods.length] < preemptor.priority
    leaves[list(gone)] = True
    leaves &= (pods.devices[: pods.length] != 0) & (pods.slot[: pods.length] != NO_SLOT)
    rows = np.flatnonzero(leaves)
    freed: npt.NDArray[np.int64] = np.zeros(size, np.int64)
    np.bitwise_or.at(freed, pods.slot[rows], pods.devices[rows].astype(np.int64))
    leaving = freed[:, None] >> np.arange(MAX_DEVICES) & 1 != 0
    kinds, models = table.kind[:size], table.model[:size].astype(np.int64)
    admitted = wanted.admitted.copy()
    for request in requests:
        right = kinds == table.kind_number(request.kind)
        right &= table.model_mask(request.models) >> models & 1 != 0
        right &= leaving | (table.free[:size] >= request.milli)
        admitted &= np.count_nonzero(right, axis=1) >= request.count
    return wanted._replace(admitted=admitted)
