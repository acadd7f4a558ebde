"""Places pods with equal PVC requirements together.

The pods of a controller have separate PVCs with equal requirements. While the PVCs are unbound,
name no node, have no reserved volume and no other user, the feasible nodes of such a pod depend on
these requirements alone. Each placement only reduces the supply for the others: a free volume, or a
place under the limit of a driver. Therefore the best slot of all stays the best of the remaining
ones while it is feasible, which is checked slot by slot.
"""

from collections import Counter
from collections.abc import Hashable
from typing import NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from stretto.api.types.storage import SELECTED_NODE, STORAGE, PersistentVolumeClaim, class_name
from stretto.framework.model.pod_facts import SchedulingFacts
from stretto.framework.model.snapshot import ParitySnapshot
from stretto.framework.volume_binder.pvcs import pvc_key, waits_for_consumer
from stretto.framework.volume_binder.supply import supplies_of
from stretto.framework.volume_binder.volumes import NOTHING_TO_DO, VolumeBinder, VolumeDecision


class UnboundPvcs(NamedTuple):
    """PVCs of a pod whose volumes depend only on their requirements."""

    #: Key that is equal for pods with the same requirements in the same order.
    requested: Hashable
    #: The PVCs, in the pod's order.
    pvcs: tuple[PersistentVolumeClaim, ...]


def fresh(pod: SchedulingFacts, snapshot: ParitySnapshot) -> UnboundPvcs | None:
    """Return the unbound PVCs of a pod without other volumes.

    ``None`` if a full evaluation is needed.
    """
    objects, users, supplies = snapshot.objects, snapshot.pvc_users, supplies_of(snapshot)
    requested: list[Hashable] = []
    pvcs: list[PersistentVolumeClaim] = []
    for volume in pod.pod.spec.volumes:
        if volume.persistent_volume_claim is None:
            if volume.ephemeral or volume.gce_persistent_disk or volume.aws_elastic_block_store:
                return None
            if volume.iscsi or volume.rbd:
                return None
            continue
        key = pod.namespace, volume.persistent_volume_claim.claim_name
        pvc = objects.pvcs.get(key)
        if pvc is None or key in users or supplies.is_reserved_for(key):
            return None
        spec, meta = pvc.spec, pvc.metadata
        if spec.volume_name or SELECTED_NODE in meta.annotations or meta.deletion_timestamp:
            return None
        if pvc.status.phase == "Lost" or not waits_for_consumer(objects.class_of(pvc)):
            return None
        selector = b"" if spec.selector is None else msgspec.json.encode(spec.selector)
        size, modes = spec.resources.requests.get(STORAGE), spec.access_modes
        kind = class_name(pvc), spec.volume_mode, spec.volume_attributes_class_name
        requested.append((*kind, size, modes, selector))
        pvcs.append(pvc)
    if len(pvcs) > 1 and len(set(map(pvc_key, pvcs))) < len(pvcs):
        return None
    return UnboundPvcs(tuple(requested), tuple(pvcs))


class AlikePods:
    """The pods of one run, each checked on its assigned slot."""

    def __init__(self, binder: VolumeBinder | None, capacity: npt.NDArray[np.int64] | None) -> None:
        """Start with the results of the first pod."""
        self._binder = binder
        self._limits = capacity
        self._came: Counter[int] = Counter()

    def find(self, pvcs: tuple[PersistentVolumeClaim, ...], node: int) -> VolumeDecision | None:
        """Return the volumes of the next pod on a node.

        ``None`` if the node no longer accepts it.
        """
        if self._limits is not None and self._came[node] >= self._limits[node]:
            return None
        found = NOTHING_TO_DO
        if self._binder is not None:
            found = self._binder.find_for(pvcs, node)
            if found.reasons or found.error:
                return None
        self._came[node] += 1
        return found
