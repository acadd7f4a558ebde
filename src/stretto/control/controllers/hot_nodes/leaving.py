"""The pods that may leave hot nodes, in order.

The order is that of Koordinator: the lowest priority first, then the best effect on the resources
above their threshold, then the youngest. The use of a pod is its part of the last measurement; a
pod that no measurement includes stays, and so does one that does not use the hot resources.
"""

import numpy as np
import numpy.typing as npt

from stretto.control.controllers.hot_nodes.loads import Amounts, NodeLoads, Slots
from stretto.framework.profile.capacity.hot_nodes import HotNodeRules
from stretto.state.cluster.cluster import Cluster
from stretto.state.rows.lifecycle import PodState


class LeavingPods:
    """The pods of some hot nodes of a pool."""

    def __init__(self, cluster: Cluster, rules: HotNodeRules, loads: NodeLoads, hot: Slots) -> None:
        """Collect the pods of hot nodes.

        Args:
            cluster: the cluster.
            rules: which pods may be moved.
            loads: loads of the pool.
            hot: int64[j]: positions of the hot nodes in ``loads``.
        """
        self._cluster, self._loads = cluster, loads
        pods, slots = cluster.pods, loads.slots[hot]
        place = np.full(cluster.nodes.size + 1, -1, np.int64)  # the last entry is that of no slot
        place[slots] = hot
        of = place[pods.slot[: pods.length]]
        rows = np.flatnonzero(of >= 0)
        state = pods.state[rows] == PodState.BOUND
        rows = rows[state & (pods.eviction_state[rows] == 0)]
        rows = rows[_movable_tags(cluster, rules)[pods.tag[rows]]]
        self._rows = rows[np.argsort(of[rows], kind="stable")]
        self._places = of[self._rows]

    def of(self, place: int) -> list[tuple[int, Amounts]]:
        """Rows of a node with their use, in the order in which they leave."""
        first, end = np.searchsorted(self._places, [place, place + 1])
        rows, pods, loads = self._rows[first:end], self._cluster.pods, self._loads
        use = self._cluster.nodes.reports.pods.use_of(rows).astype(np.float64)
        use[:, 0] *= loads.speeds[place]
        worth = effects(use, loads.used[place] - loads.high[place], loads.weights)
        order = np.lexsort((-pods.serial[rows], -worth, pods.priority[rows]))
        return [(int(rows[i]), use[i]) for i in order.tolist() if worth[i] > 0]


def effects(use: Amounts, excess: Amounts, weights: Slots) -> Amounts:
    """float64[k]: effect of the end of a pod on the excess of its node.

    It is best for a pod that uses just the excess. A pod with use x times the excess of a resource
    counts x for it, or 1 + 1 / x if x is at least 1. 0 or less for a pod without effect.

    Args:
        use: float64[k, resource]: use of the pods.
        excess: float64[resource]: use of the node above its thresholds.
        weights: int64[resource].
    """
    over = excess > 0
    part = use[:, over] / excess[over]
    with np.errstate(divide="ignore"):
        worth = np.where(part >= 1, 1 + 1 / part, part)
    found: Amounts = (worth * weights[over]).sum(axis=1) / max(weights[over].sum(), 1)
    return found


def _movable_tags(cluster: Cluster, rules: HotNodeRules) -> npt.NDArray[np.bool_]:
    """bool[tag]: tags of the pods that namespaces and selectors allow to move."""
    tags, chosen = cluster.domains.tags, rules.namespaces
    found = np.ones(len(tags), np.bool_)
    if chosen.include:
        found &= tags.within(chosen.include)
    if chosen.exclude:
        found &= ~tags.within(chosen.exclude)
    selectors = rules.selectors()
    if selectors:
        found &= np.any([tags.matching(selector) for selector in selectors], axis=0)
    return found
