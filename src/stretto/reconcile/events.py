"""Events that controllers write about objects."""

import hashlib
from enum import StrEnum
from typing import Any, Final

import msgspec

from stretto.api.wire.kinds import DEFAULT_NAMESPACE, EVENT
from stretto.base.clock import Clock, timestamp
from stretto.reconcile.cache import StoredObject
from stretto.stores.store import Patch, Record, Store

MOST: Final = 1024
"""Maximum number of characters in a message, as in the API."""
_PREFIX: Final = 230
"""Maximum number of characters of the object's name in the name of its event."""


class EventLevel(StrEnum):
    """Type of an event."""

    #: Normal operation.
    NORMAL = "Normal"
    #: A problem that may need action.
    WARNING = "Warning"


class EventText(msgspec.Struct, frozen=True):
    """Level, reason and message of an event."""

    #: Type of the event.
    level: EventLevel
    #: Reason in CamelCase, for programs.
    reason: str
    #: Message for users, a sentence.
    message: str


class EventOrigin(msgspec.Struct, frozen=True):
    """Origin of an event, and the part of its object that the event is about."""

    #: Node of the reporter; empty without one.
    host: str = ""
    #: Path of the part, such as ``spec.containers{app}``; empty for the whole object.
    field_path: str = ""


NO_ORIGIN: Final = EventOrigin()
"""Origin of an event without a node, about the whole object."""


class EventRecorder:
    """Writer of a component's events; a repetition increments the count of the existing event."""

    def __init__(self, store: Store, clock: Clock, component: str) -> None:
        """Write events of one component.

        Args:
            store: the store that receives the events.
            clock: wall time.
            component: name of the reporter.
        """
        self._store = store
        self._clock = clock
        self._component = component

    def record(
        self, item: StoredObject, *texts: EventText, origin: EventOrigin = NO_ORIGIN
    ) -> None:
        """Write events about an object; events that the store refuses are lost."""
        record, at = item.record, timestamp(int(self._clock.now()))
        namespace = record.namespace or DEFAULT_NAMESPACE
        fresh, counted = [], []
        for text in texts:
            name = event_name(record, text.reason + text.message + origin.field_path)
            before = self._store.get(EVENT, namespace, name)
            if before is None:
                body = event_fields(record, name, text, self._component, at)
                fresh.append(msgspec.json.encode(_from(body, origin)))
            else:
                count = int(StoredObject(before).fields.get("count") or 1) + 1
                counted.append(Patch(namespace, name, {"count": count, "lastTimestamp": at}))
        if fresh:
            self._store.create(EVENT, fresh)
        if counted:
            self._store.patch(EVENT, counted)


def _from(fields: dict[str, Any], origin: EventOrigin) -> dict[str, Any]:
    """Return an event with its origin."""
    if origin.host:
        fields["source"] = {**fields["source"], "host": origin.host}
        fields["reportingInstance"] = origin.host
    if origin.field_path:
        fields["involvedObject"] = {**fields["involvedObject"], "fieldPath": origin.field_path}
    return fields


def event_name(record: Record, words: str) -> str:
    """Return the name of an event about an object; equal words give the same name."""
    digest = hashlib.blake2b(f"{record.uid}{words}".encode(), digest_size=8).hexdigest()
    return f"{record.name[:_PREFIX]}.{digest}"


def event_fields(
    record: Record, name: str, text: EventText, component: str, at: str
) -> dict[str, Any]:
    """Return the fields of a new event.

    Args:
        record: the object of the event.
        name: name of the event.
        text: level, reason and message.
        component: name of the reporter.
        at: RFC 3339 time.
    """
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": record.namespace or DEFAULT_NAMESPACE},
        "involvedObject": {
            "apiVersion": record.kind.api_version,
            "kind": record.kind.kind,
            "namespace": record.namespace,
            "name": record.name,
            "uid": record.uid,
        },
        "reason": text.reason,
        "message": text.message[:MOST],
        "type": text.level.value,
        "source": {"component": component},
        "reportingComponent": component,
        "firstTimestamp": at,
        "lastTimestamp": at,
        "count": 1,
    }
