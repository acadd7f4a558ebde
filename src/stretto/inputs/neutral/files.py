"""Reading user files: size limits and encoding checks before any parser runs.

A trace or manifest may be missing, a folder, empty, binary, in another encoding, or a gzip bomb.
This module rejects all of these, so the readers see plain text of bounded size.
"""

import codecs
import gzip
import io
import stat
import sys
import zlib
from itertools import islice
from pathlib import Path
from typing import Final

from stretto.base.errors import InputError, suggestion
from stretto.base.nearest import nearest

MAX_TEXT_BYTES: Final = 256 << 20
"""Fifty times the largest known trace (5 MB unpacked), which fits in a laptop's memory."""
COMPARED: Final = 10_000
"""Maximum number of names in a folder that are compared with the name of a missing file."""
SIMILAR: Final = 0.7
"""Minimum similarity of two names without their suffixes, 0 to 1."""
UTF_16: Final = "utf-16"
"""Encoding of files that some tools on Windows write, with a byte-order mark."""
_GZIP_MAGIC: Final = b"\x1f\x8b"
_SPECIAL: Final = {
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}
"""Files without an end or without a beginning that can be read twice, by their type."""


def read_text(path: Path, limit: int = MAX_TEXT_BYTES) -> str:
    """The text of a file, unpacked if it is gzip, without a byte-order mark.

    Raises:
        InputError: the file cannot be read, is empty, binary, not UTF-8 or longer than ``limit``.
    """
    where = str(path)
    return decode_text(_unpacked(_read(path, limit), where, limit), where)


def read_stdin(limit: int = MAX_TEXT_BYTES) -> str:
    """The text of standard input, with the same checks."""
    where = "standard input"
    data = sys.stdin.buffer.read(limit + 1)
    return decode_text(_unpacked(_bounded(data, where, limit), where, limit), where)


def check_regular(path: Path) -> None:
    """Refuse a pipe, a socket or a device: its content is gone after one reading, or never ends.

    Raises:
        InputError: it is one of them.
        OSError: there is no such file.
    """
    found = _SPECIAL.get(stat.S_IFMT(path.stat().st_mode))
    if found:
        hint = "write its content to a file first, or give - where standard input is read"
        raise InputError(str(path), found, "a file", hint)


def encoding_of(data: bytes) -> str:
    """The encoding of a byte-order mark, as in kubectl: UTF-16 or by default UTF-8."""
    return UTF_16 if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else "utf-8-sig"


def decode_text(data: bytes, where: str) -> str:
    """Decode bytes to text; empty, binary and wrongly encoded data is refused."""
    if not data.strip():
        raise InputError(where, None, "text in the file", "check the path or fetch it again")
    encoding = encoding_of(data)
    if b"\0" in data and encoding != UTF_16:
        raise InputError(where, data[:12], "text, not a binary file", "unpack or convert it first")
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        found = data[error.start : error.end]
        raise InputError(
            f"{where}, line {line}", found, "UTF-8 text", "convert the file to UTF-8"
        ) from error


def _read(path: Path, limit: int) -> bytes:
    """The bytes of a file; unreadable and too long files are refused."""
    try:
        check_regular(path)
        with path.open("rb") as file:
            return _bounded(file.read(limit + 1), str(path), limit)
    except (OSError, ValueError) as error:
        raise unreadable_file(path, error) from error


def unreadable_file(path: Path, error: Exception) -> InputError:
    """The error for an unreadable file; for a missing file with a similar name."""
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    near = similar_path(path) if isinstance(error, FileNotFoundError) else ""
    hint = suggestion([near] if near else [], "check the path and its permissions")
    return InputError(str(path), None, f"a readable file ({reason})", hint)


def similar_path(path: Path) -> str:
    """The entry with the most similar name in the folder of a missing file; empty for none."""
    try:
        found = [each for each in islice(path.parent.iterdir(), COMPARED) if each.exists()]
    except OSError:
        return ""
    near = nearest(path.stem, {each.stem for each in found}, 1, cutoff=SIMILAR)
    names = [each.name for each in found if each.stem in near]
    best = nearest(path.name, names, 1, cutoff=0)
    return str(path.with_name(best[0])) if best else ""


def _bounded(data: bytes, where: str, limit: int) -> bytes:
    """The data; data beyond the limit is refused."""
    if len(data) > limit:
        raise InputError(where, f"{limit:,} bytes and more", f"at most {limit:,}", "split the file")
    return data


def _unpacked(data: bytes, where: str, limit: int) -> bytes:
    """The data, unpacked if it is gzip."""
    if not data.startswith(_GZIP_MAGIC):
        return data
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
            return _bounded(file.read(limit + 1), where, limit)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(
            where, data[:12], f"a whole gzip file ({error})", "fetch it again"
        ) from error
