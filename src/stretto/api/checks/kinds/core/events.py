"""Rules of Events, in their old and their new group."""

from typing import Any, Final

from stretto.api.checks.fields.errors import Errors, immutable, invalid, required
from stretto.api.checks.fields.texts import qualified_name
from stretto.api.checks.kinds.values import Json
from stretto.api.schema.internals import internal_form

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
    return _checked(item, item.get("involvedObject") or {}, "reportingComponent")


def _checked(item: Json, about: Json, word: str) -> Errors:
    """Check what Events of both groups have in common.

    Args:
        item: the Event.
        about: the object of the Event.
        word: the name of the controller's field.
    """
    namespace, own = about.get("namespace", ""), item["metadata"].get("namespace", "")
    found: Errors = []
    precise = bool(item.get("eventTime"))
    outside = _PRECISE_OUTSIDE if precise else _OUTSIDE
    is_other = own not in outside if not namespace else not precise and own != namespace
    if is_other:
        detail = "does not match event.namespace"
        found.append(invalid("involvedObject.namespace", namespace, detail))
    return found + _reported(item, word) if precise else found


def _reported(item: Json, word: str) -> Errors:
    """Check the fields that an event with a precise time requires."""
    controller = item.get(word, "")
    found: Errors = [] if controller else [required(word)]
    found += [invalid(word, controller, each) for each in qualified_name(controller)]
    for name in _NEEDED:
        if not item.get(name):
            found.append(required(name))
        elif len(item[name]) > _WORD_LIMIT:
            found.append(invalid(name, "", f"can have at most {_WORD_LIMIT} characters"))
    note = item.get("note") or item.get("message") or ""
    if len(note) > _NOTE_LIMIT:
        found.append(invalid("message", "", f"can have at most {_NOTE_LIMIT} characters"))
    return found


def _series(item: Json) -> Errors:
    series = item.get("series")
    if series is None:
        return []
    found: Errors = []
    if (series.get("count") or 0) < _LEAST_COUNT:
        found.append(invalid("series.count", "", f"should be at least {_LEAST_COUNT}"))
    if not series.get("lastObservedTime"):
        found.append(required("series.lastObservedTime"))
    return found


_KEPT: Final = (
    ("regarding", "involvedObject"), ("reason", "reason"), ("note", "message"),
    ("deprecatedSource", "source"), ("deprecatedFirstTimestamp", "firstTimestamp"),
    ("deprecatedLastTimestamp", "lastTimestamp"), ("deprecatedCount", "count"),
    ("reason", "reason"), ("type", "type"), ("eventTime", "eventTime"), ("action", "action"),
    ("related", "related"), ("reportingController", "reportingController"),
    ("reportingInstance", "reportingInstance"),
)  # fmt: skip
"""Members that no update changes, with their names in errors; kube-apiserver repeats the reason."""


def _changes(item: Json, old: Json) -> Errors:
    """Check a changed Event of ``events.k8s.io``, of which only the series changes."""
    found = _series(item) if item.get("series") != old.get("series") else []
    return found + [
        immutable(path, _quoted(name, item))
        for name, path in _KEPT
        if item.get(name) != old.get(name)
    ]


def _quoted(name: str, item: Json) -> Any:
    """Return a member as messages show it."""
    if name in ("regarding", "related"):
        return internal_form("core.ObjectReference", item.get(name) or {})
    if name == "deprecatedSource":
        source = item.get(name) or {}
        return {"Component": source.get("component", ""), "Host": source.get("host", "")}
    return item.get(name, "")


def check_new_event(item: Json, old: Json | None) -> Errors:
    """Check an Event of ``events.k8s.io``."""
    found = _checked(item, item.get("regarding") or {}, "reportingController")
    if old is not None:
        return found + _changes(item, old)
    found += _series(item)
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
