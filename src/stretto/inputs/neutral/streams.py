"""Lines of large text files, read one after the other in constant memory.

A published trace is often packed, in one tar archive, or too large for memory. These functions
unpack while they read, so a file of any size costs one line.
"""

import gzip
import io
import tarfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Final

from stretto.base.errors import InputError
from stretto.inputs.neutral.files import check_regular, unreadable_file

MAX_LINE: Final = 4 << 20
"""Maximum length of a line in bytes; a longer line is not a row of a table."""
START: Final = 64 << 10
"""Number of bytes at the start of a file that determine its kind."""
_GZIP_MAGIC: Final = b"\x1f\x8b"
_TAR_MAGIC: Final = b"ustar"
_TAR_MAGIC_AT: Final = 257


def read_start(path: Path, size: int = START) -> bytes:
    """The first bytes of a file, unpacked if it is gzip or a tar archive, even a truncated one.

    Raises:
        InputError: the file cannot be read.
    """
    try:
        check_regular(path)
        with path.open("rb") as file:
            start = file.read(size)
        if start.startswith(_GZIP_MAGIC):
            start = zlib.decompressobj(wbits=31).decompress(start, size)
        if start[_TAR_MAGIC_AT : _TAR_MAGIC_AT + 5] != _TAR_MAGIC:
            return start
        with tarfile.TarFile.open(fileobj=io.BytesIO(start), mode="r|") as archive:
            first = next((member for member in archive if member.isfile()), None)
    except (OSError, EOFError, zlib.error, tarfile.TarError) as error:
        raise _unreadable(path, error) from error
    return start[first.offset_data : first.offset_data + first.size] if first is not None else b""


def text_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Number and text of each line, without its end; unpacks gzip and the first file of a tar.

    Raises:
        InputError: the file cannot be read, is binary, truncated, not UTF-8, or has a line of more
            than ``MAX_LINE`` bytes.
    """
    number = 0
    try:
        with ExitStack() as stack:
            file = _opened(path, stack)
            while raw := file.readline(MAX_LINE + 1):
                number += 1
                yield number, _decoded(raw, f"{path}, line {number}", first=number == 1)
    except (OSError, EOFError, zlib.error, tarfile.TarError) as error:
        raise _unreadable(path, error, number) from error


def _opened(path: Path, stack: ExitStack) -> IO[bytes]:
    """The unpacked content of a file."""
    check_regular(path)
    raw = stack.enter_context(path.open("rb"))
    packed = raw.read(2) == _GZIP_MAGIC
    raw.seek(0)
    file: IO[bytes] = raw
    if packed:
        file = io.BufferedReader(stack.enter_context(gzip.GzipFile(fileobj=raw)))
    head = file.peek(_TAR_MAGIC_AT + 8) if isinstance(file, io.BufferedReader) else b""
    if head[_TAR_MAGIC_AT : _TAR_MAGIC_AT + 5] != _TAR_MAGIC:
        return file
    archive = stack.enter_context(tarfile.TarFile.open(fileobj=file, mode="r|"))
    for member in archive:
        found = archive.extractfile(member) if member.isfile() else None
        if found is not None:
            return found
    raise InputError(str(path), None, "an archive with a file", "fetch it again")


def _decoded(raw: bytes, where: str, *, first: bool) -> str:
    """A line as text, without its end and without a byte-order mark."""
    if len(raw) > MAX_LINE:
        raise InputError(where, None, f"a line of at most {MAX_LINE:,} bytes", "split the file")
    if b"\0" in raw:
        raise InputError(where, raw[:12], "text, not a binary file", "unpack or convert it first")
    try:
        return raw.decode("utf-8-sig" if first else "utf-8").rstrip("\r\n")
    except UnicodeDecodeError as error:
        found = raw[error.start : error.end]
        raise InputError(where, found, "UTF-8 text", "convert the file to UTF-8") from error


def _unreadable(path: Path, error: Exception, line: int = 0) -> InputError:
    """The error for a file that is missing, a folder or truncated."""
    if not line and isinstance(error, OSError):
        return unreadable_file(path, error)
    where = f"{path}, line {line + 1}" if line else str(path)
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    hint = "check the path and its permissions" if isinstance(error, OSError) else "fetch it again"
    return InputError(where, None, f"a readable file ({reason})", hint)
