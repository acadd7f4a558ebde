"""Output files and folders: checked before any work, written completely or not at all.

A command that runs for a minute must not fail at the end because of a missing folder. Targets are
therefore checked while options are parsed, and a file gets its name only when it is complete.
"""

import contextlib
import os
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, Protocol, runtime_checkable

import click

from stretto.base.errors import InputError

#: Path that means standard output.
STDOUT: Final = "-"


@runtime_checkable
class NumpyValue(Protocol):
    """A NumPy scalar or array, without importing NumPy."""

    def tolist(self) -> object:
        """Return the same value as plain Python."""
        ...


def check_file(where: str, name: str) -> None:
    """Refuse a file that is not writable.

    Raises:
        InputError: its folder is missing or not writable, or the name is a folder.
    """
    if name == STDOUT:
        return
    path = Path(name)
    if path.is_dir():
        raise InputError(where, name, "a file, not a folder", "add a file name")
    if path.exists():
        if not os.access(path, os.W_OK):
            raise InputError(where, name, "a writable file", "choose another path")
        if not path.is_file():
            return
    probe(where, path.parent)


def check_folder(where: str, path: Path) -> None:
    """Refuse an output folder that is neither writable nor creatable; the first file creates it.

    Raises:
        InputError: the parent folder is missing, the name is a file, or it is not writable.
    """
    if path.exists() and not path.is_dir():
        raise InputError(where, str(path), "a folder, not a file", "choose another path")
    if path.exists():
        probe(where, path)
        return
    if not path.parent.is_dir():
        hint = f"create {path.parent} first"
        raise InputError(where, str(path), "a path whose folder exists", hint)
    probe(where, path.parent)


def probe(where: str, folder: Path) -> None:
    """Write an anonymous file into a folder to verify that the folder is writable."""
    if not folder.is_dir():
        raise InputError(where, str(folder), "an existing folder", f"create {folder} first")
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        expected = f"a writable folder ({error.strerror})"
        raise InputError(where, str(folder), expected, "choose another path") from error


def write_json(name: str, payload: Mapping[str, Any]) -> None:
    """Write an object as indented JSON to a file or to standard output."""
    import msgspec

    raw = msgspec.json.encode(payload, enc_hook=plain)
    text = msgspec.json.format(raw, indent=2) + b"\n"
    if name == STDOUT:
        click.echo(text, nl=False)
    else:
        write_whole(Path(name), text)


def plain(value: object) -> object:
    """Convert NumPy values to Python, and paths to text."""
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, NumpyValue):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} cannot be written as JSON")


def write_whole(path: Path, content: bytes) -> None:
    """Write a temporary file and rename it; readers never see a partial file.

    The folder is created if it does not exist.
    """
    if path.exists() and not path.is_file():
        with _named(path):
            path.write_bytes(content)
        return
    target = path.resolve()
    with _named(path):
        target.parent.mkdir(parents=True, exist_ok=True)
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
    """Add the user's path to I/O errors."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error
