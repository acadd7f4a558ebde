"""Findings of the doctor: violated invariants and minor issues, with stable codes."""

from enum import Enum
from typing import Final

import msgspec


class DoctorCheck(Enum):
    """One check. Names never change their meaning."""

    #: The pods of a node request more of a resource than is allocatable.
    OVER_COMMITTED = "over-committed"
    #: A device is over-allocated, or does not exist on its node.
    DEVICE_CLASH = "device-clash"
    #: Two pods of a node use the same host port.
    PORT_CLASH = "port-clash"
    #: The ledger of a node does not match its pods.
    LEDGER = "ledger"
    #: A gang has bound pods, but fewer than ``minMember``.
    GANG_PART_BOUND = "gang-part-bound"
    #: A pod was bound twice, or is on two nodes.
    BOUND_TWICE = "bound-twice"
    #: A node is charged for a pod that does not exist or is bound elsewhere.
    CLAIM_WITHOUT_POD = "claim-without-pod"
    #: A pod is bound to a node that does not exist.
    UNKNOWN_NODE = "unknown-node"
    #: A unit is in no queue, in two, or miscounted.
    LOST_UNIT = "lost-unit"
    #: A nomination whose pod no longer needs it, or whose node does not exist.
    STALE_NOMINATION = "stale-nomination"
    #: The pods of a queue use more than its limit.
    QUEUE_OVER_LIMIT = "queue-over-limit"
    #: An object cannot be decoded.
    UNREADABLE = "unreadable"
    #: A condition contradicts the state.
    STALE_CONDITION = "stale-condition"
    #: A claim whose bind is not confirmed.
    IN_DOUBT = "in-doubt"
    #: A gang that was complete has lost pods.
    GANG_SHRUNK = "gang-shrunk"


NO_INVARIANT: Final = 0
"""Number of checks that are informational only."""

INVARIANTS: Final[dict[DoctorCheck, tuple[int, str]]] = {
    DoctorCheck.OVER_COMMITTED: (1, "no node is over-committed"),
    DoctorCheck.DEVICE_CLASH: (1, "no device is over-allocated"),
    DoctorCheck.PORT_CLASH: (1, "no host port is used twice on a node"),
    DoctorCheck.LEDGER: (1, "the ledger matches the pods"),
    DoctorCheck.GANG_PART_BOUND: (2, "a gang has at least minMember pods bound, or none"),
    DoctorCheck.BOUND_TWICE: (3, "a pod is bound at most once"),
    DoctorCheck.CLAIM_WITHOUT_POD: (3, "each claim belongs to an existing pod"),
    DoctorCheck.UNKNOWN_NODE: (3, "pods are bound to existing nodes"),
    DoctorCheck.LOST_UNIT: (3, "each pending pod is in exactly one place"),
    DoctorCheck.STALE_NOMINATION: (4, "nominations belong to pending pods"),
    DoctorCheck.QUEUE_OVER_LIMIT: (5, "no queue uses more than its limit"),
    DoctorCheck.UNREADABLE: (NO_INVARIANT, "every object can be read"),
    DoctorCheck.STALE_CONDITION: (NO_INVARIANT, "conditions match the state"),
    DoctorCheck.IN_DOUBT: (NO_INVARIANT, "binds are confirmed"),
    DoctorCheck.GANG_SHRUNK: (NO_INVARIANT, "gangs that were complete still are"),
}
"""Every check with the number of its invariant in the design and what must hold."""


class Finding(msgspec.Struct, frozen=True):
    """One violation or issue."""

    #: The check that failed.
    check: DoctorCheck
    #: Description of the problem, with names and amounts.
    sentence: str
    #: Objects with the problem, as ``Kind name`` or ``Kind namespace/name``.
    objects: tuple[str, ...] = ()

    @property
    def breaks_invariant(self) -> bool:
        """True if the finding violates an invariant, false for a minor issue."""
        return INVARIANTS[self.check][0] != NO_INVARIANT
