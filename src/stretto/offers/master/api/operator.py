"""The v1 operator API."""

from stretto.offers.master.api.actions import ACTIONS
from stretto.offers.master.api.forms import json_form
from stretto.offers.master.api.http import (
    JSON,
    PROTOBUF,
    HttpAnswer,
    MasterRequest,
    of_verdict,
    only,
    plain,
    read_call,
    stream_answer,
    wants_protobuf,
)
from stretto.offers.master.api.permissions import permitted
from stretto.offers.master.api.queries import QUERIES
from stretto.offers.master.checks.resources import list_error
from stretto.offers.master.core import documents
from stretto.offers.master.core.state import MasterState
from stretto.offers.master.state.outbox import ClientStream, EventKind
from stretto.offers.messages import binary, text
from stretto.offers.messages.schema import Message


def handle(master: MasterState, request: MasterRequest) -> HttpAnswer:
    """Answer a call.

    Raises:
        RequestError: the call is refused.
    """
    only(request, "POST")
    call = read_call(request, "operator.Call")
    error = call_error(call)
    if error:
        return plain(400, f"Failed to validate master::Call: {error}")
    protobuf = wants_protobuf(request)
    kind = call["type"]
    if kind == "SUBSCRIBE":
        return _subscribe(master, protobuf)
    if kind in QUERIES:
        field, query = kind.lower(), QUERIES[kind]
        found = query(master)
        answer: Message = {"type": kind}
        if found or kind != "GET_WEIGHTS":
            answer[field] = found
        return _answer(answer, protobuf)
    if kind in ("LIST_FILES", "READ_FILE"):
        return plain(404, "")
    action = ACTIONS.get(kind)
    if action is None:
        return plain(501)
    body = call[kind.lower()]
    if not permitted(master, kind, body, request.principal):
        return plain(403)
    return of_verdict(action(master, body, request.principal))


def call_error(call: Message) -> str | None:
    """Error in a call, independent of the state; ``None`` if it is valid."""
    kind = call.get("type")
    if kind is None:
        return "Expecting 'type' to be present"
    field = kind.lower()
    needs_body = kind in ACTIONS or kind in ("GET_METRICS", "LIST_FILES", "READ_FILE")
    if needs_body and field not in call:
        return f"Expecting '{field}' to be present"
    if kind in ("RESERVE_RESOURCES", "UNRESERVE_RESOURCES"):
        return list_error(call[field].get("resources", ()))
    if kind in ("GROW_VOLUME", "SHRINK_VOLUME") and "agent_id" not in call[field]:
        return (
            "Expecting 'agent_id' to be present; only agent default resources are supported right"
            " now"
        )
    return None


def ended(master: MasterState, stream: ClientStream) -> None:
    """Remove a subscriber whose stream is closed."""
    master.subscribers.pop(stream.id, None)


def _subscribe(master: MasterState, protobuf: bool) -> HttpAnswer:
    if len(master.subscribers) >= master.settings.max_subscribers:
        oldest = next(iter(master.subscribers.values()))
        master.outbox.end(oldest)
        ended(master, oldest)
    stream = master.new_stream(EventKind.OPERATOR, protobuf)
    subscribed = {
        "get_state": documents.state_document(master),
        "heartbeat_interval_seconds": master.settings.heartbeat_interval,
    }
    master.outbox.event(stream, {"type": "SUBSCRIBED", "subscribed": subscribed})
    master.subscribers[stream.id] = stream
    _beat(master, stream)
    return stream_answer(stream, {})


def _beat(master: MasterState, stream: ClientStream) -> None:
    if stream.id in master.subscribers:
        master.outbox.event(stream, {"type": "HEARTBEAT"})
        due = master.now + master.settings.heartbeat_interval
        master.timers.at(due, lambda: _beat(master, stream))


def _answer(message: Message, protobuf: bool) -> HttpAnswer:
    if protobuf:
        return HttpAnswer(200, binary.write("operator.Response", message), PROTOBUF)
    return HttpAnswer(200, text.write(json_form("operator.Response", message)), JSON)
