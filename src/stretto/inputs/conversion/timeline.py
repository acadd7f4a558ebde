"""Intermediate form between a source and a recording: objects at second 0, and timed changes."""

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import msgspec

from stretto.api.kinds.table import recorded_kinds, word_of
from stretto.api.wire.kinds import POD, Kind
from stretto.inputs.objects.recordings import FORMAT, ChangeType, RecordingHeader, RecordingWriter

TimedChange = tuple[float, ChangeType, Kind, dict[str, Any]]
"""Second, type, kind and object of a change."""
_REPORTED: Final = 1000
"""Changes between two reports of progress."""
OnWritten = Callable[[int], None]
"""Callback with the number of pods whose arrival is written."""


class TimelineCounts(msgspec.Struct, frozen=True):
    """Counts of a timeline."""

    #: Nodes at second 0.
    nodes: int
    #: Pods.
    pods: int
    #: Gangs.
    gangs: int = 0
    #: Pods with the node on which they ran.
    placed: int = 0


class Timeline(msgspec.Struct, frozen=True):
    """A source in the form that a recording is written from."""

    #: Format of the source, for people.
    format: str
    #: Counts of its contents.
    counts: TimelineCounts
    #: Objects at second 0.
    objects: Iterable[tuple[Kind, dict[str, Any]]]
    #: Later changes by time; they are created while they are written.
    changes: Iterable[TimedChange]
    #: Seconds covered.
    seconds: float
    #: RFC 3339 time of second 0; empty if unknown.
    started: str = ""
    #: Second of the source that is second 0.
    origin_s: float = 0.0
    #: Sentences about omissions and assumptions.
    notes: tuple[str, ...] = ()


def write_timeline(timeline: Timeline, out: Path, on_written: OnWritten) -> int:
    """Write a recording completely or not at all; return the number of changes.

    Raises:
        InputError: the file cannot be written.
    """
    words = [word_of(kind) for kind in recorded_kinds()]
    counter = _Counter(on_written)
    device = out.exists() and not out.is_file()
    target = out if device else out.with_name(f".part-{os.getpid()}-{out.name[:200]}")
    try:
        with RecordingWriter(target, RecordingHeader(FORMAT, timeline.started, words)) as writer:
            writer.there(timeline.objects)
            writer.begun()
            writer.history(counter.counted(timeline.changes))
            writer.end(timeline.seconds)
        if not device:
            target.replace(out)
    finally:
        if not device:
            target.unlink(missing_ok=True)
    return counter.changes


class _Counter:
    """Counts changes and reports the pods among them."""

    def __init__(self, on_written: OnWritten) -> None:
        self._on_written = on_written
        #: Changes so far.
        self.changes = 0

    def counted(self, changes: Iterable[TimedChange]) -> Iterator[TimedChange]:
        """The changes; every thousandth one reports the pods so far."""
        pods = 0
        for change in changes:
            self.changes += 1
            pods += change[1] is ChangeType.ADDED and change[2] is POD
            if self.changes % _REPORTED == 0:
                self._on_written(pods)
            yield change
        self._on_written(pods)
