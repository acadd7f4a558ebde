"""Files of a command: copied or downloaded into its sandbox, extracted, made executable.

The flag ``cache`` is ignored: each sandbox has its own copy.
"""

import stat
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import IO, Final
from urllib.error import HTTPError, URLError
from urllib.parse import unquote, urlsplit
from urllib.request import urlopen

import msgspec

from stretto.agent.tasks.containers.archives import ArchiveError, extract, is_archive
from stretto.offers.messages.schema import Message

BLOCK: Final = 1 << 20
"""Number of bytes per copied block."""


class FetchError(Exception):
    """A URI cannot be fetched; the text contains the URI and the reason."""


class Fetcher(msgspec.Struct, frozen=True):
    """Fetcher of URIs, within the permissions of an agent."""

    #: True if http and https are permitted.
    http: bool = False
    #: Base directory of relative paths; None if relative paths are refused.
    home: Path | None = None
    #: Timeout in seconds of a download that receives no bytes.
    stall_seconds: float = 60.0
    #: Maximum size of a file in bytes.
    largest: int = 16 << 30

    def fetch(self, uris: Iterable[Message], sandbox: Path, stopped: threading.Event) -> None:
        """Fetch all files of a command; block until they are complete.

        Raises:
            FetchError: a file cannot be fetched, or ``stopped`` is set meanwhile.
        """
        for uri in uris:
            value = uri["value"]
            try:
                self._fetch(uri, sandbox, stopped)
            except (OSError, ArchiveError, FetchError) as error:
                why = error.strerror if isinstance(error, OSError) and error.strerror else error
                raise FetchError(f"Failed to fetch '{value}': {why}") from error

    def _fetch(self, uri: Message, sandbox: Path, stopped: threading.Event) -> None:
        target = _target(uri, sandbox)
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            with self._open(uri["value"]) as source, target.open("wb") as file:
                self._copy(source, file, stopped)
        except OSError:
            target.unlink(missing_ok=True)
            raise
        if uri.get("executable"):
            target.chmod(target.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
        elif uri.get("extract", True) and is_archive(target.name):
            extract(target, target.parent)

    def _copy(self, source: IO[bytes], file: IO[bytes], stopped: threading.Event) -> None:
        size = 0
        while block := source.read(BLOCK):
            size += len(block)
            if stopped.is_set():
                raise FetchError("stopped")
            if size > self.largest:
                raise FetchError(f"the file is larger than {self.largest:,} bytes")
            file.write(block)

    def _open(self, value: str) -> IO[bytes]:
        """Open a URI for reading.

        Raises:
            FetchError: the scheme is not permitted, or the server cannot be reached.
            OSError: the file cannot be read.
        """
        parts = urlsplit(value)
        if parts.scheme in ("http", "https"):
            return self._download(value)
        if parts.scheme == "file":
            if parts.netloc not in ("", "localhost"):
                raise FetchError(f"the file is on another machine, {parts.netloc}")
            return _file(Path(unquote(parts.path)))
        if parts.scheme:
            expected = "expected a path, file://, http:// or https://"
            raise FetchError(f"the scheme '{parts.scheme}' is not supported; {expected}")
        path = Path(value)
        if path.is_absolute():
            return _file(path)
        if self.home is None:
            raise FetchError(
                "the path is relative; use an absolute path, or start the agent with "
                "--frameworks-home"
            )
        return _file(self.home / path)

    def _download(self, value: str) -> IO[bytes]:
        if not self.http:
            raise FetchError("downloads are disabled; start the agent with --fetch-http")
        try:
            answer: IO[bytes] = urlopen(value, timeout=self.stall_seconds)
        except HTTPError as error:
            error.close()
            raise FetchError(f"the server answers {error.code} {error.reason}") from error
        except URLError as error:
            raise FetchError(str(error.reason)) from error
        return answer


def _file(path: Path) -> IO[bytes]:
    if path.is_dir():
        raise FetchError("the path is a directory")
    return path.open("rb")


def _target(uri: Message, sandbox: Path) -> Path:
    """Return the path at which a file is written.

    Raises:
        FetchError: the URI has no file name, or ``output_file`` leaves the sandbox.
    """
    name = uri.get("output_file") or unquote(urlsplit(uri["value"]).path).rpartition("/")[2]
    path = Path(name)
    if not path.name or (path.name in ("stdout", "stderr") and path.parent == Path()):
        raise FetchError("the URI has no file name; set output_file")
    if path.is_absolute() or ".." in path.parts:
        raise FetchError(f"output_file '{name}' leaves the sandbox")
    return sandbox / path
