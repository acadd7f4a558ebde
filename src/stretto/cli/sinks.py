"""Where data goes: checked before any work, written whole or not at all.

A command that computes for a minute must not find at its end that the folder is missing. So the
target is probed while options are parsed, and the file appears under its name only when
it is complete.
"""

import contextlib
import os
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, Protocol, runtime_checkable

import click

from stretto.base.errors import InputError

#: Spelling of "standard output" wherever a path is asked for.
STDOUT: Final = "-"


@runtime_checkable
class NumpyValue(Protocol):
    """NumPy's scalars and arrays, without importing NumPy."""

    def tolist(self) -> object:
        """Plain Python of the same value."""
        ...


def check_file(where: str, name: str) -> None:
    """Refuse a file that could not be written.

    Raises:
        InputError: its folder is missing or closed to us, or the name is a folder's.
    """
    if name == STDOUT:
        return
    path = Path(name)
    if path.is_dir():
        raise InputError(where, name, "a file, not a folder", "add a file name")
    if path.exists():
        if not os.access(path, os.W_OK):
            raise InputError(where, name, "a file that can be written", "choose another path")
        if not path.is_file():
            return
    probe(where, path.parent)


def check_folder(where: str, path: Path) -> None:
    """Make an output folder and refuse one that could not be written.

    Raises:
        InputError: the folder above is missing, the name is a file's, or writing is refused.
    """
    if path.exists() and not path.is_dir():
        raise InputError(where, str(path), "a folder, not a file", "choose another path")
    if not path.exists():
        if not path.parent.is_dir():
            hint = f"make {path.parent} first"
            raise InputError(where, str(path), "a path whose folder exists", hint)
        try:
            path.mkdir()
        except OSError as error:
            expected = f"a folder that can be made ({error.strerror})"
            raise InputError(where, str(path), expected, "choose another path") from error
    probe(where, path)


def probe(where: str, folder: Path) -> None:
    """Write a nameless file into a folder, to know that it can be done."""
    if not folder.is_dir():
        raise InputError(where, str(folder), "a folder that exists", f"make {folder} first")
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        expected = f"a folder that can be written ({error.strerror})"
        raise InputError(where, str(folder), expected, "choose another path") from error


def write_json(name: str, payload: Mapping[str, Any]) -> None:
    """Write an object as JSON, indented, to a file or to standard output."""
    import msgspec

    raw = msgspec.json.encode(payload, enc_hook=plain)
    text = msgspec.json.format(raw, indent=2) + b"\n"
    if name == STDOUT:
        click.echo(text, nl=False)
    else:
        write_whole(Path(name), text)


def plain(value: object) -> object:
    """NumPy's numbers and arrays as Python's; a path as text."""
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, NumpyValue):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} has no form in JSON")


def write_whole(path: Path, content: bytes) -> None:
    """Write beside the target, then put it in its place: a reader never sees half a file."""
    if path.exists() and not path.is_file():
        with _named(path):
            path.write_bytes(content)
        return
    target = path.resolve()
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name[:100]}.")
    try:
        with _named(path):
            with os.fdopen(handle, "wb") as stream:
                stream.write(content)
            os.chmod(name, 0o644)
            os.replace(name, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise


@contextlib.contextmanager
def _named(path: Path) -> Iterator[None]:
    """Say of an I/O error which file it is about, by the name that the user knows."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error
