"""Recordings: what a cluster held at one moment, and everything that changed after it.

A text file of JSON lines, packed when its name ends in ``.gz``. The first line says what it is;
then come the objects as they were at the start, then changes with their seconds, then one line for
the end. A recording that was cut off (its process was killed) is good up to its last whole line.
"""

import gzip
import os
import zlib
from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Final, Self

import msgspec

from stretto.api.wire.kinds import KINDS, Kind
from stretto.base.errors import QUOTED_CHARS, InputError
from stretto.inputs.objects.redaction import redacted

FORMAT: Final = "stretto.recording/v1"
"""What the first line says."""
MAX_LINE: Final = 4 << 20
"""Longest line: an API server takes no object above 1.5 MB or so."""
DAMAGED: Final = "take the line out, or record anew"
"""What to do about a line that makes no sense."""
_KINDS: Final = {kind.word: kind for kind in KINDS}


class ChangeType(Enum):
    """What happened to an object, spelled as watches spell it."""

    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"


_TYPES: Final = {each.value: each for each in ChangeType}


class RecordingHeader(msgspec.Struct, frozen=True, omit_defaults=True):
    """The first line."""

    #: Must be ``FORMAT``.
    recording: str
    #: RFC 3339 time of second 0.
    started: str = ""
    #: Kinds that were listened to; others may exist and are not in the file.
    kinds: list[str] = []


class RecordedChange(msgspec.Struct, frozen=True, gc=False):
    """An object at the start, or one change of one."""

    #: Seconds since the start; 0 for what was there.
    time_s: float
    #: What happened; ``ADDED`` for what was there.
    type: ChangeType
    #: Its kind.
    kind: Kind
    #: Namespace; empty for cluster-scoped kinds.
    namespace: str
    #: Name.
    name: str
    #: Identity for life.
    uid: str
    #: The object after the change, as the file has it.
    body: dict[str, Any]


class Recording(msgspec.Struct, frozen=True):
    """A whole recording in memory."""

    #: Where it was read from, for messages.
    where: str
    #: Its first line.
    header: RecordingHeader
    #: What was there at the start.
    start: Sequence[RecordedChange]
    #: What changed, in order.
    changes: Sequence[RecordedChange]
    #: Seconds covered.
    seconds: float
    #: Whether the end is missing: its process was killed, or is still writing.
    cut_off: bool


class _RecordingLine(msgspec.Struct, frozen=True, omit_defaults=True):
    """Any line but the first."""

    #: Seconds since the start.
    t: float = 0.0
    #: ``ADDED``, ``MODIFIED`` or ``DELETED``; empty for what was there.
    type: str = ""
    #: Kind of the object; empty for the last line.
    kind: str = ""
    #: The object.
    object: dict[str, Any] = {}
    #: Whether this is the last line.
    end: bool = False


class RecordingWriter:
    """Writes a recording, batch by batch; each batch is on disk before the next is asked for."""

    def __init__(self, path: Path, header: RecordingHeader) -> None:
        """Begin a file beside its place: it has its name from ``begun`` on.

        Raises:
            InputError: the file cannot be written.
        """
        self._path = path
        self._beside: Path | None = None
        try:
            if path.exists() and not path.is_file():
                raw = path.open("wb")
            else:
                target = path.resolve()
                self._beside = target.with_name(f".{target.name[:100]}.{os.getpid()}")
                raw = self._beside.open("wb")
        except OSError as error:
            raise _unwritable(path, error) from error
        packed = path.suffix == ".gz"
        self._file: IO[bytes] | gzip.GzipFile = gzip.GzipFile("", "wb", 6, raw) if packed else raw
        self._raw = raw
        self._write([msgspec.json.encode(header)])

    def there(self, objects: Iterable[tuple[Kind, dict[str, Any]]]) -> None:
        """Keep what is there at the start."""
        self._write(
            msgspec.json.encode(_RecordingLine(kind=kind.word, object=redacted(kind, body)))
            for kind, body in objects
        )

    def begun(self) -> None:
        """The start is whole: the file takes its name, and one that had it is replaced.

        Whoever cannot list a cluster keeps the recording of yesterday.
        """
        if self._beside is None:
            return
        try:
            self._beside.replace(self._path.resolve())
        except OSError as error:
            raise _unwritable(self._path, error) from error
        self._beside = None

    def changed(
        self, time_s: float, changes: Iterable[tuple[ChangeType, Kind, dict[str, Any]]]
    ) -> None:
        """Keep what changed at a second."""
        second = round(time_s, 3)
        self._write(
            msgspec.json.encode(_RecordingLine(second, what.value, kind.word, redacted(kind, body)))
            for what, kind, body in changes
        )

    def end(self, time_s: float) -> None:
        """Say how long it was, and close the file."""
        self._write([msgspec.json.encode(_RecordingLine(t=round(time_s, 3), end=True))])
        self.close()

    def close(self) -> None:
        """Close the file without an end; one that never began is removed."""
        self._file.close()
        self._raw.close()
        if self._beside is not None:
            self._beside.unlink(missing_ok=True)
            self._beside = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _write(self, lines: Iterable[bytes]) -> None:
        try:
            for line in lines:
                self._file.write(line + b"\n")
            self._file.flush()
            self._raw.flush()
        except OSError as error:
            raise _unwritable(self._path, error) from error


def load_recording(path: Path) -> Recording:
    """Read a recording.

    Raises:
        InputError: it is none, or a line of it makes no sense; file and line are named.
    """
    start: list[RecordedChange] = []
    changes: list[RecordedChange] = []
    header: RecordingHeader | None = None
    ended: float | None = None
    for number, text, whole in _lines(path):
        where = f"{path}, line {number}"
        if header is None:
            header = _header(text, where)
            continue
        line = _line(text, where, whole)
        if line is None:
            break
        if line.end:
            ended = line.t
            break
        change = _change(line, where)
        if line.type and changes and change.time_s < changes[-1].time_s:
            raise InputError(where, line.t, f"a second from {changes[-1].time_s} on", DAMAGED)
        (changes if line.type else start).append(change)
    if header is None:
        raise InputError(str(path), None, "a recording", "make one with: stretto record")
    seconds = ended if ended is not None else (changes[-1].time_s if changes else 0.0)
    return Recording(str(path), header, start, changes, seconds, cut_off=ended is None)


def _lines(path: Path) -> Iterator[tuple[int, bytes, bool]]:
    """Number and text of each line, and whether it was whole."""
    number = 0
    try:
        with _opened(path) as file:
            while text := file.readline(MAX_LINE + 1):
                number += 1
                if len(text) > MAX_LINE:
                    raise InputError(f"{path}, line {number}", None, f"at most {MAX_LINE} bytes")
                yield number, text, text.endswith(b"\n")
    except EOFError:  # packed and cut off
        return
    except (OSError, zlib.error) as error:
        raise InputError(str(path), None, "a file that can be read", str(error)) from error


def _opened(path: Path) -> IO[bytes] | gzip.GzipFile:
    with path.open("rb") as file:
        packed = file.read(2) == b"\x1f\x8b"
    if packed:
        return gzip.open(path, "rb")
    return path.open("rb")


def _header(text: bytes, where: str) -> RecordingHeader:
    try:
        header = msgspec.json.decode(text, type=RecordingHeader)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        hint = "make one with: stretto record"
        expected = f"the first line of a recording ({FORMAT})"
        raise InputError(where, _shown(text), expected, hint) from error
    if header.recording != FORMAT:
        hint = "record anew with this version, or take the version that wrote it"
        raise InputError(f"{where}: recording", header.recording, FORMAT, hint)
    return header


def _line(text: bytes, where: str, whole: bool) -> _RecordingLine | None:
    """A line; ``None`` where it was cut off."""
    try:
        return msgspec.json.decode(text, type=_RecordingLine)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        if not whole:
            return None
        expected = f"a line of a recording ({error})"
        raise InputError(where, _shown(text), expected, DAMAGED) from error


def _shown(text: bytes) -> str:
    """The beginning of a line, as text."""
    return text[:QUOTED_CHARS].decode("utf-8", "replace").strip()


def _change(line: _RecordingLine, where: str) -> RecordedChange:
    kind = _KINDS.get(line.kind)
    if kind is None:
        raise InputError(f"{where}: kind", line.kind, "a kind that Stretto knows", DAMAGED)
    if line.type and line.type not in _TYPES:
        raise InputError(f"{where}: type", line.type, f"one of {', '.join(_TYPES)}", DAMAGED)
    if not line.t >= 0:
        raise InputError(f"{where}: t", line.t, "seconds from 0 on", DAMAGED)
    meta = line.object.get("metadata")
    name = meta.get("name") if isinstance(meta, dict) else None
    if not isinstance(meta, dict) or not isinstance(name, str) or not name:
        raise InputError(f"{where}: object.metadata.name", name, "a name", DAMAGED)
    return RecordedChange(
        line.t,
        _TYPES[line.type] if line.type else ChangeType.ADDED,
        kind,
        str(meta.get("namespace") or ("default" if kind.namespaced else "")),
        name,
        str(meta.get("uid") or ""),
        line.object,
    )


def _unwritable(path: Path, error: OSError) -> InputError:
    return InputError(str(path), None, "a file that can be written", str(error.strerror or error))
