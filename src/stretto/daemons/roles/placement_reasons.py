"""Annotations that explain an assumption: the Movement or the reservation behind it.

Gödel's binder reads both from the pod. It counts the pods that followed a Movement by
``movement-name``, and identifies the reservation of a pod by ``matched-reservation-placeholder``.
Both are part of the assumption, so they cost no extra write.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Final

from stretto.api.types.handover_annotations import PREFIX
from stretto.state.cluster.cluster import Cluster
from stretto.state.work.units import Units

MOVEMENT_NAME: Final = f"{PREFIX}movement-name"
MATCHED: Final = f"{PREFIX}matched-reservation-placeholder"
PLACEHOLDER: Final = "-placeholder"
"""Gödel's suffix for the placeholder of a deleted pod."""


class PlacementReasons:
    """Source of these annotations for pods that are about to be assumed."""

    def __init__(self, cluster: Cluster, units: Units) -> None:
        """Use the state of a shard."""
        self._cluster = cluster
        self._units = units

    def of(self, uid: str, node: str, named: Counter[str]) -> Mapping[str, str]:
        """Annotations of a pod that is assumed on a node.

        Args:
            uid: uid of the pod.
            node: its node.
            named: number of uses of each Movement in this batch; updated here.
        """
        cluster = self._cluster
        row = cluster.pods.row(uid) if cluster.movements or cluster.reservations.taken else None
        if row is None:
            return {}
        found = dict[str, str]()
        for place, pod_row in cluster.reservations.taken:
            if pod_row == row:
                found[MATCHED] = f"{'/'.join(place.was)}{PLACEHOLDER}"
        unit = self._units.of_row(row)
        owner = unit.key if unit is not None else ""
        for name, wanted in cluster.movements.items():
            key = f"{name}/{owner}/{node}"
            if named[key] < wanted.get(owner, []).count(node):
                named[key] += 1
                return {**found, MOVEMENT_NAME: name}
        return found
