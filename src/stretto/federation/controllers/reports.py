"""Writes conditions to federated objects, and events about their problems to sources."""

from collections.abc import Iterable
from typing import Final

from stretto.base.clock import Clock, timestamp
from stretto.base.errors import StrettoError, UnreachableError
from stretto.federation.fleet import ClusterFleet
from stretto.federation.objects.conditions import with_conditions
from stretto.federation.problems import ACCEPTED, SCHEDULED, ObjectCondition, ObjectProblemError
from stretto.reconcile import writes
from stretto.reconcile.cache import StoredObject
from stretto.reconcile.conditions import condition_of
from stretto.reconcile.events import EventLevel, EventRecorder, EventText

COMPONENT: Final = "stretto-federation"
"""Reporting component of events."""


class ObjectReporter:
    """Writes conditions only if they change."""

    def __init__(self, fleet: ClusterFleet, clock: Clock) -> None:
        """Initialize for the federated objects of a fleet; ``clock`` dates transitions."""
        self._fleet = fleet
        self._clock = clock
        self._events = EventRecorder(fleet.host.store, clock, COMPONENT)

    def write(self, federated: StoredObject, changes: Iterable[ObjectCondition]) -> None:
        """Set conditions of an object; a new problem is also reported as an event of its source.

        Raises:
            RetryError: the store refused the write.
        """
        present, given = federated.status.get("conditions") or (), tuple(changes)
        after = with_conditions(present, given, timestamp(self._clock.now()))
        if after is not None:
            writes.patch_status(self._fleet.host.store, federated, {"conditions": after})
            for each in given:
                if _is_news(each, present):
                    self.warn(federated, each.reason, each.message)

    def warn(self, federated: StoredObject, reason: str, message: str) -> None:
        """Write a warning event for the source of an object."""
        text = EventText(EventLevel.WARNING, reason, message)
        self._events.record(self._source_of(federated), text)

    def write_problem(
        self, federated: StoredObject, error: ObjectProblemError | StrettoError
    ) -> None:
        """Set the condition that reports why an object cannot be processed.

        Raises:
            RetryError: the store refused the write.
        """
        if isinstance(error, UnreachableError):
            return  # not a problem of the object; the next attempt follows
        if isinstance(error, ObjectProblemError):
            self.write(federated, [error.condition])
        else:
            self.write(federated, [ObjectCondition(ACCEPTED, "InvalidPolicy", str(error))])

    def _source_of(self, federated: StoredObject) -> StoredObject:
        """The source of a federated object, or the object itself without a source."""
        type_ = self._fleet.type_of(federated)
        if type_ is None:
            return federated
        name = federated.spec["template"]["metadata"]["name"]
        found = self._fleet.sources(type_).get(federated.record.namespace, name)
        return found if found is not None else federated


def _is_news(change: ObjectCondition, present: Iterable[dict[str, object]]) -> bool:
    """True if a problem is new; other numbers in a message of the scheduler are not new."""
    if not change.reason:
        return False
    before = condition_of(present, change.type) or {}
    if before.get("status") != "False" or before.get("reason") != change.reason:
        return True
    return change.type != SCHEDULED and before.get("message") != change.message
