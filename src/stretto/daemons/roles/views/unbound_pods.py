"""Pods without a node, as a role tracks them."""

import msgspec

from stretto.api.types.handover_annotations import HandoverState, standing_of
from stretto.api.types.heads import PodHead, decode_pod_head
from stretto.base.errors import InputError
from stretto.stores.store import (
    Record,
)


class UnboundPod(msgspec.Struct):
    """A pod without a node that names this scheduler."""

    #: Its state in the hand-over protocol.
    standing: HandoverState
    #: Namespace, name, uid and the store's own version.
    record: Record
    #: Shown state: ``None`` for hidden, "" for pending, or its node.
    shown: str | None = None
    #: End of its back-off as clock time; 0 for none.
    until: float = 0.0
    #: Start of its back-off as clock time.
    since: float = 0.0
    #: Number of returns to the role.
    returns: int = 0
    #: Clock time before which the dispatcher does not try again to take the pod back.
    again_at: float = 0.0


def read_unbound(record: Record, head: PodHead | None, names: frozenset[str]) -> UnboundPod | None:
    """A pod without a node, by its annotations; ``None`` for pods of other schedulers."""
    try:
        head = head if head is not None else decode_pod_head(record.body)
    except InputError:
        return None
    if head.spec.node_name or head.spec.scheduler_name not in names:
        return None
    return UnboundPod(standing_of(head.metadata), record)
