"""Problems of single objects, as conditions with remedies."""

from typing import Final, NamedTuple

from stretto.reconcile.reconciler import RetryError

ACCEPTED: Final = "Accepted"
"""Condition: the object and its policies can be used without changes."""
SCHEDULED: Final = "Scheduled"
"""Condition: the last decision about the placement took effect in full."""
OVERRIDDEN: Final = "Overridden"
"""Condition: the override policies of the object can be applied."""
FOLLOWED: Final = "Followed"
"""Condition: all objects that the object needs can follow it."""
AGGREGATED: Final = "Aggregated"
"""Condition: the aggregation rules for the status of the source can be applied."""
PROPAGATED: Final = "Propagated"
"""Condition: every cluster has the desired object."""


class ObjectCondition(NamedTuple):
    """One condition of a federated object."""

    #: Its type.
    type: str
    #: Reason why it is false, in one word; empty if it is true.
    reason: str = ""
    #: Reason why it is false, and the remedy.
    message: str = ""


class ObjectProblemError(RetryError):
    """Error for an object that stays unchanged until a user changes something."""

    def __init__(self, condition: ObjectCondition) -> None:
        """Initialize with the condition that reports the problem."""
        super().__init__(condition.message)
        #: The condition.
        self.condition = condition


def unaccepted(reason: str, message: str) -> ObjectProblemError:
    """The error of an object whose policies cannot be used."""
    return ObjectProblemError(ObjectCondition(ACCEPTED, reason, message))
