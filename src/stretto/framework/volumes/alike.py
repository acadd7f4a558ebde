"""Pods that ask the same of volumes, answered together.

A controller's pods each name a claim of their own, but ask the same of it; and as long as their
claims wait, name no node, have nothing kept for them and no other user, where such a pod may go
depends on what it asks alone. Putting one of them somewhere only takes away from the others: a
volume that is free no longer, a place under a driver's limit. So a slot that was best for one among
too many is best for it among those that are left, if it is one of them; that is looked at slot by
slot.
"""

from collections import Counter
from collections.abc import Hashable
from typing import Final, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from stretto.api.types.storage import PersistentVolumeClaim
from stretto.framework.model.pod_facts import SchedulingFacts
from stretto.framework.model.snapshot import ParitySnapshot
from stretto.framework.volume_binder.claims import pvc_key, waits_for_consumer
from stretto.framework.volume_binder.limits import VolumeUsage
from stretto.framework.volume_binder.supply import STORAGE, VolumeSupplies
from stretto.framework.volume_binder.volumes import NOTHING_TO_DO, VolumeBinder, VolumeDecision
from stretto.state.objects import SELECTED_NODE, class_name

_FOREVER: Final = np.iinfo(np.int64).max


class UnboundPvcs(NamedTuple):
    """Claims of a pod that depend on what they ask alone."""

    #: Equal for pods that ask the same in the same order.
    asked: Hashable
    #: The claims, in the pod's order.
    claims: tuple[PersistentVolumeClaim, ...]


def fresh(
    pod: SchedulingFacts, snapshot: ParitySnapshot, supplies: VolumeSupplies
) -> UnboundPvcs | None:
    """A pod's claims where that is all its volumes are; ``None`` where it must be asked alone."""
    objects, users = snapshot.objects, snapshot.pvc_users
    asked: list[Hashable] = []
    claims: list[PersistentVolumeClaim] = []
    for volume in pod.pod.spec.volumes:
        if volume.persistent_volume_claim is None:
            if volume.ephemeral or volume.gce_persistent_disk or volume.aws_elastic_block_store:
                return None
            if volume.iscsi or volume.rbd:
                return None
            continue
        key = pod.namespace, volume.persistent_volume_claim.claim_name
        claim = objects.pvcs.get(key)
        if claim is None or key in users or supplies.is_reserved_for(key):
            return None
        spec, meta = claim.spec, claim.metadata
        if spec.volume_name or SELECTED_NODE in meta.annotations or meta.deletion_timestamp:
            return None
        if claim.status.phase == "Lost" or not waits_for_consumer(objects.class_of(claim)):
            return None
        selector = b"" if spec.selector is None else msgspec.json.encode(spec.selector)
        size, modes = spec.resources.requests.get(STORAGE), spec.access_modes
        kind = class_name(claim), spec.volume_mode, spec.volume_attributes_class_name
        asked.append((*kind, size, modes, selector))
        claims.append(claim)
    if len(claims) > 1 and len(set(map(pvc_key, claims))) < len(claims):
        return None
    return UnboundPvcs(tuple(asked), tuple(claims))


def capacity_within_limits(usage: VolumeUsage, new: Counter[str]) -> npt.NDArray[np.int64] | None:
    """int64[n]: how many pods with so many volumes of each driver a node takes; ``None``: any.

    Args:
        usage: what is there, up to date.
        new: volumes of one pod by driver, none of which is anywhere yet.
    """
    found = None
    for driver, many in new.items():
        limits = usage.limits.get(driver)
        if limits is None or not many:
            continue
        left = np.where(limits >= 0, (limits - usage.counts.get(driver, 0)) // many, _FOREVER)
        found = left if found is None else np.minimum(found, left)
    return found


class AlikePods:
    """The pods of one run, each looked at on the slot that it was given."""

    def __init__(self, binder: VolumeBinder | None, room: npt.NDArray[np.int64] | None) -> None:
        """Begin with what holds for the first of them."""
        self._binder = binder
        self._room = room
        self._came: Counter[int] = Counter()

    def find(self, claims: tuple[PersistentVolumeClaim, ...], node: int) -> VolumeDecision | None:
        """What the next pod gets on a node; ``None`` where it may not go there any more."""
        if self._room is not None and self._came[node] >= self._room[node]:
            return None
        found = NOTHING_TO_DO
        if self._binder is not None:
            found = self._binder.find_for(claims, node)
            if found.reasons or found.error:
                return None
        self._came[node] += 1
        return found
