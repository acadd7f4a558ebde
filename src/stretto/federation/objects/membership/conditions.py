"""The conditions of a FederatedCluster: joined, offline, ready.

Types, statuses and reasons are those of KubeAdmiral. A condition of a healthy cluster also has
KubeAdmiral's message; a condition of a fault adds the remedy.
"""

from collections.abc import Iterable
from enum import StrEnum
from typing import Final, NamedTuple

from stretto.federation.connection.protocol import MemberAnswer, MemberProbe
from stretto.reconcile.cache import Fields
from stretto.reconcile.conditions import transition_time


class ConditionType(StrEnum):
    """Types of conditions."""

    #: The federation has credentials of the cluster and writes to it.
    JOINED = "Joined"
    #: The API server does not answer.
    OFFLINE = "Offline"
    #: The API server answers and is healthy.
    READY = "Ready"


class ConditionReason(StrEnum):
    """Reasons of conditions."""

    #: The cluster has joined.
    JOINED = "ClusterJoined"
    #: An attempt to join failed; it is repeated.
    FAILED = "TokenNotObtained"
    #: The member belongs to another federation or to another cluster object.
    UNJOINABLE = "ClusterUnjoinable"
    #: No further attempt to join follows.
    TIMED_OUT = "JoinTimeoutExceeded"
    #: The cluster waits to leave.
    LEAVING = "ClusterLeaving"
    #: The API server answers.
    REACHABLE = "ClusterReachable"
    #: The API server does not answer.
    NOT_REACHABLE = "ClusterNotReachable"
    #: The API server is healthy.
    READY = "ClusterReady"
    #: The API server reports that it is not healthy.
    NOT_HEALTHY = "HealthzNotOk"
    #: The API server refuses the credentials.
    REFUSED = "CredentialsRefused"


class ClusterCondition(NamedTuple):
    """One condition."""

    #: Its type.
    type: ConditionType
    #: ``True``, ``False`` or ``Unknown``.
    status: str
    #: Reason of the status.
    reason: ConditionReason
    #: The reason as a sentence, with the remedy for a fault.
    message: str


JOINED: Final = ClusterCondition(
    ConditionType.JOINED, "True", ConditionReason.JOINED, "cluster has joined the federation"
)
"""The cluster has joined."""
UNJOINABLE: Final = ClusterCondition(
    ConditionType.JOINED,
    "False",
    ConditionReason.UNJOINABLE,
    "Cluster is unjoinable (check if cluster is already joined to another federation)",
)
"""The member belongs to another cluster object and must leave that federation first."""
FINAL: Final = frozenset({ConditionReason.UNJOINABLE, ConditionReason.TIMED_OUT})
"""Reasons that end the attempts to join."""

_ONLINE: Final = ClusterCondition(
    ConditionType.OFFLINE, "False", ConditionReason.REACHABLE, "Cluster is reachable"
)
_READY: Final = ClusterCondition(
    ConditionType.READY, "True", ConditionReason.READY, "Cluster is ready"
)
_GONE: Final = "Cluster is not reachable"
_TIMED_OUT: Final = "Timeout exceeded when joining the federation, message from last attempt: "


def join_failed(message: str) -> ClusterCondition:
    """Condition after a failed attempt to join."""
    return ClusterCondition(ConditionType.JOINED, "False", ConditionReason.FAILED, message)


def join_timed_out(message: str) -> ClusterCondition:
    """Condition after the last attempt to join, with the message of this attempt."""
    hint = "; delete the FederatedCluster and create it again to retry"
    return ClusterCondition(
        ConditionType.JOINED, "False", ConditionReason.TIMED_OUT, f"{_TIMED_OUT}{message}{hint}"
    )


def leave_blocked(message: str) -> ClusterCondition:
    """Condition of a cluster that cannot leave yet."""
    return ClusterCondition(ConditionType.JOINED, "True", ConditionReason.LEAVING, message)


def refused(message: str) -> tuple[ClusterCondition, ClusterCondition]:
    """Conditions of a joined cluster whose credentials cannot be used."""
    return health(MemberProbe(MemberAnswer.REFUSED, message))


def health(probe: MemberProbe) -> tuple[ClusterCondition, ClusterCondition]:
    """The conditions ``Offline`` and ``Ready`` for an answer that has lasted long enough.

    KubeAdmiral has no reason for refused credentials: it reports such a cluster as unreachable.
    """
    reason, said = ConditionReason.NOT_REACHABLE, f": {probe.message}" if probe.message else ""
    match probe.answer:
        case MemberAnswer.HEALTHY:
            return _ONLINE, _READY
        case MemberAnswer.UNHEALTHY:
            message = f"/healthz responded without ok{said}; check the API server of the member"
            wrong = ConditionReason.NOT_HEALTHY
        case MemberAnswer.REFUSED:
            message = f"the member refuses the credentials{said}; renew those in the secret"
            wrong = ConditionReason.REFUSED
        case MemberAnswer.UNREACHABLE:
            hint = (
                "check spec.apiEndpoint and the network; delete the FederatedCluster if it is gone"
            )
            message = f"{_GONE}{said}; {hint}"
            offline = ClusterCondition(ConditionType.OFFLINE, "True", reason, message)
            return offline, ClusterCondition(ConditionType.READY, "Unknown", reason, message)
    return _ONLINE, ClusterCondition(ConditionType.READY, "False", wrong, message)


def merged(
    before: Iterable[Fields], found: Iterable[ClusterCondition], now: str
) -> list[Fields] | None:
    """The conditions of a status with some of them replaced; ``None`` if nothing changes.

    Args:
        before: the conditions of the status.
        found: the new conditions.
        now: RFC 3339 time of the transition, if a status changes.
    """
    made = {str(each["type"]): each for each in before}
    changed = False
    for each in found:
        old = made.get(each.type)
        new = {"status": each.status, "reason": str(each.reason), "message": each.message}
        if old is not None and {key: old.get(key) for key in new} == new:
            continue
        changed = True
        since = transition_time(old, each.status, now)
        times = {"lastProbeTime": now, "lastTransitionTime": since}
        made[each.type] = {"type": str(each.type), **new, **times}
    return [made[name] for name in sorted(made)] if changed else None
