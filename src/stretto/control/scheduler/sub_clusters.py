"""The sub-clusters of a cluster: the sub-cluster that a unit names, and the nodes of each."""

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from stretto.framework.plugins.sub_cluster import SubClusterRule
from stretto.framework.profile.profile import Profile
from stretto.state.cluster.cluster import Cluster
from stretto.state.rows.slots import BLOCK
from stretto.state.work.units import Dispatch

EVERYTHING: Final = ""
"""Name of the default loop, which covers every node."""


class SubClusters:
    """The sub-clusters of one cluster, by the profile's rule."""

    def __init__(self, cluster: Cluster, rule: SubClusterRule) -> None:
        """Distinguish sub-clusters by the label key of the rule."""
        self._cluster = cluster
        self._rule = rule

    @property
    def recycle_after(self) -> float:
        """Seconds of idle time after which a loop is removed."""
        return self._rule.recycle_after

    def of_class(self, class_id: int) -> str:
        """The sub-cluster that the pods of a class name; empty for none."""
        return self._rule.named(self._cluster.classes[class_id])

    def of_rows(self, rows: Sequence[int]) -> str:
        """The sub-cluster that all these pods name; empty if they differ or name none."""
        names = {self.of_class(each) for each in np.unique(self._classes(rows)).tolist()}
        return names.pop() if len(names) == 1 else EVERYTHING

    def of_work(self, work: Sequence[Dispatch]) -> list[str]:
        """The sub-cluster of each unit.

        No unit may pass the failed head of a blocking queue, so the units of such a queue stay
        together: if they name several sub-clusters, all go to the default loop.
        """
        classes = self._classes([row for dispatch in work for row in dispatch.rows])
        distinct, places = np.unique(classes, return_inverse=True)
        named = [self.of_class(each) for each in distinct.tolist()]
        if len(set(named)) < 2:
            return named[:1] * len(work)
        each, found, at = [named[place] for place in places.tolist()], list[str](), 0
        for dispatch in work:
            mine = set(each[at : at + len(dispatch.rows)])
            found.append(mine.pop() if len(mine) == 1 else EVERYTHING)
            at += len(dispatch.rows)
        return _shared_names(work, found)

    def has_nodes(self, name: str) -> bool:
        """Return whether any node belongs to a sub-cluster."""
        known = self._cluster.nodes.labels.pair_id(self._rule.key, name) >= 0
        return known and bool(self.slots(name).any())

    def blocks(self, name: str) -> npt.NDArray[np.bool_]:
        """bool[block]: blocks with nodes of a sub-cluster."""
        by_block = self.slots(name).reshape(-1, BLOCK)
        of_block: npt.NDArray[np.bool_] = np.any(by_block, axis=1)
        return of_block

    def slots(self, name: str) -> npt.NDArray[np.bool_]:
        """bool[slot]: the nodes of a sub-cluster."""
        labels, slots = self._cluster.nodes.labels, self._cluster.ledger.slots
        mine: npt.NDArray[np.bool_] = np.zeros(slots.blocks * BLOCK, np.bool_)
        column = labels.column(self._rule.key)
        mine[: len(column)] = column == labels.pair_id(self._rule.key, name)
        return mine

    def _classes(self, rows: Sequence[int]) -> npt.NDArray[np.int32]:
        return self._cluster.pods.class_id[np.array(rows, np.int64)]


def sub_clusters_of(profile: Profile, cluster: Cluster) -> SubClusters | None:
    """The sub-clusters of a cluster; ``None`` if the profile has no such rule."""
    rule = profile.sub_cluster
    return SubClusters(cluster, rule) if rule is not None else None


def _shared_names(work: Sequence[Dispatch], names: list[str]) -> list[str]:
    """Names by unit; units of a blocking queue that name several go to the default loop."""
    of_queue: dict[str, set[str]] = {}
    for dispatch, name in zip(work, names, strict=True):
        if dispatch.blocking:
            of_queue.setdefault(dispatch.unit.queue, set()).add(name)
    split = {queue for queue, named in of_queue.items() if len(named) > 1}
    if not split:
        return names
    return [
        EVERYTHING if dispatch.blocking and dispatch.unit.queue in split else name
        for dispatch, name in zip(work, names, strict=True)
    ]
