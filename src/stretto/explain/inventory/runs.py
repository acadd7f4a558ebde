"""Run records as rows of a list, the latest first."""

from contextlib import closing
from typing import Any

import msgspec

from stretto.base.errors import InputError
from stretto.explain.records.record_file import RecordFile
from stretto.explain.records.records import RunRecords


class RunRow(msgspec.Struct, frozen=True):
    """One run record."""

    #: Name of the record.
    name: str
    #: ``done``, ``interrupted`` or ``unreadable``.
    status: str
    #: The scenario.
    scenario: str = ""
    #: RFC 3339 time of the start.
    started: str = ""
    #: Duration in seconds.
    seconds: float = 0.0
    #: Number of pods that arrived.
    pods: int = 0
    #: Number of pods with a node at the end.
    placed: int = 0
    #: Number of pods without a node at the end.
    pending: int = 0


def run_rows(records: RunRecords, names: tuple[str, ...] = ()) -> list[RunRow]:
    """Rows of all records of a folder, or of those with the given names.

    Raises:
        NotFoundError: no record has one of the names.
    """
    paths = [records.find(name) for name in names] or [
        records.path(name) for name in records.names()
    ]
    rows = []
    for path in paths:
        try:
            with closing(RecordFile(path)) as file:
                facts = file.facts()
        except InputError:
            rows.append(RunRow(path.stem, "unreadable"))
            continue
        summary: dict[str, Any] = facts.summary
        rows.append(
            RunRow(
                name=facts.name,
                status="interrupted" if facts.interrupted else "done",
                scenario=facts.source,
                started=facts.started,
                seconds=facts.seconds,
                pods=int(summary.get("arrived") or summary.get("pods") or 0),
                placed=int(summary.get("placed") or 0),
                pending=int(summary.get("pending") or 0),
            )
        )
    return rows
