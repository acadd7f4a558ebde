"""Writes conditions to federated objects, and events about their problems to sources."""

from collections.abc import Iterable
from typing import Final

from stretto.api.kinds.federation import FEDERATED_TYPE_CONFIG
from stretto.base.clock import Clock, timestamp
from stretto.base.errors import StrettoError, UnreachableError
from stretto.federation.fleet import ClusterFleet
from stretto.federation.objects.conditions import with_conditions
from stretto.federation.problems import ACCEPTED, SCHEDULED, ObjectCondition, ObjectProblemError
from stretto.reconcile import writes
from stretto.reconcile.cache import StoredObject
from stretto.reconcile.conditions import condition_of
from stretto.reconcile.event_queue import EventQueue
from stretto.reconcile.events import EventLevel, EventText

COMPONENT: Final = "stretto-federation"
"""Reporting component of events."""


class ObjectReporter:
    """Writes conditions only if they change."""

    def __init__(self, fleet: ClusterFleet, clock: Clock, events: EventQueue) -> None:
        """Initialize for the federated objects of a fleet.

        Args:
            fleet: the fleet.
            clock: dates transitions.
            events: sends the events.
        """
        self._fleet = fleet
        self._clock = clock
        self._events = events
        self._configs = fleet.host.follow(FEDERATED_TYPE_CONFIG.kind)

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
        """Queue an event about the source of an object.

        Its FederatedTypeConfig represents many such events.
        """
        text = EventText(EventLevel.WARNING, reason, message)
        type_ = self._fleet.type_of(federated)
        config = self._configs.get("", type_.name) if type_ is not None else None
        self._events.record(self._source_of(federated), text, config)

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
