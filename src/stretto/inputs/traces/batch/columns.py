"""Batch jobs in a CSV file with arbitrary columns, by a map from values to columns.

Times are numbers (since any moment), ISO 8601, or of a given format; durations are numbers or
clocks (``1-02:03:04``, ``02:03:04``, ``03:04``). A job without submission time or run time is
omitted. A number that cannot be used is refused with its cell; a column that the file does not have
is refused with the columns of the file.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from math import ceil
from pathlib import Path
from typing import Final, TypeVar

from stretto.base.errors import InputError, did_you_mean
from stretto.inputs.neutral.files import read_text
from stretto.inputs.neutral.fleet import MAX_MEMORY_MIB, WHOLE_GPU
from stretto.inputs.neutral.tables import CsvLayout, CsvTable
from stretto.inputs.traces.batch.jobs import CORE, MAX_SIZE, MAX_TIME_S, BatchJob, since_first
from stretto.inputs.traces.batch.maps import (
    CPU_UNITS,
    GPU_UNITS,
    MEMORY_UNITS,
    NUMBER_UNITS,
    TIME_UNITS,
    ColumnMap,
    ColumnSpec,
    MappedJobs,
    checked_map,
    read_map,
    spec_of,
    zone_of,
)
from stretto.inputs.traces.batch.tables import as_number, formatted, moment, names

ANY_COLUMNS: Final = CsvLayout((), others=True)
"""A table with the columns of the map."""
MAX_MOMENT_S: Final = 10**11
"""Maximum time in seconds: the year 5138; a larger number is in milliseconds."""
NO_SUBMISSION: Final = "no submission time"
"""Reason for omitting a job without submission time."""
NO_RUN_TIME: Final = "no run time"
"""Reason for omitting a job without run time."""
_CLOCK: Final = re.compile(
    r"(?:(\d{1,5})-)?(?:(\d{1,6}):)?(\d{1,6}):(\d{1,6}(?:\.\d{1,9})?)", re.ASCII
)
_MAX_PRIORITY: Final = 2**31 - 1
_A_DURATION: Final = "a duration 0 s or longer: a number, or a clock such as 1-02:03:04"

T = TypeVar("T")
Numbers = Sequence[float | None]


def load_mapped(path: Path, keys: MappedJobs) -> tuple[BatchJob, ...]:
    """The jobs of a file by the map of the keys, in file order.

    Raises:
        InputError: there is no map, it does not fit the file, or a cell cannot be used.
    """
    if not keys.columns:
        hint = "give --columns MAP.yaml (docs/traces.md shows one)"
        raise InputError("columns", None, f"a map for the columns of {path}", hint)
    if isinstance(keys.columns, ColumnMap):
        where = f"columns of {path}"
        return MappedTable(path, checked_map(keys.columns, where), where).jobs()
    where = str(keys.columns)
    return MappedTable(path, read_map(Path(where)), where).jobs()


class MappedTable:
    """A CSV file with its map."""

    def __init__(self, path: Path, columns: ColumnMap, where: str) -> None:
        """Read the file; ``where`` is the name of the map in messages."""
        self._map = columns
        self._where = where
        self._table = CsvTable(path, read_text(path), ANY_COLUMNS, columns.separator)
        self._table.some("job")
        self._unknown = frozenset(columns.unknown)
        for name in columns.__struct_fields__:
            value = getattr(columns, name)
            if isinstance(value, ColumnSpec):
                self._check_column(value.column, f"{name}.column")
            elif isinstance(value, str) and name not in ("requests", "separator", "zone") and value:
                self._check_column(value, name)

    def jobs(self) -> tuple[BatchJob, ...]:
        """The jobs, in file order."""
        submits, runs = self._moments("submit"), self._run_times()
        known = iter(since_first([each for each in submits if each is not None]))
        arrivals = [None if each is None else next(known) for each in submits]
        pods = self._pods()
        scale = pods if self._map.requests == "pod" else [1] * len(pods)
        gpus = self._amounts("gpus", GPU_UNITS, MAX_SIZE * WHOLE_GPU)
        amounts = zip(
            self._amounts("cpu", CPU_UNITS, MAX_SIZE * CORE),
            self._amounts("memory", MEMORY_UNITS, MAX_MEMORY_MIB),
            gpus,
            strict=True,
        )
        rest = zip(
            self._names(),
            self._durations("estimate"),
            self._numbers("priority", NUMBER_UNITS, (-_MAX_PRIORITY, _MAX_PRIORITY)),
            zip(
                *(self._texts(each) for each in ("user", "group", "queue", "partition")),
                strict=True,
            ),
            strict=True,
        )
        stated = self._map.pods is not None
        found = []
        for row, (
            start,
            run,
            count,
            times,
            (cpu, memory, gpu),
            (name, estimate, rank, who),
        ) in enumerate(zip(arrivals, runs, pods, scale, amounts, rest, strict=True)):
            whole, milli = self._gpus(row, gpu)
            found.append(
                BatchJob(
                    job_id=name,
                    submit_s=start or 0.0,
                    duration_s=run or 0.0,
                    cpu_milli=round(cpu) * times,
                    memory_mib=ceil(memory) * times,
                    gpus=whole * times,
                    gpu_milli=milli,
                    nodes=count if stated else 0,
                    estimate_s=estimate,
                    priority=round(rank or 0),
                    user=who[0],
                    group=who[1],
                    queue=who[2],
                    partition=who[3],
                    omitted=_flaw(start, run, count),
                )
            )
        return tuple(found)

    # ------------------------------------------------------------ values of all rows

    def _run_times(self) -> Numbers:
        """The run time of each job in seconds; ``None`` if it is unknown."""
        if self._map.end is None:
            return self._durations("duration")
        start = "start" if self._map.start is not None else "submit"
        starts, ends = self._moments(start), self._moments("end")
        found: list[float | None] = []
        for row, (first, last) in enumerate(zip(starts, ends, strict=True)):
            if first is not None and last is not None and not 0 <= last - first <= MAX_TIME_S:
                self._refuse(row, "end", f"a time not before {start}, and within 300 years of it")
            found.append(None if first is None or last is None else last - first)
        return found

    def _pods(self) -> list[int]:
        """The number of pods of each job; 1 if the map does not contain it."""
        if self._map.pods is None:
            return [1] * self._table.count
        counts = self._numbers("pods", NUMBER_UNITS, (0, MAX_SIZE))
        for row, count in enumerate(counts):
            if count is None or count != int(count):
                self._refuse(row, "pods", f"an integer 0..{MAX_SIZE}")
        return [int(count or 0) for count in counts]

    def _gpus(self, row: int, milli: float) -> tuple[int, int]:
        """(GPUs, milli of each) of a pod: whole GPUs, or a share of one."""
        whole = round(milli)
        if whole % WHOLE_GPU == 0:
            return whole // WHOLE_GPU, WHOLE_GPU
        if whole > WHOLE_GPU:
            self._refuse(row, "gpus", "whole GPUs, or a share of one")
        return 1, whole

    def _names(self) -> Sequence[str]:
        """The names of the jobs: a column, or the numbers of the rows."""
        if self._map.name is None:
            return [str(row + 1) for row in range(self._table.count)]
        return names(self._table, self._map.name)

    def _texts(self, name: str) -> Sequence[str]:
        """A text of each job; empty if it is unknown."""
        value = getattr(self._map, name)
        spec = spec_of(value)
        if spec is None:
            return [str(value)] * self._table.count
        default = "" if spec.default is None else str(spec.default)
        words = {key: str(each) for key, each in spec.values.items()}
        cells = [cell.strip() for cell in self._table.texts(spec.column)]
        return [default if self._is_unknown(cell) else words.get(cell, cell) for cell in cells]

    def _moments(self, name: str) -> Numbers:
        """A time of each job in seconds; ``None`` if it is unknown."""
        spec = self._spec(name)
        if spec is None:
            return [self._constant(name, (-MAX_MOMENT_S, MAX_MOMENT_S))] * self._table.count
        zone = zone_of(spec.zone or self._map.zone, f"{self._where}: {name}.zone")
        scale = self._scale(spec, name, TIME_UNITS)
        expected = "a number of seconds (or state a unit), or a time such as 2020-06-09 18:41:01"

        def read(cell: str) -> float | None:
            if spec.format:
                return formatted(cell, spec.format, zone)
            value = as_number(cell)
            seconds = moment(cell, zone) if value is None else value * scale
            return seconds if seconds is not None and abs(seconds) <= MAX_MOMENT_S else None

        shown = f"a time of the format {spec.format}" if spec.format else expected
        return self._cells(name, spec, read, shown)

    def _durations(self, name: str) -> Numbers:
        """A duration of each job in seconds; ``None`` if it is unknown."""
        spec = self._spec(name)
        if spec is None:
            known = getattr(self._map, name) is not None
            value = self._constant(name, (0, MAX_TIME_S)) if known else None
            return [value] * self._table.count
        scale = self._scale(spec, name, TIME_UNITS)

        def read(cell: str) -> float | None:
            value = as_number(cell)
            seconds = _clock(cell) if value is None else value * scale
            return seconds if seconds is not None and 0 <= seconds <= MAX_TIME_S else None

        return self._cells(name, spec, read, _A_DURATION)

    def _amounts(self, name: str, units: Mapping[str, float], high: int) -> list[float]:
        """An amount of each job; 0 if it is unknown."""
        return [value or 0.0 for value in self._numbers(name, units, (0, high))]

    def _numbers(
        self, name: str, units: Mapping[str, float], bounds: tuple[float, float]
    ) -> Numbers:
        """A number of each job within bounds; ``None`` if it is unknown."""
        spec = self._spec(name)
        low, high = bounds
        if spec is None:
            unit = next(iter(units.values())) if units is not MEMORY_UNITS else 1.0
            value = self._constant(name, (low / unit, high / unit))
            return [value * unit] * self._table.count
        scale = self._scale(spec, name, units)

        def read(cell: str) -> float | None:
            value = as_number(cell)
            amount = None if value is None else value * scale
            return amount if amount is not None and low <= amount <= high else None

        top = f"{high / scale:.15g}" if scale > 0 else "0"
        return self._cells(
            name, spec, read, f"a number {low / scale if scale else low:.15g}..{top}"
        )

    # ------------------------------------------------------------ cells

    def _cells(
        self, name: str, spec: ColumnSpec, read: Callable[[str], T | None], expected: str
    ) -> list[T | None]:
        """The cells of a column; ``None`` for unknown ones without default."""
        known: dict[str, T | None] = {}
        found: list[T | None] = []
        for row, raw in enumerate(self._table.texts(spec.column)):
            cell = raw.strip()
            if cell not in known:
                text = str(spec.values.get(cell, cell))
                if self._is_unknown(text):
                    text = "" if spec.default is None else str(spec.default)
                known[cell] = read(text) if text else None
                if text and known[cell] is None:
                    self._refuse(row, name, expected)
                if len(known) > _KEPT:
                    known = {cell: known[cell]}
            found.append(known[cell])
        return found

    def _constant(self, name: str, bounds: tuple[float, float]) -> float:
        """A number of the map that applies to all rows."""
        value, (low, high) = getattr(self._map, name), bounds
        if isinstance(value, str) or not low <= value <= high:
            expected = f"a column, or a number {low:.15g}..{high:.15g}"
            raise InputError(f"{self._where}: {name}", value, expected)
        return float(value)

    def _spec(self, name: str) -> ColumnSpec | None:
        """The column of a value; ``None`` for a constant."""
        return spec_of(getattr(self._map, name))

    def _scale(self, spec: ColumnSpec, name: str, units: Mapping[str, float]) -> float:
        """The factor of a column's numbers."""
        usual = (
            "MiB" if units is MEMORY_UNITS else "s" if units is TIME_UNITS else next(iter(units))
        )
        unit = spec.unit or usual
        if unit not in units:
            known = ", ".join(each for each in units if each) or "no unit"
            hint = did_you_mean(unit, units, "use factor for other units")
            raise InputError(f"{self._where}: {name}.unit", unit, f"one of {known}", hint)
        if not 0 < spec.factor < 1e30:
            raise InputError(f"{self._where}: {name}.factor", spec.factor, "a number above 0")
        return units[unit] * spec.factor

    def _is_unknown(self, cell: str) -> bool:
        return not cell or cell in self._unknown

    def _check_column(self, column: str, key: str) -> None:
        """Refuse a column that the file does not have."""
        if self._table.has(column):
            return
        hint = did_you_mean(column, self._table.columns, "check the separator and the header")
        shown = ", ".join(self._table.columns)
        expected = f"a column of {self._table.source}: {shown}"
        raise InputError(f"{self._where}: {key}", column, expected, hint)

    def _refuse(self, row: int, name: str, expected: str) -> None:
        """Refuse a cell of the column of a value."""
        spec = self._spec(name)
        if spec is None:
            raise InputError(f"{self._where}: {name}", getattr(self._map, name), expected)
        self._table.refuse(row, spec.column, f"{expected} ({name})")


_KEPT: Final = 100_000
"""Maximum number of distinct cells of a column whose values are cached."""


def _clock(text: str) -> float | None:
    """Seconds of a clock such as ``1-02:03:04`` or ``03:04``; ``None`` for other texts."""
    found = _CLOCK.fullmatch(text)
    if found is None:
        return None
    days, hours, minutes, seconds = (float(each or 0) for each in found.groups())
    return ((days * 24 + hours) * 60 + minutes) * 60 + seconds


def _flaw(start: float | None, run: float | None, pods: int) -> str:
    """Reason for omitting a job from a simulation; empty if it runs."""
    if start is None:
        return NO_SUBMISSION
    if run is None:
        return NO_RUN_TIME
    return "" if pods else "no pods"
