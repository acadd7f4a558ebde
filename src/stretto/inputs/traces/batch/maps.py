"""The map from the columns of a CSV file to the values of batch jobs, as written in YAML.

A value is the name of a column, a number for all rows, or a mapping with the column, its unit and
its format:

    submit: {column: submitted, format: "%d.%m.%Y %H:%M", zone: Europe/Berlin} duration: {column:
        minutes, unit: min} gpus: 1 user: owner
"""

from pathlib import Path
from typing import Any, Final, Literal
from zoneinfo import ZoneInfo

import msgspec

from stretto.api.edit.yaml_text import load_documents
from stretto.base.errors import InputError
from stretto.inputs.neutral.files import read_text
from stretto.inputs.neutral.strict import strict
from stretto.inputs.traces.batch.jobs import BatchJobs

MAX_MAP_BYTES: Final = 1 << 20
"""Size of a map with thousands of values; rows belong in the CSV file."""
TIME_UNITS: Final = {
    "ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0,
}  # fmt: skip
"""Seconds of each unit of time."""
MEMORY_UNITS: Final = {
    "B": 2.0**-20, "KB": 1e3 * 2.0**-20, "MB": 1e6 * 2.0**-20, "GB": 1e9 * 2.0**-20,
    "TB": 1e12 * 2.0**-20, "KiB": 2.0**-10, "MiB": 1.0, "GiB": 2.0**10, "TiB": 2.0**20,
}  # fmt: skip
"""MiB of each unit of memory."""
CPU_UNITS: Final = {"cores": 1000.0, "milli": 1.0, "percent": 10.0}
"""Thousandths of a core of each unit of CPU."""
GPU_UNITS: Final = {"gpus": 1000.0, "milli": 1.0, "percent": 10.0}
"""Thousandths of a GPU of each unit of GPUs."""
NUMBER_UNITS: Final = {"": 1.0}
"""The unit of plain numbers."""


class ColumnSpec(msgspec.Struct, frozen=True, kw_only=True):
    """Format of a column."""

    #: Its name in the header.
    column: str
    #: Its unit; empty for the default (s, MiB, cores, gpus).
    unit: str = ""
    #: Factor of its numbers, besides the unit.
    factor: float = 1.0
    #: A format of ``strptime`` such as ``%d.%m.%Y %H:%M``; empty for numbers, ISO 8601 and clocks.
    format: str = ""
    #: Time zone of times without one; empty for the zone of the map.
    zone: str = ""
    #: Numbers or names for words in its cells, such as ``{high: 100, low: 0}``.
    values: dict[str, float | str] = {}
    #: The value of unknown cells; absent refuses or omits them.
    default: float | str | None = None


ValueSpec = str | int | float | ColumnSpec
"""A column by name, a constant, or a column with unit and format."""


class ColumnMap(msgspec.Struct, frozen=True, kw_only=True):
    """The values of a job by column; amounts are those of one pod."""

    #: Time of its submission.
    submit: ValueSpec
    #: Its run time.
    duration: ValueSpec | None = None
    #: Time of its start, with ``end``; absent means the submission.
    start: ValueSpec | None = None
    #: Time of its end; the run time is the time since ``start``.
    end: ValueSpec | None = None
    #: CPU.
    cpu: ValueSpec = 0
    #: Memory.
    memory: ValueSpec = 0
    #: GPUs; a fraction below 1 is a share.
    gpus: ValueSpec = 0
    #: Number of pods that start together; if absent, the nodes determine the split of a large job.
    pods: ValueSpec | None = None
    #: Name, unique in the file; absent numbers the rows.
    name: str | None = None
    #: The user.
    user: ValueSpec = ""
    #: The user's group.
    group: ValueSpec = ""
    #: The queue.
    queue: ValueSpec = ""
    #: The partition.
    partition: ValueSpec = ""
    #: Priority; the highest is scheduled first.
    priority: ValueSpec = 0
    #: The user's estimate of the run time.
    estimate: ValueSpec | None = None
    #: Scope of amounts: one pod or the whole job.
    requests: Literal["pod", "job"] = "pod"
    #: The character between two cells.
    separator: str = ","
    #: Time zone of times without one, such as ``Europe/Berlin``.
    zone: str = "UTC"
    #: Cells that mean unknown, besides empty ones.
    unknown: tuple[str, ...] = ("-1", "NA", "N/A", "NaN", "nan", "None", "null", "NULL")


class MappedJobs(BatchJobs, frozen=True, kw_only=True):
    """A workload of batch jobs in a CSV file of any columns."""

    #: The column map, or a file with the map, relative to the scenario.
    columns: str | ColumnMap = ""


def read_map(path: Path) -> ColumnMap:
    """The map in a YAML file.

    Raises:
        InputError: the file cannot be read, or a key or value in it cannot be used.
    """
    documents = list(load_documents(read_text(path, MAX_MAP_BYTES), str(path)))
    data = documents[0][1] if len(documents) == 1 else None
    if not isinstance(data, dict):
        hint = "docs/traces.md shows one: submit: COLUMN, duration: COLUMN, cpu: COLUMN"
        raise InputError(str(path), data, "one mapping of values to columns", hint)
    return checked_map(strict(ColumnMap, data, str(path)), str(path))


def checked_map(found: ColumnMap, where: str) -> ColumnMap:
    """A map after a check of its choices.

    Raises:
        InputError: a value of the map cannot be used.
    """
    ends = [name for name in ("duration", "end") if getattr(found, name) is not None]
    if len(ends) != 1:
        got = " and ".join(ends) or None
        raise InputError(where, got, "exactly one of duration, end", "set the column of one")
    if found.start is not None and found.end is None:
        raise InputError(f"{where}: start", found.start, "end as well", "set the column of the end")
    if len(found.separator) != 1 or found.separator in '"\n\r':
        hint = 'for tabs write "\\t" in quotes'
        raise InputError(f"{where}: separator", found.separator, "one character", hint)
    zone_of(found.zone, f"{where}: zone")
    return found


def zone_of(name: str, where: str) -> ZoneInfo:
    """A time zone by name.

    Raises:
        InputError: there is no such zone.
    """
    try:
        return ZoneInfo(name)
    except (ValueError, OSError, LookupError) as error:
        expected = "a time zone such as UTC or Europe/Berlin"
        raise InputError(where, name, expected, "use a name of the tz database") from error


def spec_of(value: Any) -> ColumnSpec | None:
    """A value of the map as a column; ``None`` for a constant."""
    if isinstance(value, ColumnSpec):
        return value
    return ColumnSpec(column=value) if isinstance(value, str) and value else None
