"""Problems of single objects, as conditions that say what to do."""

from typing import Final, NamedTuple

from stretto.reconcile.reconciler import RetryError

ACCEPTED: Final = "Accepted"
"""Condition: whether what an object and its policies say can be used as it is."""
SCHEDULED: Final = "Scheduled"
"""Condition: whether the last decision about the placement took effect in full."""
OVERRIDDEN: Final = "Overridden"
"""Condition: whether the override policies of an object apply."""
FOLLOWED: Final = "Followed"
"""Condition: whether the objects that an object needs can go with it."""
AGGREGATED: Final = "Aggregated"
"""Condition: whether the rules for the status of the source apply."""
PROPAGATED: Final = "Propagated"
"""Condition: whether every cluster holds what it should."""


class ObjectCondition(NamedTuple):
    """One condition of a federated object."""

    #: Its type.
    type: str
    #: Why it is false, in one word; empty if it is true.
    reason: str = ""
    #: Why it is false, and what to do.
    message: str = ""


class ObjectProblemError(RetryError):
    """An object that stays as it is until a user changes something."""

    def __init__(self, condition: ObjectCondition) -> None:
        """A problem that the condition reports."""
        super().__init__(condition.message)
        #: The condition.
        self.condition = condition


def unaccepted(reason: str, message: str) -> ObjectProblemError:
    """The error of an object whose policies cannot be used."""
    return ObjectProblemError(ObjectCondition(ACCEPTED, reason, message))
