"""What a check-up finds: broken laws and lesser things, with stable codes and objects by name."""

from enum import Enum
from typing import Final

import msgspec


class DoctorCheck(Enum):
    """One thing that is checked. Names never change their meaning."""

    #: A node's pods ask for more of a resource than it may give.
    OVER_COMMITTED = "over-committed"
    #: A device is given to more pods than it has room for, or does not exist on its node.
    DEVICE_CLASH = "device-clash"
    #: Two pods of a node use one host port.
    PORT_CLASH = "port-clash"
    #: What is booked on a node is not what its pods take.
    BOOKS = "books"
    #: A gang has some of its pods on nodes, fewer than must start together.
    GANG_PART_BOUND = "gang-part-bound"
    #: A pod was bound twice, or is in two places.
    BOUND_TWICE = "bound-twice"
    #: A claim is charged for a pod that does not exist, or that is elsewhere.
    CLAIM_WITHOUT_POD = "claim-without-pod"
    #: A pod is on a node that does not exist.
    UNKNOWN_NODE = "unknown-node"
    #: A unit is in no place, or in two, or is counted wrongly.
    LOST_UNIT = "lost-unit"
    #: A node is kept for a pod that no longer needs it, or that node is gone.
    STALE_NOMINATION = "stale-nomination"
    #: A queue's pods hold more than its limit.
    QUEUE_OVER_LIMIT = "queue-over-limit"
    #: An object cannot be read.
    UNREADABLE = "unreadable"
    #: A condition says something that no longer holds.
    STALE_CONDITION = "stale-condition"
    #: A claim's bind had not been answered.
    IN_DOUBT = "in-doubt"
    #: A gang that once stood has lost members.
    GANG_SHRUNK = "gang-shrunk"


NO_LAW: Final = 0
"""Of things that are worth knowing and break no law."""

LAWS: Final[dict[DoctorCheck, tuple[int, str]]] = {
    DoctorCheck.OVER_COMMITTED: (1, "no node gives more than it has"),
    DoctorCheck.DEVICE_CLASH: (1, "no device is given twice"),
    DoctorCheck.PORT_CLASH: (1, "no host port is used twice on a node"),
    DoctorCheck.BOOKS: (1, "what is booked is what pods take"),
    DoctorCheck.GANG_PART_BOUND: (2, "a gang has min_member pods on nodes, or none"),
    DoctorCheck.BOUND_TWICE: (3, "a pod is bound at most once"),
    DoctorCheck.CLAIM_WITHOUT_POD: (3, "each claim is a pod's"),
    DoctorCheck.UNKNOWN_NODE: (3, "pods are on nodes that exist"),
    DoctorCheck.LOST_UNIT: (3, "each pod that waits is in exactly one place"),
    DoctorCheck.STALE_NOMINATION: (4, "nodes are kept only for pods that wait for them"),
    DoctorCheck.QUEUE_OVER_LIMIT: (5, "no queue holds more than its limit"),
    DoctorCheck.UNREADABLE: (NO_LAW, "every object can be read"),
    DoctorCheck.STALE_CONDITION: (NO_LAW, "conditions say what is"),
    DoctorCheck.IN_DOUBT: (NO_LAW, "binds are answered"),
    DoctorCheck.GANG_SHRUNK: (NO_LAW, "gangs that stood are whole"),
}
"""Every check with the number of its law in the design and what must hold."""


class Finding(msgspec.Struct, frozen=True):
    """One thing that does not hold."""

    #: What was checked.
    check: DoctorCheck
    #: What is wrong, with names and amounts.
    sentence: str
    #: The objects it is about, as ``Kind name`` or ``Kind namespace/name``.
    objects: tuple[str, ...] = ()

    @property
    def breaks_invariant(self) -> bool:
        """Whether a law is broken, as against something worth knowing."""
        return LAWS[self.check][0] != NO_LAW
