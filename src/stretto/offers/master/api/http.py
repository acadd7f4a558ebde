"""Requests and answers, independent of a server."""

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import parse_qsl

import msgspec

from stretto.offers.master.core.operators.verdict import OperatorVerdict
from stretto.offers.master.state.outbox import ClientStream
from stretto.offers.messages import binary, typed
from stretto.offers.messages import text as json_text
from stretto.offers.messages.schema import Message

JSON: Final = "application/json"
PROTOBUF: Final = "application/x-protobuf"
PLAIN: Final = "text/plain; charset=utf-8"
_NAMES: Final = {
    401: "Unauthorized",
    403: "Forbidden",
    404: "Not Found",
    405: "Method Not Allowed",
    501: "Not Implemented",
    503: "Service Unavailable",
}


class MasterRequest(msgspec.Struct, frozen=True):
    """One request."""

    #: Method.
    method: str
    #: Path without the query.
    path: str
    #: Headers by name in lower case.
    headers: Mapping[str, str] = {}
    #: Body.
    body: bytes = b""
    #: Parameters of the query.
    query: Mapping[str, str] = {}
    #: The authenticated principal; ``None`` without authentication.
    principal: str | None = None

    @property
    def form(self) -> dict[str, str]:
        """Parameters of a body in the form of a query."""
        pairs = parse_qsl(self.body.decode(errors="replace"), keep_blank_values=True)
        return dict(pairs)


class HttpAnswer(msgspec.Struct, frozen=True):
    """One answer."""

    #: Status.
    status: int
    #: Body; empty for a stream.
    body: bytes = b""
    #: Media type; empty for an answer without a body.
    content_type: str = ""
    #: Other headers.
    headers: Mapping[str, str] = {}
    #: The stream that follows; ``None`` for a single answer.
    stream: ClientStream | None = None


class RequestError(Exception):
    """A request that is answered with an error."""

    def __init__(
        self, status: int, text: str | None = None, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(text)
        #: The answer.
        self.answer: Final = plain(status, text, headers)


def plain(
    status: int, text: str | None = None, headers: Mapping[str, str] | None = None
) -> HttpAnswer:
    """An answer with a text, by default the name of the status."""
    body = f"{status} {_NAMES[status]}." if text is None else text
    return HttpAnswer(status, body.encode(), PLAIN, headers or {})


def empty(status: int = 200, **headers: str) -> HttpAnswer:
    """An answer without a body."""
    return HttpAnswer(status, headers=headers)


def of_verdict(verdict: OperatorVerdict) -> HttpAnswer:
    """The answer of an operator's request."""
    return plain(verdict.status, verdict.text) if verdict.text else empty(verdict.status)


def document(value: Any, request: MasterRequest) -> HttpAnswer:
    """A JSON document; the parameter ``jsonp`` wraps it in a call."""
    body = json_text.write(value)
    callback = request.query.get("jsonp")
    if callback is not None:
        return HttpAnswer(200, f"{callback}({body.decode()})".encode(), "text/javascript")
    return HttpAnswer(200, body, JSON)


def only(request: MasterRequest, *methods: str) -> None:
    """Refuse other methods.

    Raises:
        RequestError: the method is not allowed.
    """
    if request.method not in methods:
        listed = ", ".join(f"'{each}'" for each in methods)
        text = f"405 Method Not Allowed. Expecting one of {{ {listed} }}, but received"
        allowed = {"Allow": ", ".join(methods)}
        raise RequestError(405, f"{text} '{request.method}'.", allowed)


def read_call(request: MasterRequest, name: str) -> Message:
    """The call in a body, JSON or protobuf; ``name`` is its message.

    Raises:
        RequestError: the media type is wrong, or the body is not such a call.
    """
    media = request.headers.get("content-type")
    if media is None:
        raise RequestError(400, "Expecting 'Content-Type' to be present")
    if media == PROTOBUF:
        try:
            return binary.read(name, request.body)
        except json_text.MessageError as error:
            raise RequestError(400, "Failed to parse body into Call protobuf") from error
    if media != JSON:
        raise RequestError(415, f"Expecting 'Content-Type' of {JSON} or {PROTOBUF}")
    usual = typed.decode(name, request.body)
    if usual is not None:
        return usual
    try:
        value = json_text.parse(request.body)
    except json_text.MessageError as error:
        raise RequestError(400, f"Failed to parse body into JSON: {error}") from error
    try:
        return json_text.read(name, value)
    except json_text.MessageError as error:
        raise RequestError(400, f"Failed to convert JSON into Call protobuf: {error}") from error


def wants_protobuf(request: MasterRequest) -> bool:
    """True if the answer is protobuf: only if JSON is not acceptable.

    Raises:
        RequestError: neither is acceptable.
    """
    accept = request.headers.get("accept")
    if accept is None:
        return False
    ranges = [part.split(";")[0].strip() for part in accept.split(",")]
    if any(each in (JSON, "application/*", "*/*") for each in ranges):
        return False
    if PROTOBUF in ranges:
        return True
    raise RequestError(406, f"Expecting 'Accept' to allow '{PROTOBUF}' or '{JSON}'")


def stream_answer(stream: ClientStream, headers: dict[str, str]) -> HttpAnswer:
    """The answer that opens an event stream."""
    media = PROTOBUF if stream.protobuf else JSON
    return HttpAnswer(200, b"", media, headers, stream)
