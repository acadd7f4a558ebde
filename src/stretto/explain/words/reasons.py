"""Stable codes for why a pod is pending: programs match on codes, people read sentences.

The order of ``TIERS`` is the order of dominance: the first code that holds for a pod is its
dominant reason, because resolving a later one does not help while an earlier one holds. A tier
groups codes by what must change.
"""

from collections.abc import Mapping
from enum import Enum
from typing import Final

import msgspec


class ReasonTier(Enum):
    """Change that is needed before the pod can be scheduled."""

    #: The pod, its group or a name in it is wrong: only an edit helps.
    MISCONFIGURED = "misconfigured"
    #: Rules about nodes exclude every node that would otherwise fit: its selector, taints or
    #: cordons.
    NOT_ALLOWED = "not allowed"
    #: No node is large enough, even empty.
    NEVER_FITS = "never fits"
    #: A queue has reached a limit.
    QUOTA = "quota"
    #: The pod fits, but not together with the rest of its gang.
    GANG_SHORT = "gang short"
    #: The pod was placed, but its claim was refused.
    CONFLICT = "conflict"
    #: The pod is in back-off after failed attempts.
    BACK_OFF = "back-off"
    #: The pod waits for capacity, for its position in the queue or for an external action.
    WAITING = "waiting"


class ReasonCode(Enum):
    """One reason. A code never changes its meaning and is never reused."""

    #: The object cannot be decoded.
    UNREADABLE = "unreadable"
    #: The pod names another scheduler.
    OTHER_SCHEDULER = "other-scheduler"
    #: The pod has finished and needs no node.
    ENDED = "ended"
    #: The pod is bound to a node that does not exist.
    NO_SUCH_NODE = "no-such-node"
    #: The pod names a PodGroup that does not exist.
    UNKNOWN_GROUP = "unknown-group"
    #: The pod names a PodGroup that cannot be decoded.
    UNREADABLE_GROUP = "unreadable-group"
    #: The pod requests a resource that no node offers.
    UNKNOWN_RESOURCE = "unknown-resource"
    #: The pod requests device models that no node has.
    UNKNOWN_MODEL = "unknown-model"
    #: The pod uses dynamic resource claims, which Stretto does not allocate.
    DYNAMIC_CLAIMS = "dynamic-claims"
    #: A PVC, volume or storage class that the pod uses is missing, lost or unusable.
    VOLUME_CLAIMS = "volume-claims"
    #: A scheduling gate is set.
    GATED = "gated"
    #: The cluster has no nodes.
    NO_NODES = "no-nodes"
    #: Node rules (selector, affinity, taints, cordons) exclude every node.
    NOT_ALLOWED = "not-allowed"
    #: Volume constraints exclude every node.
    VOLUMES = "volumes"
    #: Inter-pod affinity, anti-affinity or topology spread excludes every node.
    OTHER_PODS = "other-pods"
    #: Host ports of the pod are used on every node that would otherwise fit.
    PORTS = "ports"
    #: Every eligible node is too small, even empty.
    TOO_BIG = "too-big"
    #: All nodes together, empty, are too small for the gang.
    GANG_TOO_BIG = "gang-too-big"
    #: Fewer than minMember pods of the gang exist.
    GANG_INCOMPLETE = "gang-incomplete"
    #: The gang has timed out.
    GANG_TIMED_OUT = "gang-timed-out"
    #: A limit of the pod's queue or of an ancestor queue is reached.
    QUEUE_LIMIT = "queue-limit"
    #: The nodes that are large enough are full.
    NO_CAPACITY = "no-capacity"
    #: The pod fits, but its gang does not.
    GANG_SHORT = "gang-short"
    #: The placement claim was refused: the node changed, or the store rejected the bind.
    CONFLICT = "conflict"
    #: The pod is in back-off after failed attempts.
    BACK_OFF = "back-off"
    #: A shard is placing the pod, or its bind is in flight.
    IN_HAND = "in-hand"
    #: Capacity is reserved for a unit before it (backfill).
    RESERVED = "reserved"
    #: The pod fits now and is queued.
    QUEUED = "queued"


TIERS: Final[Mapping[ReasonCode, ReasonTier]] = {
    ReasonCode.UNREADABLE: ReasonTier.MISCONFIGURED,
    ReasonCode.OTHER_SCHEDULER: ReasonTier.MISCONFIGURED,
    ReasonCode.ENDED: ReasonTier.WAITING,
    ReasonCode.NO_SUCH_NODE: ReasonTier.MISCONFIGURED,
    ReasonCode.UNKNOWN_GROUP: ReasonTier.MISCONFIGURED,
    ReasonCode.UNREADABLE_GROUP: ReasonTier.MISCONFIGURED,
    ReasonCode.UNKNOWN_RESOURCE: ReasonTier.MISCONFIGURED,
    ReasonCode.UNKNOWN_MODEL: ReasonTier.MISCONFIGURED,
    ReasonCode.DYNAMIC_CLAIMS: ReasonTier.MISCONFIGURED,
    ReasonCode.VOLUME_CLAIMS: ReasonTier.MISCONFIGURED,
    ReasonCode.GATED: ReasonTier.WAITING,
    ReasonCode.NO_NODES: ReasonTier.WAITING,
    ReasonCode.NOT_ALLOWED: ReasonTier.NOT_ALLOWED,
    ReasonCode.VOLUMES: ReasonTier.WAITING,
    ReasonCode.OTHER_PODS: ReasonTier.WAITING,
    ReasonCode.PORTS: ReasonTier.WAITING,
    ReasonCode.TOO_BIG: ReasonTier.NEVER_FITS,
    ReasonCode.GANG_TOO_BIG: ReasonTier.NEVER_FITS,
    ReasonCode.GANG_INCOMPLETE: ReasonTier.GANG_SHORT,
    ReasonCode.GANG_TIMED_OUT: ReasonTier.GANG_SHORT,
    ReasonCode.QUEUE_LIMIT: ReasonTier.QUOTA,
    ReasonCode.NO_CAPACITY: ReasonTier.WAITING,
    ReasonCode.GANG_SHORT: ReasonTier.GANG_SHORT,
    ReasonCode.CONFLICT: ReasonTier.CONFLICT,
    ReasonCode.BACK_OFF: ReasonTier.BACK_OFF,
    ReasonCode.IN_HAND: ReasonTier.WAITING,
    ReasonCode.RESERVED: ReasonTier.WAITING,
    ReasonCode.QUEUED: ReasonTier.WAITING,
}
"""Every code with its tier, in order of dominance."""

_RANK: Final = {code: rank for rank, code in enumerate(TIERS)}


class Reason(msgspec.Struct, frozen=True):
    """One reason why a pod is pending, with its sentence."""

    #: Stable code for programs.
    code: ReasonCode
    #: Tier of the code.
    tier: ReasonTier
    #: Full sentence for people, with names and figures.
    sentence: str


def reason(code: ReasonCode, sentence: str) -> Reason:
    """Build a reason; the tier follows from the code."""
    return Reason(code, TIERS[code], sentence)


def sort_reasons(reasons: list[Reason]) -> tuple[Reason, ...]:
    """Sort reasons by dominance."""
    return tuple(sorted(reasons, key=lambda each: _RANK[each.code]))
