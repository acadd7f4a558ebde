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
"""Characters of a message, as the API limits them."""
_PREFIX: Final = 230
"""Characters of an object's name in the name of its event."""


class EventLevel(StrEnum):
    """Whether an event asks for attention."""

    #: It does not.
    NORMAL = "Normal"
    #: It does.
    WARNING = "Warning"


class EventText(msgspec.Struct, frozen=True):
    """What an event says."""

    #: Whether it asks for attention.
    level: EventLevel
    #: A word that programs read.
    reason: str
    #: A sentence.
    message: str


class EventOrigin(msgspec.Struct, frozen=True):
    """Where an event comes from and which part of its object it is about."""

    #: Node of the reporter; empty without one.
    host: str = ""
    #: Path of the part, such as ``spec.containers{app}``; empty for the whole object.
    field_path: str = ""


NO_ORIGIN: Final = EventOrigin()
"""A reporter without a node, about a whole object."""


class EventRecorder:
    """Writes events of one component; a repetition is counted in the event that exists."""

    def __init__(self, store: Store, clock: Clock, component: str) -> None:
        """For a component.

        Args:
            store: where the events are written.
            clock: wall time.
            component: name of the reporter.
        """
        self._store = store
        self._clock = clock
        self._component = component

    def record(
        self, item: StoredObject, *texts: EventText, origin: EventOrigin = NO_ORIGIN
    ) -> None:
        """Write events about an object. Those that the store refuses are lost."""
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
    """An event with its origin."""
    if origin.host:
        fields["source"] = {**fields["source"], "host": origin.host}
        fields["reportingInstance"] = origin.host
    if origin.field_path:
        fields["involvedObject"] = {**fields["involvedObject"], "fieldPath": origin.field_path}
    return fields


def event_name(record: Record, words: str) -> str:
    """The name of the event about an object and some words; a repetition has the same name."""
    digest = hashlib.blake2b(f"{record.uid}{words}".encode(), digest_size=8).hexdigest()
    return f"{record.name[:_PREFIX]}.{digest}"


def event_fields(
    record: Record, name: str, text: EventText, component: str, at: str
) -> dict[str, Any]:
    """A new event.

    Args:
        record: the object that it is about.
        name: its name.
        text: what it says.
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
