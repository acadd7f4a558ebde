"""Events about objects: texts, origins and fields."""

import hashlib
from enum import StrEnum
from typing import Any, Final

import msgspec

from stretto.api.wire.kinds import DEFAULT_NAMESPACE
from stretto.stores.store import Record

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


def event_name(record: Record, words: str) -> str:
    """Return the name of an event about an object; equal words give the same name."""
    digest = hashlib.blake2b(f"{record.uid}{words}".encode(), digest_size=8).hexdigest()
    return f"{record.name[:_PREFIX]}.{digest}"


def numbered_name(record: Record, number: int) -> str:
    """Return the name of an event about an object; smaller numbers sort first."""
    return f"{record.name[:_PREFIX]}.{number:016x}"


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
        "eventTime": None,
        "reason": text.reason,
        "message": text.message[:MOST],
        "type": text.level.value,
        "source": {"component": component},
        "reportingComponent": component,
        "reportingInstance": "",
        "firstTimestamp": at,
        "lastTimestamp": at,
        "count": 1,
    }
