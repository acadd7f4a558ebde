"""Validates that claims satisfy the inter-pod rules on the current counts.

Two shards may each satisfy every rule on their own snapshots and together violate one. A plan that
was made on outdated counts is therefore validated again, claim by claim in order, each against all
claims accepted before it.
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
"""``recheck(table, state, class_ids, slots)``: number of claims before the first invalid one."""


class ClaimRecheck:
    """Validates claims against the inter-pod rules."""

    def __init__(
        self, tables: DomainTables, cluster: Cluster, recheck: Recheck | None = None
    ) -> None:
        """Use a separate view over the shared compilation; ``recheck`` is the compiled kernel."""
        self._view = DomainView(tables, cluster)
        self._cluster = cluster
        self._recheck = recheck if recheck is not None else recheck_numpy

    def stands(self, basis: tuple[int, int, int] | None) -> bool:
        """Return whether counts and nodes are unchanged since a plan was made."""
        self._cluster.domains.follow()
        return basis == self._cluster.domains_basis

    def hold(
        self,
        class_ids: npt.NDArray[np.int32],
        slots: npt.NDArray[np.int32],
        gone: Collection[int] = (),
    ) -> bool:
        """Return whether the claims hold together, in order, after the eviction of some rows."""
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
    """Count the claims before the first invalid one."""
    for done, (class_id, slot) in enumerate(zip(class_ids.tolist(), slots.tolist(), strict=True)):
        if is_judged(table, class_id) and not allows(table, state, class_id, slot):
            return done
        count(table, state, class_id, slot, 1)
    return len(slots)
