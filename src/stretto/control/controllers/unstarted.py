"""Reads pods that no kubelet has accepted and that a controller recreates on any node."""

from typing import Final

import msgspec

from stretto.api.wire.kinds import POD
from stretto.api.wire.meta import OwnerReference
from stretto.control.controllers.owners import recreating_owner
from stretto.state.cluster.cluster import Cluster
from stretto.stores.store import Record, Store


class _EvictableMeta(msgspec.Struct, frozen=True, rename="camel"):
    """The owners of a pod."""

    #: Owner references of the pod.
    owner_references: tuple[OwnerReference, ...] = ()


class _EvictableSpec(msgspec.Struct, frozen=True, rename="camel"):
    """The scheduler of the pod."""

    #: Value of ``schedulerName``.
    scheduler_name: str = ""


class _EvictableStatus(msgspec.Struct, frozen=True, rename="camel"):
    """The status of the pod."""

    #: Phase; empty means pending.
    phase: str = ""
    #: Time at which a kubelet accepted the pod.
    start_time: str | None = None


class _EvictablePod(msgspec.Struct, frozen=True):
    """The fields that determine whether a pod may be evicted."""

    #: Metadata.
    metadata: _EvictableMeta = _EvictableMeta()
    #: The scheduler of the pod.
    spec: _EvictableSpec = _EvictableSpec()
    #: The status of the pod.
    status: _EvictableStatus = _EvictableStatus()


_DECODER: Final = msgspec.json.Decoder(_EvictablePod)


def unstarted_pod(store: Store, cluster: Cluster, row: int) -> Record | None:
    """Record of a pod of this scheduler that does not run and is recreated on any node."""
    pods = cluster.pods
    record = store.get(POD, pods.namespace[row], pods.name[row])
    if record is None or record.uid != pods.uid[row]:
        return None
    pod = _DECODER.decode(record.body)
    begun = pod.status.phase not in ("", "Pending") or pod.status.start_time
    ours = pod.spec.scheduler_name in cluster.config.scheduler_names
    is_recreated = recreating_owner(pod.metadata.owner_references) is not None
    return record if ours and is_recreated and not begun else None
