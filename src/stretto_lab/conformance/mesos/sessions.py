"""Sessions of recorded requests, answers, events and messages to agents."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec

from stretto.base.errors import InputError
from stretto_lab.conformance import lines

KEYS: Final = frozenset({"session", "n", "name"})
"""Keys of every record."""


class WireRequest(msgspec.Struct, frozen=True):
    """One recorded HTTP request."""

    #: Method.
    method: str
    #: Path with the query.
    path: str
    #: Headers.
    headers: dict[str, str] = {}
    #: Body as text.
    body: str | None = None
    #: Body as base64.
    body_base64: str | None = None


class WireRecord(msgspec.Struct, frozen=True):
    """One step of a session: a request, an action of an agent, or elapsed time."""

    #: Name of the session.
    session: str
    #: Number in the session, from 1.
    n: int
    #: Name of the step.
    name: str
    #: The request, if there is one.
    request: WireRequest | None = None
    #: Status of the answer.
    status: int | None = None
    #: Headers of the answer.
    headers: dict[str, str] = {}
    #: Body of the answer as text.
    body: str | None = None
    #: Body of the answer as base64.
    body_base64: str | None = None
    #: Body of the answer as JSON.
    json: Any = None
    #: Events by the name of the stream.
    events: dict[str, Any] = {}
    #: Messages to agents: address and name.
    agent_received: list[str] = []
    #: Elapsed seconds.
    advance_seconds: float = 0.0
    #: An agent that registers.
    agent: dict[str, str] | None = None
    #: Number of records on all streams of the session.
    records: int | None = None


class WireSession(msgspec.Struct, frozen=True):
    """All records of one session, in order."""

    #: Name.
    name: str
    #: Records.
    records: list[WireRecord]


def is_mesos(path: Path) -> bool:
    """True if a file contains sessions; false for an unreadable file."""
    try:
        _, line = next(lines.numbered(path))
        found = msgspec.json.decode(line)
    except (StopIteration, InputError, msgspec.DecodeError):
        return False
    return isinstance(found, dict) and found.keys() >= KEYS


def read(path: Path) -> Iterator[WireSession]:
    """The sessions of a file.

    Raises:
        InputError: the file cannot be read, or a line is not a record; the message contains the
            line.
    """
    decoder = msgspec.json.Decoder(WireRecord)
    records: list[WireRecord] = []
    for number, line in lines.numbered(path):
        try:
            record = decoder.decode(line)
        except msgspec.DecodeError as error:
            expected = f"a record of a session: {error}"
            raise InputError(f"{path}:{number}", None, expected) from error
        if records and records[0].session != record.session:
            yield WireSession(records[0].session, records)
            records = []
        records.append(record)
    if records:
        yield WireSession(records[0].session, records)
