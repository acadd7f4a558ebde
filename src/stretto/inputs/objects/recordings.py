"""Recordings: the objects of a cluster at one moment, and all later changes.

A text file of JSON lines, packed if its name ends in ``.gz``: a header, the objects at the start,
changes with their seconds, and one line for the end. A truncated recording (its process was killed)
is valid up to its last complete line.
"""

import codecs
import gzip
import os
import zlib
from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from pathlib import Path
from typing import IO, Any, Final, Self

import msgspec

from stretto.api.kinds.table import kind_of, kind_with_word, word_of
from stretto.api.wire.kinds import Kind
from stretto.base.errors import QUOTED_CHARS, InputError
from stretto.inputs.neutral.files import check_regular
from stretto.inputs.objects.redaction import redacted

FORMAT: Final = "stretto.recording/v1"
"""Format identifier of the first line."""
MAX_LINE: Final = 4 << 20
"""Maximum length of a line in bytes; an API server refuses objects above about 1.5 MB."""
DAMAGED: Final = "remove the line, or record again"
"""Advice for an invalid line."""


class ChangeType(Enum):
    """Type of a change, as in a watch."""

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
    #: Recorded kinds; objects of other kinds are not in the file.
    kinds: list[str] = []


class RecordedChange(msgspec.Struct, frozen=True, gc=False):
    """An object at the start, or a change."""

    #: Seconds since the start; 0 for initial objects.
    time_s: float
    #: Type of the change; ``ADDED`` for initial objects.
    type: ChangeType
    #: Its kind.
    kind: Kind
    #: Namespace; empty for cluster-scoped kinds.
    namespace: str
    #: Name.
    name: str
    #: Its uid.
    uid: str
    #: The object after the change, as in the file.
    body: dict[str, Any]


class Recording(msgspec.Struct, frozen=True):
    """A whole recording in memory."""

    #: Its path, for messages.
    where: str
    #: Its first line.
    header: RecordingHeader
    #: Initial objects.
    start: Sequence[RecordedChange]
    #: Changes in order.
    changes: Sequence[RecordedChange]
    #: Seconds covered.
    seconds: float
    #: True if the end is missing, because the process was killed or is still writing.
    cut_off: bool


class _RecordingLine(msgspec.Struct, frozen=True, omit_defaults=True):
    """Any line except the first."""

    #: Seconds since the start.
    t: float = 0.0
    #: ``ADDED``, ``MODIFIED`` or ``DELETED``; empty for initial objects.
    type: str = ""
    #: Kind of the object; empty for the last line.
    kind: str = ""
    #: The object.
    object: dict[str, Any] = {}
    #: True if this is the last line.
    end: bool = False


def _change_line(second: float, what: ChangeType, kind: Kind, body: dict[str, Any]) -> bytes:
    line = _RecordingLine(second, what.value, word_of(kind), redacted(kind, body))
    return msgspec.json.encode(line)


class RecordingWriter:
    """Writes a recording in batches; each batch is on disk before the next one is written."""

    def __init__(self, path: Path, header: RecordingHeader) -> None:
        """Open a temporary file next to the target; ``begun`` renames it.

        Raises:
            InputError: the file cannot be written.
        """
        self._path = path
        self._temporary: Path | None = None
        try:
            if path.exists() and not path.is_file():
                raw = path.open("wb")
            else:
                target = path.resolve()
                self._temporary = target.with_name(f".{target.name[:100]}.{os.getpid()}")
                raw = self._temporary.open("wb")
        except OSError as error:
            raise _unwritable(path, error) from error
        packed = path.suffix == ".gz"
        self._file: IO[bytes] | gzip.GzipFile = gzip.GzipFile("", "wb", 6, raw) if packed else raw
        self._raw = raw
        self._write([msgspec.json.encode(header)])

    def there(self, objects: Iterable[tuple[Kind, dict[str, Any]]]) -> None:
        """Write initial objects."""
        self._write(
            msgspec.json.encode(_RecordingLine(kind=word_of(kind), object=redacted(kind, body)))
            for kind, body in objects
        )

    def begun(self) -> None:
        """Complete the initial objects: rename the file and replace an older one.

        If the list of a cluster fails, an older recording is kept.
        """
        if self._temporary is None:
            return
        try:
            self._temporary.replace(self._path.resolve())
        except OSError as error:
            raise _unwritable(self._path, error) from error
        self._temporary = None

    def changed(
        self, time_s: float, changes: Iterable[tuple[ChangeType, Kind, dict[str, Any]]]
    ) -> None:
        """Write the changes of a second."""
        second = round(time_s, 3)
        self._write(_change_line(second, what, kind, body) for what, kind, body in changes)

    def history(self, changes: Iterable[tuple[float, ChangeType, Kind, dict[str, Any]]]) -> None:
        """Write the changes of many seconds, in order of time, as one batch."""
        self._write(
            _change_line(round(at, 3), what, kind, body) for at, what, kind, body in changes
        )

    def end(self, time_s: float) -> None:
        """Write the end and close the file."""
        self._write([msgspec.json.encode(_RecordingLine(t=round(time_s, 3), end=True))])
        self.close()

    def close(self) -> None:
        """Close the file without an end; remove it if its start is incomplete."""
        self._file.close()
        self._raw.close()
        if self._temporary is not None:
            self._temporary.unlink(missing_ok=True)
            self._temporary = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
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
        InputError: the file is not a recording, or a line is invalid.
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
            raise InputError(where, line.t, f"a second of at least {changes[-1].time_s}", DAMAGED)
        (changes if line.type else start).append(change)
    if header is None:
        raise InputError(str(path), None, "a recording", "make one with: stretto record")
    seconds = ended if ended is not None else (changes[-1].time_s if changes else 0.0)
    return Recording(str(path), header, start, changes, seconds, cut_off=ended is None)


def _lines(path: Path) -> Iterator[tuple[int, bytes, bool]]:
    """Number and text of each line; true in third place if it is complete."""
    number = 0
    try:
        with _opened(path) as file:
            while text := file.readline(MAX_LINE + 1):
                number += 1
                if len(text) > MAX_LINE:
                    raise InputError(f"{path}, line {number}", None, f"at most {MAX_LINE} bytes")
                plain = text.removeprefix(codecs.BOM_UTF8) if number == 1 else text
                yield number, plain, text.endswith(b"\n")
    except EOFError:  # compressed and truncated
        return
    except (OSError, zlib.error) as error:
        raise InputError(str(path), None, "a file that can be read", str(error)) from error


def _opened(path: Path) -> IO[bytes] | gzip.GzipFile:
    check_regular(path)
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
        hint = "record again with this version, or use the version that wrote it"
        raise InputError(f"{where}: recording", header.recording, FORMAT, hint)
    return header


def _line(text: bytes, where: str, whole: bool) -> _RecordingLine | None:
    """A line; ``None`` if it is truncated."""
    try:
        return msgspec.json.decode(text, type=_RecordingLine)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        if not whole:
            return None
        expected = f"a line of a recording ({error})"
        raise InputError(where, _shown(text), expected, DAMAGED) from error


def _shown(text: bytes) -> str:
    """The start of a line, as text."""
    return text[:QUOTED_CHARS].decode("utf-8", "replace").strip()


def _change(line: _RecordingLine, where: str) -> RecordedChange:
    kind = _kind(line, where)
    if line.type and line.type not in _TYPES:
        raise InputError(f"{where}: type", line.type, f"one of {', '.join(_TYPES)}", DAMAGED)
    if not line.t >= 0:
        raise InputError(f"{where}: t", line.t, "seconds of 0 or more", DAMAGED)
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


def _kind(line: _RecordingLine, where: str) -> Kind:
    """The kind of a line; an unregistered kind is generic, with the names in its object."""
    known = kind_with_word(line.kind)
    if known is not None:
        return known
    stated = line.object.get("apiVersion"), line.object.get("kind")
    if not line.kind or not all(isinstance(each, str) and each for each in stated):
        raise InputError(f"{where}: kind", line.kind, "a registered kind", DAMAGED)
    generic = kind_of(str(stated[0]), str(stated[1]), lenient=True)
    if line.kind not in (word_of(generic), generic.kind):
        raise InputError(f"{where}: kind", line.kind, "a registered kind", DAMAGED)
    return generic


def _unwritable(path: Path, error: OSError) -> InputError:
    return InputError(str(path), None, "a file that can be written", str(error.strerror or error))
