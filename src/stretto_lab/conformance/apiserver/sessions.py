"""Recorded sessions of a kube-apiserver: requests and answers in order."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from stretto.api import codec
from stretto_lab.conformance import lines


class SessionSetup(msgspec.Struct, frozen=True):
    """The server of a session."""

    #: Its variant: ``bare``, ``sa`` (with accounts) or ``full`` (with controllers and nodes).
    server: str = "bare"
    #: Further flags.
    flags: tuple[str, ...] = ()


class RecordedRequest(msgspec.Struct, frozen=True):
    """One request."""

    #: Method.
    method: str
    #: Path and query.
    path: str
    #: Headers.
    headers: dict[str, str] = {}
    #: Body as JSON.
    json: Any = msgspec.UNSET
    #: Body as text.
    body: str = ""
    #: Body as base64.
    body_base64: str = ""
    #: Body made from a template: the text ``at`` is replaced by copies of ``fill``.
    body_made: dict[str, Any] | None = None


class RecordedLine(msgspec.Struct, frozen=True):
    """One line of a session: its start, an exchange, or an action between exchanges."""

    #: Name of the session: ``FAMILY.TOPIC``.
    session: str
    #: Number within the session.
    n: int
    #: True if an earlier line of the session is missing.
    follows_gap: bool = False
    #: The tested behavior.
    name: str = ""
    #: The server; only in the first line of a session.
    setup: SessionSetup | None = None
    #: The request.
    request: RecordedRequest | None = None
    #: HTTP status.
    status: int = 0
    #: Compared headers.
    headers: dict[str, Any] = {}
    #: Body as JSON.
    json: Any = msgspec.UNSET
    #: Body as text.
    body: str | None = None
    #: Digest of a large body.
    json_digest: Any = None
    #: Name of a watch that stays open.
    stream: str = ""
    #: Events of a watch that ends by itself.
    stream_json: Any = None
    #: Events of open watches after this line.
    events: dict[str, Any] = {}
    #: An action other than a request.
    action: dict[str, Any] | None = None
    #: True if only one of two recordings contains the request.
    sometimes: bool = False
    #: Exit status of a command.
    exit: int = 0
    #: Printed output of a command.
    stdout: Any = None
    #: Printed errors of a command.
    stderr: Any = None
    #: Requests of a command.
    requests: list[Any] = []

    @property
    def id(self) -> str:
        """Session and number."""
        return f"{self.session}-{self.n}"

    @property
    def family(self) -> str:
        """First part of the session's name."""
        return self.session.partition(".")[0]


class _FirstLine(msgspec.Struct, frozen=True):
    """Members that only these files have in their first line."""

    #: Name of the session.
    session: str = ""
    #: The server.
    setup: Mapping[str, Any] | None = None


def is_sessions(path: Path) -> bool:
    """True if the first line of a file begins a recorded session."""
    head = lines.first(path, _FirstLine)
    return head is not None and bool(head.session) and head.setup is not None


def read(path: Path) -> Iterator[RecordedLine]:
    """The lines of a file; lines after a missing number of their session follow a gap.

    Raises:
        InputError: the file cannot be read, or a line is malformed.
    """
    last, follows_gap = 0, False
    for number, line in lines.numbered(path):
        found = codec.decode_as(RecordedLine, line, f"{path}:{number}")
        follows_gap = found.setup is None and (follows_gap or found.n > last + 1)
        last = found.n
        yield msgspec.structs.replace(found, follows_gap=True) if follows_gap else found
