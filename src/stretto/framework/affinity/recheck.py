"""The referee: whether claims still hold between pods, on the counts as they are now.

Two shards may each keep every rule on their own snapshots and break one together. So a plan that
was made on other counts than today's is looked at again, claim by claim in its order, each against
all that was granted before it.
"""

from collections.abc import Callable, Collection
from typing import Any

import numpy as np
import numpy.typing as npt

from stretto.base.arrays import distinct
from stretto.framework.affinity.compile import DomainTables
from stretto.framework.affinity.counts import DomainView
from stretto.framework.compiled.affinity import allows, count, is_judged
from stretto.state.cluster.cluster import Cluster

Recheck = Callable[..., Any]
"""``recheck(table, state, class_ids, slots)``: claims that hold, counted, up to the first that
does not."""


class ClaimRecheck:
    """Judges claims between pods."""

    def __init__(
        self, tables: DomainTables, cluster: Cluster, recheck: Recheck | None = None
    ) -> None:
        """Over what the shards share, with a view of its own; ``recheck`` is the compiled form."""
        self._view = DomainView(tables, cluster)
        self._cluster = cluster
        self._recheck = recheck if recheck is not None else recheck_numpy

    def stands(self, basis: tuple[int, int, int] | None) -> bool:
        """Whether counts and nodes are what they were when a plan was made."""
        self._cluster.domains.follow()
        return basis == self._cluster.domains_basis

    def hold(
        self,
        class_ids: npt.NDArray[np.int32],
        slots: npt.NDArray[np.int32],
        gone: Collection[int] = (),
    ) -> bool:
        """Whether claims hold together, in order, once some rows have gone."""
        view = self._view
        view.sync()
        view.ready(distinct(class_ids))
        with view.without(gone):
            done = int(self._recheck(view.table, view.state, class_ids, slots))
        view.placed(class_ids[:done], slots[:done])
        return done == len(slots)


def recheck_numpy(
    table: Any, state: Any, class_ids: npt.NDArray[np.int32], slots: npt.NDArray[np.int32]
) -> int:
    """How many claims hold before the first that does not; those are counted."""
    for done, (class_id, slot) in enumerate(zip(class_ids.tolist(), slots.tolist(), strict=True)):
        if is_judged(table, class_id) and not allows(table, state, class_id, slot):
            return done
        count(table, state, class_id, slot, 1)
    return len(slots)
