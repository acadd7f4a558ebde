"""Events of the audit log, from requests and responses."""

from dataclasses import dataclass
from typing import Any, Final

import msgspec

from stretto.web.api.authn.users import user_info
from stretto.web.api.failures import ApiError
from stretto.web.api.message import ApiRequest, ApiResponse
from stretto.web.api.objects.reading import media_type, parse_body
from stretto.web.api.objects.rendering import without_type
from stretto.web.audit.policy import AuditLevel, AuditStage, AuditSubject

Json = dict[str, Any]

_SOURCE: Final = "127.0.0.1"
"""Source address of all requests: the server listens only on the loopback address."""
_JSON: Final = "json"
_WITH_OBJECTS: Final = (AuditLevel.REQUEST, AuditLevel.REQUEST_RESPONSE)
"""Levels of events that contain the object of the request."""


@dataclass(frozen=True)
class AuditEntry:
    """Common fields of all events of one request."""

    #: Level of its rule.
    level: AuditLevel
    #: Identity of the request.
    identity: str
    #: The request.
    request: ApiRequest
    #: User, verb and object.
    subject: AuditSubject
    #: Time of its arrival, in RFC 3339 with microseconds.
    received: str
    #: True if managed fields are omitted.
    is_unmanaged: bool = False


def audit_event(entry: AuditEntry, stage: AuditStage, now: str, answer: Json) -> Json:
    """Return an event.

    Args:
        entry: the request.
        stage: the stage.
        now: its time.
        answer: ``responseStatus`` and ``responseObject``, if present.
    """
    request, subject = entry.request, entry.subject
    agent = request.header("user-agent")
    found: Json = {
        "kind": "Event",
        "apiVersion": "audit.k8s.io/v1",
        "level": entry.level,
        "auditID": entry.identity,
        "stage": stage,
        "requestURI": request.target,
        "verb": subject.verb,
        "user": user_info(subject.user),
        **_impersonated(request),
        "sourceIPs": [_SOURCE],
        **({"userAgent": agent} if agent else {}),
    }
    if subject.route is not None:
        found["objectRef"] = _reference(subject, answer)
    if "responseStatus" in answer:
        found["responseStatus"] = answer["responseStatus"]
    if entry.level in _WITH_OBJECTS and answer:
        sent = _request_object(request)
        if sent is not None:
            found["requestObject"] = _shown(sent, is_unmanaged=entry.is_unmanaged)
    if entry.level is AuditLevel.REQUEST_RESPONSE and "responseObject" in answer:
        found["responseObject"] = _shown(answer["responseObject"], is_unmanaged=entry.is_unmanaged)
    times = {"requestReceivedTimestamp": entry.received, "stageTimestamp": now}
    return {**found, **times, **_annotations(entry, answer)}


def _impersonated(request: ApiRequest) -> Json:
    """Return the impersonated user of a request, if there is one."""
    found = request.notes.impersonated
    return {"impersonatedUser": user_info(found[0])} if found else {}


def _annotations(entry: AuditEntry, answer: Json) -> Json:
    """Return the data that the server recorded about an answered request."""
    notes = entry.request.notes
    found = dict(notes.annotations) if answer else {}
    if answer and entry.level in _WITH_OBJECTS:
        found |= notes.details
    return {"annotations": found} if found else {}


def answer_parts(entry: AuditEntry, response: ApiResponse) -> Json:
    """Return the status of a response, and its object if the event needs it."""
    is_read = entry.request.method in ("GET", "HEAD") and response.status < 400
    item: Any = None
    if not is_read or entry.level is AuditLevel.REQUEST_RESPONSE:
        item = _decoded(response.body, response.content_type)
    status: Json = {"metadata": {}, "code": response.status}
    if not isinstance(item, dict):
        return {"responseStatus": status}
    if item.get("kind") == "Status":
        status = {**status, **without_type(item), "code": response.status}
    return {"responseStatus": status, "responseObject": item}


def panic_parts(problem: str) -> Json:
    """Return the status of a request after an internal failure of the server."""
    return {
        "responseStatus": {
            "metadata": {},
            "status": "Failure",
            "message": f"APIServer panic'd: {problem}",
            "reason": "InternalError",
            "code": 500,
        }
    }


def _reference(subject: AuditSubject, answer: Json) -> Json:
    """Return the object of a request; the name of a new object is that in the response."""
    route = subject.route
    assert route is not None
    made = (answer.get("responseObject") or {}).get("metadata") or {}
    name = route.name or (made.get("name", "") if subject.verb == "create" else "")
    texts = {
        "resource": route.resource,
        "namespace": route.namespace,
        "name": name,
        "apiGroup": route.group,
        "apiVersion": route.version,
        "subresource": route.subresource,
    }
    return {key: text for key, text in texts.items() if text}


def _request_object(request: ApiRequest) -> Any:
    """Return the object of a request; ``None`` if it has none or is unreadable."""
    if not request.body or request.method in ("GET", "HEAD"):
        return None
    return _decoded(request.body, request.header("content-type"))


def _decoded(body: bytes, content_type: str) -> Any:
    """Decode a body in JSON, YAML or protobuf; ``None`` if it is unreadable."""
    media = media_type(content_type)
    try:
        return msgspec.json.decode(body) if _JSON in media else parse_body(body, media, "")[0]
    except (ApiError, msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return None


def _shown(value: Any, *, is_unmanaged: bool) -> Any:
    """Return an object, optionally without its managed fields; also the items of a list."""
    if not is_unmanaged or not isinstance(value, dict):
        return value
    found = dict(value)
    metadata = found.get("metadata")
    if isinstance(metadata, dict):
        found["metadata"] = {key: each for key, each in metadata.items() if key != "managedFields"}
    if isinstance(found.get("items"), list):
        found["items"] = [_shown(each, is_unmanaged=True) for each in found["items"]]
    return found
