"""Finds the controller that recreates an evicted pod, possibly on another node."""

from collections.abc import Iterable
from typing import Final

import msgspec

from stretto.api.types.heads import NO_BYTES, decode_pod_head
from stretto.api.wire.kinds import POD
from stretto.api.wire.meta import OwnerReference
from stretto.state.rows.pods import Pods
from stretto.stores.store import Store

_OWNERS: Final = msgspec.json.Decoder(tuple[OwnerReference, ...])
_BY_NODE: Final = frozenset({"DaemonSet", "Node"})
"""Owner kinds whose next pod is bound to the same node."""


def recreating_owner(owners: Iterable[OwnerReference]) -> OwnerReference | None:
    """Return the controller among a pod's owners that recreates it on any node, or ``None``."""
    owner = next((each for each in owners if each.controller), None)
    return None if owner is None or owner.kind in _BY_NODE else owner


def owner_of(store: Store, pods: Pods, row: int) -> str:
    """``Kind/namespace/name`` of the controller that recreates a pod; empty without one."""
    record = store.get(POD, pods.namespace[row], pods.name[row])
    if record is None or record.uid != pods.uid[row]:
        return ""
    text = decode_pod_head(record.body).metadata.owner_references
    owners = _OWNERS.decode(text) if text is not NO_BYTES else ()
    maker = recreating_owner(owners)
    return f"{maker.kind}/{pods.namespace[row]}/{maker.name}" if maker is not None else ""
