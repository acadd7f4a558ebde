"""Requests and responses as values, so that the API can be called without sockets."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final, Protocol, Self
from urllib.parse import parse_qsl, unquote

import msgspec

from stretto.web.api.authn.users import User
from stretto.web.api.notes import RequestNotes
from stretto.web.api.webhooks.reviews import ReviewMemory

JSON: Final = "application/json"
"""The media type of most bodies."""


@dataclass(frozen=True)
class ApiRequest:
    """One HTTP request."""

    #: Method in capitals.
    method: str
    #: Path and query as sent.
    target: str
    #: Headers by lower-case name; the values of a repeated header are joined by commas.
    headers: Mapping[str, str] = field(default_factory=dict)
    #: Body.
    body: bytes = b""
    #: The user of the client's certificate; ``None`` without a certificate.
    peer: User | None = None
    #: Data that the request keeps between its attempts.
    memory: ReviewMemory = field(default_factory=ReviewMemory, compare=False)
    #: Annotations that the audit log adds to the request's events.
    notes: RequestNotes = field(default_factory=RequestNotes, compare=False)

    @cached_property
    def path(self) -> str:
        """Decoded path without the query."""
        return unquote(self.target.split("?", 1)[0])

    @cached_property
    def query(self) -> dict[str, list[str]]:
        """Query parameters; a parameter without a value is empty.

        As in Go, a pair with a semicolon is dropped.
        """
        _, _, text = self.target.partition("?")
        found: dict[str, list[str]] = {}
        if not text:
            return found
        if ";" in text:
            text = "&".join(each for each in text.split("&") if ";" not in each)
        for name, value in parse_qsl(text, keep_blank_values=True):
            found.setdefault(name, []).append(value)
        return found

    def parameter(self, name: str) -> str:
        """The first value of a query parameter; empty if absent."""
        values = self.query.get(name)
        return values[0] if values else ""

    def flag(self, name: str) -> bool | None:
        """A boolean query parameter; ``None`` if absent.

        As in Kubernetes, all values count as true except ``0`` and ``false`` in any case.
        """
        values = self.query.get(name)
        return values[0].lower() not in ("0", "false") if values else None

    @property
    def watches(self) -> bool:
        """Return whether the request is a GET for a watch."""
        return self.method == "GET" and bool(self.flag("watch"))

    def header(self, name: str) -> str:
        """A header by lower-case name; empty if absent."""
        return self.headers.get(name, "")


class ApiResponse(msgspec.Struct, frozen=True):
    """A complete response."""

    #: HTTP status.
    status: int
    #: Body.
    body: bytes = b""
    #: Media type of the body; empty without one.
    content_type: str = JSON
    #: Further headers; a list for repeated ones.
    headers: Mapping[str, str | Sequence[str]] = msgspec.field(default_factory=dict)

    def with_headers(self, headers: Mapping[str, str]) -> Self:
        """Return the response with further headers."""
        whole = {**self.headers, **headers}
        return type(self)(self.status, self.body, self.content_type, whole)


class StreamFeed(Protocol):
    """Reader of the next chunks for all streams that are in the feed."""

    @property
    def is_due(self) -> bool:
        """Return whether more chunks may be available at once after the last poll."""
        ...

    def call_once(self, wake: Callable[[], None], /) -> None:
        """Call a function once when more may be available."""
        ...

    def poll(self) -> Sequence[bytes] | None:
        """Return the next chunks; ``None`` if each stream must go on by itself."""
        ...


def _always() -> bool:
    return True


def _alone() -> StreamFeed | None:
    return None


def _remain(sent: bool) -> None:
    """Do nothing: the stream is in no feed."""
    del sent


@dataclass(frozen=True)
class ApiStream:
    """A response that continues: the events of a watch.

    ``poll`` never blocks: it returns the next bytes, or ``None`` at the end. ``call_once`` calls a
    function once, when more bytes may be available.
    """

    #: HTTP status.
    status: int
    #: Media type.
    content_type: str
    #: Returns the chunks that can be sent now; ``None``: the stream has ended. A chunk without
    #: bytes lets other requests run before the next poll.
    poll: Callable[[], Sequence[bytes] | None]
    #: Registers a function that is called once when more may be available.
    call_once: Callable[[Callable[[], None]], None]
    #: Stops the stream.
    close: Callable[[], None]
    #: Seconds after which the stream ends; 0: no limit.
    timeout: float = 0.0
    #: Further headers.
    headers: Mapping[str, str | Sequence[str]] = field(default_factory=dict)
    #: Returns whether more chunks may be available at once after a poll with chunks.
    is_due: Callable[[], bool] = _always
    #: Joins a feed, whose chunks the stream sends from now on; ``None``: it polls its own.
    join: Callable[[], StreamFeed | None] = _alone
    #: Leaves the feed; the stream then polls the chunks of the feed's last poll, unless it has sent
    #: them, and all later ones.
    leave: Callable[[bool], None] = _remain

    def with_headers(self, headers: Mapping[str, str]) -> Self:
        """Return the response with further headers."""
        return replace(self, headers={**self.headers, **headers})


Answer = ApiResponse | ApiStream
"""The result of a request."""

NO_CACHE: Final[Mapping[str, str]] = {"Cache-Control": "no-cache, private"}
"""Header of every response about objects."""
