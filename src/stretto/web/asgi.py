"""Messages of ASGI that make up a response."""

from starlette.types import Message

from stretto.web.api.message import ApiResponse, ApiStream


def start(answer: ApiResponse | ApiStream) -> Message:
    """Return the head of a response; that of a stream has no length."""
    headers: list[tuple[bytes, bytes]] = []
    for name, value in answer.headers.items():
        key = name.lower().encode("latin-1")
        if isinstance(value, str):
            headers.append((key, value.encode()))
        else:
            headers += [(key, each.encode()) for each in value]
    if answer.content_type:
        headers.append((b"content-type", answer.content_type.encode("latin-1")))
    if isinstance(answer, ApiResponse):
        headers.append((b"content-length", str(len(answer.body)).encode()))
    return {"type": "http.response.start", "status": answer.status, "headers": headers}


def part(body: bytes, *, more: bool) -> Message:
    """Return a part of the body of a response."""
    return {"type": "http.response.body", "body": body, "more_body": more}
