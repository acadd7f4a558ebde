"""Rules of Events, in their old and their new group."""

from typing import Final

from stretto.api.checks.fields.errors import Errors, immutable, invalid, required
from stretto.api.checks.fields.texts import qualified_name
from stretto.api.checks.kinds.values import Json

_NOTE_LIMIT: Final = 1024
_WORD_LIMIT: Final = 128
_LEAST_COUNT: Final = 2
_OUTSIDE: Final = ("", "default")
"""Namespaces of events about cluster-scoped objects."""
_PRECISE_OUTSIDE: Final = ("default", "kube-system")
"""Namespaces of events with a precise time about cluster-scoped objects."""
_NEEDED: Final = ("reportingInstance", "action", "reason")


def check_event(item: Json, _old: Json | None) -> Errors:
    """Check an Event; without a precise time, it has the namespace of its object."""
    about = item.get("involvedObject") or item.get("regarding") or {}
    namespace, own = about.get("namespace", ""), item["metadata"].get("namespace", "")
    found: Errors = []
    precise = bool(item.get("eventTime"))
    outside = _PRECISE_OUTSIDE if precise else _OUTSIDE
    is_other = own not in outside if not namespace else not precise and own != namespace
    if is_other:
        detail = "does not match event.namespace"
        found.append(invalid("involvedObject.namespace", namespace, detail))
    if precise:
        found += _reported(item)
    return found


def _reported(item: Json) -> Errors:
    """Check the fields that an event with a precise time requires."""
    word = "reportingController" if "regarding" in item else "reportingComponent"
    controller = item.get(word, "")
    found: Errors = []
    if not controller:
        found.append(required("reportingController"))
    found += [invalid("reportingController", controller, e) for e in qualified_name(controller)]
    found += [required(name) for name in _NEEDED if not item.get(name)]
    found += [
        invalid(name, "", f"can have at most {_WORD_LIMIT} characters")
        for name in _NEEDED
        if len(item.get(name) or "") > _WORD_LIMIT
    ]
    series = item.get("series")
    if series is not None:
        if (series.get("count") or 0) < _LEAST_COUNT:
            found.append(invalid("series.count", "", f"should be at least {_LEAST_COUNT}"))
        if not series.get("lastObservedTime"):
            found.append(required("series.lastObservedTime"))
    note = item.get("note") or item.get("message") or ""
    if len(note) > _NOTE_LIMIT:
        found.append(invalid("message", "", f"can have at most {_NOTE_LIMIT} characters"))
    return found


def check_new_event(item: Json, old: Json | None) -> Errors:
    """Check an Event of ``events.k8s.io``."""
    found = check_event(item, old)
    if old is not None:
        return found + _changed(item, old)
    if not item.get("eventTime"):
        found.append(required("eventTime"))
    if item.get("type") not in ("Normal", "Warning"):
        found.append(invalid("type", "", f"has invalid value: {item.get('type') or ''}"))
    for name in ("deprecatedFirstTimestamp", "deprecatedLastTimestamp"):
        if item.get(name):
            short = name.removeprefix("deprecated")
            path = short[0].lower() + short[1:]
            found.append(invalid(path, "", "needs to be unset"))
    if item.get("deprecatedCount"):
        found.append(invalid("count", "", "needs to be unset"))
    if any((item.get("deprecatedSource") or {}).values()):
        found.append(invalid("source", "", "needs to be unset"))
    return found


_KEPT: Final = {
    "regarding": "involvedObject",
    "reason": "reason",
    "note": "message",
    "deprecatedSource": "source",
    "deprecatedFirstTimestamp": "firstTimestamp",
    "deprecatedLastTimestamp": "lastTimestamp",
    "deprecatedCount": "count",
    "type": "type",
    "eventTime": "eventTime",
    "action": "action",
    "related": "related",
    "reportingController": "reportingController",
    "reportingInstance": "reportingInstance",
}
"""Members that no update changes, with their names in errors."""


def _changed(item: Json, old: Json) -> Errors:
    """Return an error for each member that an update must not change."""
    return [
        immutable(path, item.get(name, ""))
        for name, path in _KEPT.items()
        if item.get(name) != old.get(name)
    ]
