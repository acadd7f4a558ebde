"""Why a pod waits, as stable codes: what programs match on while sentences get better.

The table's order is the order of dominance: of all codes that hold for a pod the first is *the*
reason, because curing a later one would not help while an earlier one stands. Tiers say what sort
of thing must change, and by whom.
"""

from collections.abc import Mapping
from enum import Enum
from typing import Final

import msgspec


class ReasonTier(Enum):
    """What sort of thing stands in the way."""

    #: The pod, its group or its names are wrong: nothing but an edit helps.
    MISCONFIGURED = "misconfigured"
    #: No node could hold it even if it were empty.
    NEVER_FITS = "never fits"
    #: A queue's limit is reached.
    QUOTA = "quota"
    #: It fits alone, but not together with those that must start with it.
    GANG_SHORT = "gang short"
    #: It was placed, and somebody else was faster.
    CONFLICT = "conflict"
    #: It waits out a delay after a failure.
    BACK_OFF = "back-off"
    #: It waits for room, for its turn, or for somebody's permission.
    WAITING = "waiting"


class ReasonCode(Enum):
    """One reason. Codes never change their meaning and are never used again."""

    #: The object cannot be read.
    UNREADABLE = "unreadable"
    #: It asks for another scheduler.
    OTHER_SCHEDULER = "other-scheduler"
    #: It has run to its end and needs no node any more.
    ENDED = "ended"
    #: It names a PodGroup that does not exist.
    UNKNOWN_GROUP = "unknown-group"
    #: It names a PodGroup that cannot be read.
    UNREADABLE_GROUP = "unreadable-group"
    #: It asks for a resource that no node offers.
    UNKNOWN_RESOURCE = "unknown-resource"
    #: It asks for device models that no node has.
    UNKNOWN_MODEL = "unknown-model"
    #: It asks for dynamic resource claims, which nobody here allocates.
    DYNAMIC_CLAIMS = "dynamic-claims"
    #: A claim, volume or storage class that it names is missing, lost or unusable.
    VOLUME_CLAIMS = "volume-claims"
    #: A scheduling gate holds it.
    GATED = "gated"
    #: There is no node at all.
    NO_NODES = "no-nodes"
    #: Rules on nodes (selector, affinity, taints, cordons) leave none.
    NOT_ALLOWED = "not-allowed"
    #: Its volumes leave no node: no node reaches, finds or may take them.
    VOLUMES = "volumes"
    #: Rules between pods (affinity, anti-affinity, spreading) leave no node now.
    OTHER_PODS = "other-pods"
    #: Every node that is allowed is too small, even empty.
    TOO_BIG = "too-big"
    #: All nodes together could not hold its gang, even empty.
    GANG_TOO_BIG = "gang-too-big"
    #: Fewer pods of its gang exist than must start together.
    GANG_INCOMPLETE = "gang-incomplete"
    #: Its gang was given up: it took too long.
    GANG_TIMED_OUT = "gang-timed-out"
    #: A limit of its queue, or of one that its queue is part of, is reached.
    QUEUE_LIMIT = "queue-limit"
    #: Nodes that could hold it are full now.
    NO_ROOM = "no-room"
    #: It fits, but not all of its gang do.
    GANG_SHORT = "gang-short"
    #: Its claim was refused, because the node had changed or the store said no.
    CONFLICT = "conflict"
    #: It waits out a delay after failed attempts.
    BACK_OFF = "back-off"
    #: A shard has it, or its bind is on the way.
    IN_HAND = "in-hand"
    #: It fits now and waits for its turn.
    QUEUED = "queued"


TIERS: Final[Mapping[ReasonCode, ReasonTier]] = {
    ReasonCode.UNREADABLE: ReasonTier.MISCONFIGURED,
    ReasonCode.OTHER_SCHEDULER: ReasonTier.MISCONFIGURED,
    ReasonCode.ENDED: ReasonTier.WAITING,
    ReasonCode.UNKNOWN_GROUP: ReasonTier.MISCONFIGURED,
    ReasonCode.UNREADABLE_GROUP: ReasonTier.MISCONFIGURED,
    ReasonCode.UNKNOWN_RESOURCE: ReasonTier.MISCONFIGURED,
    ReasonCode.UNKNOWN_MODEL: ReasonTier.MISCONFIGURED,
    ReasonCode.DYNAMIC_CLAIMS: ReasonTier.MISCONFIGURED,
    ReasonCode.VOLUME_CLAIMS: ReasonTier.MISCONFIGURED,
    ReasonCode.GATED: ReasonTier.WAITING,
    ReasonCode.NO_NODES: ReasonTier.WAITING,
    ReasonCode.NOT_ALLOWED: ReasonTier.NEVER_FITS,
    ReasonCode.VOLUMES: ReasonTier.WAITING,
    ReasonCode.OTHER_PODS: ReasonTier.WAITING,
    ReasonCode.TOO_BIG: ReasonTier.NEVER_FITS,
    ReasonCode.GANG_TOO_BIG: ReasonTier.NEVER_FITS,
    ReasonCode.GANG_INCOMPLETE: ReasonTier.GANG_SHORT,
    ReasonCode.GANG_TIMED_OUT: ReasonTier.GANG_SHORT,
    ReasonCode.QUEUE_LIMIT: ReasonTier.QUOTA,
    ReasonCode.NO_ROOM: ReasonTier.WAITING,
    ReasonCode.GANG_SHORT: ReasonTier.GANG_SHORT,
    ReasonCode.CONFLICT: ReasonTier.CONFLICT,
    ReasonCode.BACK_OFF: ReasonTier.BACK_OFF,
    ReasonCode.IN_HAND: ReasonTier.WAITING,
    ReasonCode.QUEUED: ReasonTier.WAITING,
}
"""Every code with its tier, the dominant ones first."""

_RANK: Final = {code: rank for rank, code in enumerate(TIERS)}


class Reason(msgspec.Struct, frozen=True):
    """One reason why a pod waits, in words."""

    #: Stable code, for programs.
    code: ReasonCode
    #: What sort of thing must change.
    tier: ReasonTier
    #: For people: a whole sentence with names and figures.
    sentence: str


def reason(code: ReasonCode, sentence: str) -> Reason:
    """A reason with the tier of its code."""
    return Reason(code, TIERS[code], sentence)


def sort_reasons(reasons: list[Reason]) -> tuple[Reason, ...]:
    """Reasons with the dominant one first."""
    return tuple(sorted(reasons, key=lambda each: _RANK[each.code]))
