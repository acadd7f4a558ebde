"""The results of simulations, comparisons and studies, kept as JSON next to the run records."""

import re
from pathlib import Path
from typing import Any, Final

import msgspec

from stretto.base.errors import InputError, NotFoundError
from stretto.explain.records.curves import CurvePlot, thinned
from stretto.explain.records.records import default_folder
from stretto.explain.words.amounts import count_of_known

KEPT: Final = 50
"""Number of results kept."""
MOST_BYTES: Final = 4 << 20
"""Maximum size of a kept result in bytes: the dashboard shows the figures of all results together.
"""
_SUFFIX: Final = ".json"


class KeptResult(msgspec.Struct, frozen=True):
    """One result."""

    #: Command line without the program name.
    command: str
    #: RFC 3339 time of its end.
    ended: str
    #: Result as ``--json`` writes it, with its schema.
    result: dict[str, Any]
    #: Its curves.
    plots: tuple[CurvePlot, ...] = ()


class ResultRecords:
    """Results in one folder."""

    def __init__(self, folder: Path | None = None) -> None:
        """Use a folder, by default the user's own; it may not exist yet."""
        self._folder = folder or default_folder().parent / "results"

    def keep(self, found: KeptResult) -> str:
        """Keep a result with its schema, and delete the oldest ones beyond the limit.

        Returns:
            the name of the result; empty if the result is larger than ``MOST_BYTES``.

        Raises:
            OSError: the folder is not writable.
        """
        plots = tuple(map(thinned, found.plots))
        content = msgspec.json.encode(msgspec.structs.replace(found, plots=plots), enc_hook=_plain)
        if len(content) > MOST_BYTES:
            return ""
        ended, schema = found.ended, str(found.result["schema"])
        self._folder.mkdir(parents=True, exist_ok=True)
        stamp = re.sub(r"[-:]", "", ended[:19]).replace("T", "-")
        word = re.sub(r"[^a-z0-9]+", "-", schema.removeprefix("stretto.").partition("/")[0])
        names = (f"{stamp}-{word}" + (f"-{n}" if n > 1 else "") for n in range(1, 1000))
        name = next(each for each in names if not self._path(each).exists())
        self._path(name).write_bytes(content)
        for old in self.names()[KEPT:]:
            self._path(old).unlink(missing_ok=True)
        return name

    def names(self) -> list[str]:
        """Names of all results, the latest first."""
        return sorted((each.stem for each in self._folder.glob(f"*{_SUFFIX}")), reverse=True)

    def read(self, name: str) -> KeptResult:
        """Read a result.

        Raises:
            NotFoundError: no result has that name.
            InputError: the file is damaged.
        """
        if name not in self.names():
            raise NotFoundError(f"result {name!r}", count_of_known(len(self.names()), "result"))
        try:
            return msgspec.json.decode(self._path(name).read_bytes(), type=KeptResult)
        except msgspec.DecodeError as error:
            raise InputError(name, "a damaged file", "a kept result") from error

    def _path(self, name: str) -> Path:
        return self._folder / f"{name}{_SUFFIX}"


def _plain(value: object) -> object:
    """Convert a value for JSON: NumPy scalars and arrays to Python values, other types to text."""
    convert = getattr(value, "tolist", None)
    return convert() if convert is not None else str(value)
