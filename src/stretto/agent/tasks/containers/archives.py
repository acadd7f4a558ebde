"""Archives in a task's URIs: extracted without leaving their directory."""

import gzip
import shutil
import tarfile
import zipfile
from pathlib import Path
from typing import Final

_TAR: Final = (".tar", ".tgz", ".tar.gz", ".tbz2", ".tar.bz2", ".txz", ".tar.xz")
_MODE: Final = 0o777


class ArchiveError(Exception):
    """An archive cannot be extracted; the text contains the reason."""


def is_archive(name: str) -> bool:
    """Return whether a file with this name is extracted."""
    return name.endswith((*_TAR, ".gz", ".zip"))


def extract(archive: Path, target: Path) -> None:
    """Extract an archive into a directory; refuse links and paths that leave the directory.

    Raises:
        ArchiveError: the archive is damaged, or contains a path outside the directory.
        OSError: a file cannot be written.
    """
    try:
        if archive.name.endswith(_TAR):
            with tarfile.open(archive) as packed:
                packed.extractall(target, filter="data")
        elif archive.name.endswith(".zip"):
            _unzip(archive, target)
        else:
            with gzip.open(archive) as packed_file, archive.with_suffix("").open("wb") as file:
                shutil.copyfileobj(packed_file, file)
    except (tarfile.TarError, zipfile.BadZipFile, EOFError, gzip.BadGzipFile) as error:
        raise ArchiveError(f"{archive.name} cannot be extracted: {error}") from error


def _unzip(archive: Path, target: Path) -> None:
    """Extract a zip file with the permissions of its files."""
    with zipfile.ZipFile(archive) as packed:
        for entry in packed.infolist():
            if Path(entry.filename).is_absolute() or ".." in Path(entry.filename).parts:
                raise ArchiveError(f"{archive.name} has a path outside: {entry.filename}")
        for entry in packed.infolist():
            written = Path(packed.extract(entry, target))
            mode = entry.external_attr >> 16 & _MODE
            if mode and not entry.is_dir():
                written.chmod(mode)
