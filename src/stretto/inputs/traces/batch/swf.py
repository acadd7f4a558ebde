"""Logs in the Standard Workload Format of the Parallel Workloads Archive (version 2.2).

A line is a job with 18 numbers; ``-1`` means unknown, and lines that begin with ``;`` are header
comments. The size of a job is the requested number of processors, else the allocated one. Its
memory is the requested memory per processor, else the used one. The requested time is the estimate.

Lines of single bursts of a job (status 2 to 4) repeat its summary line and are not read. A job
without size or without run time is omitted. Feedback between jobs (fields 17 and 18) is not used.

Source: https://www.cs.huji.ac.il/labs/parallel/workload/swf.html
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from stretto.base.errors import InputError
from stretto.inputs.neutral.files import read_text
from stretto.inputs.neutral.fleet import MAX_MEMORY_MIB, FleetNode
from stretto.inputs.neutral.shapes import MAX_NODES
from stretto.inputs.neutral.tables import FIX_ROW
from stretto.inputs.traces.batch.jobs import (
    AMPLE_CPU_MILLI,
    AMPLE_MEMORY_MIB,
    CORE,
    MAX_SIZE,
    MAX_TIME_S,
    BatchJob,
    since_first,
)

FIELDS: Final = (
    "job number",
    "submit time",
    "wait time",
    "run time",
    "allocated processors",
    "average CPU time",
    "used memory",
    "requested processors",
    "requested time",
    "requested memory",
    "status",
    "user",
    "group",
    "executable",
    "queue",
    "partition",
    "preceding job",
    "think time",
)
"""The fields of a line, in order."""
CANCELLED: Final = 5
"""Status of a cancelled job; without run time, it was cancelled before its start."""
BURSTS: Final = frozenset({2, 3, 4})
"""Status of lines that describe a part of a job."""
INTERACTIVE: Final = "interactive"
"""The queue with number 0, by the convention of the format."""
_KIB_PER_MIB: Final = 1024
_VALUE: Final = r"-?\d{1,15}(?:\.\d{0,15})?(?:[eE][+-]?\d{1,2})?"
_NUMBER: Final = re.compile(_VALUE, re.ASCII)
_NUMBERS: Final = re.compile(rf"(?:{_VALUE}\n)*{_VALUE}", re.ASCII)
_COMMENT: Final = re.compile(r";+\s*(\w+)\s*:\s*(.*)")


class SwfHeader(msgspec.Struct, frozen=True):
    """The header comments that affect a simulation; 0 and empty mean unknown."""

    #: Nodes of the computer.
    nodes: int = 0
    #: Processors of the computer.
    processors: int = 0
    #: Second of the epoch at which the log begins.
    start_s: int = 0
    #: Names of queues by their number.
    queues: dict[str, str] = {}
    #: Names of partitions by their number.
    partitions: dict[str, str] = {}


class SwfLog(NamedTuple):
    """A log."""

    #: Its header.
    header: SwfHeader
    #: Its jobs in file order.
    jobs: tuple[BatchJob, ...]


class _Row(NamedTuple):
    """One line of data."""

    #: Its number in the file.
    line: int
    #: Its fields.
    cells: list[str]


def load_swf(path: Path) -> SwfLog:
    """The header and the jobs of a log (plain or gzip).

    Raises:
        InputError: a line is not a job of this format, or the log has no job.
    """
    comments: list[str] = []
    rows: list[_Row] = []
    for number, line in enumerate(read_text(path).splitlines(), start=1):
        text = line.strip()
        if text.startswith((";", "#")):
            comments.append(text)
        elif text:
            rows.append(_Row(number, text.split()))
    header = read_header(comments)
    source = _SwfRows(path, rows)
    return SwfLog(header, tuple(source.jobs(header)))


def swf_jobs(path: Path) -> tuple[BatchJob, ...]:
    """The jobs of a log, in file order."""
    return load_swf(path).jobs


def swf_nodes(path: Path) -> tuple[FleetNode, ...]:
    """The nodes that the header of a log describes.

    All have ⌊MaxProcs / MaxNodes⌋ processors; one more node has the remainder. Without MaxNodes,
    the processors are a pool.

    Raises:
        InputError: the header has no number of processors.
    """
    comments = [line for line in read_text(path).splitlines() if line.lstrip().startswith(";")]
    header = read_header([line.strip() for line in comments])
    total = header.processors or header.nodes
    if not total:
        expected = "the header comment MaxProcs or MaxNodes"
        raise InputError(str(path), None, expected, "describe the nodes: --nodes-like SHAPE:N")
    size = max(1, total // header.nodes) if header.nodes else min(total, AMPLE_CPU_MILLI // CORE)
    count = -(-total // size)
    if count > MAX_NODES:
        raise InputError(f"{path}: MaxProcs", total, f"at most {MAX_NODES:,} nodes")
    width = max(4, len(str(count - 1)))
    return tuple(
        FleetNode(
            f"node-{number:0{width}d}", CORE * min(size, total - number * size), AMPLE_MEMORY_MIB
        )
        for number in range(count)
    )


def read_header(comments: Sequence[str]) -> SwfHeader:
    """The header of lines such as ``; MaxProcs: 1024``; unknown and malformed ones are skipped.

    >>> read_header(["; MaxProcs: 64", "; Queue: 2 long jobs"]).queues
    {'2': 'long'}
    """
    numbers: dict[str, int] = {}
    names: dict[str, dict[str, str]] = {"queue": {}, "partition": {}}
    for line in comments:
        found = _COMMENT.match(line)
        if found is None:
            continue
        key, text = found[1].lower(), found[2].strip()
        if key in names:
            number, _, name = text.partition(" ")
            if number.isdecimal() and name.split():
                names[key][str(int(number))] = name.split()[0].rstrip(",;:.")
        elif (leading := re.match(r"\d{1,15}(?![\d.])", text)) is not None:
            numbers.setdefault(key, int(leading[0]))
    return SwfHeader(
        nodes=min(numbers.get("maxnodes", 0), MAX_SIZE),
        processors=min(numbers.get("maxprocs", 0), MAX_SIZE),
        start_s=numbers.get("unixstarttime", 0),
        queues=names["queue"],
        partitions=names["partition"],
    )


class _SwfRows:
    """The lines of data of one log."""

    def __init__(self, path: Path, rows: Sequence[_Row]) -> None:
        self._path = path
        self._rows = rows
        for row in rows:
            if len(row.cells) < len(FIELDS):
                where = f"{path}, line {row.line}"
                expected = f"{len(FIELDS)} numbers separated by spaces"
                raise InputError(where, f"{len(row.cells)} fields", expected, FIX_ROW)
        if not rows:
            hint = "the log was cut off, or is the wrong file"
            raise InputError(str(path), None, "at least one line with a job", hint)

    def jobs(self, header: SwfHeader) -> list[BatchJob]:
        """The jobs, without the lines of single bursts."""
        statuses = self._column("status", -1, 100)
        kept = [row for row, each in zip(self._rows, statuses, strict=True) if each not in BURSTS]
        source = _SwfRows(self._path, kept)
        numbers = source.job_numbers()
        submits = since_first(source._column("submit time", 0, MAX_TIME_S))
        runs = source._column("run time", -1, MAX_TIME_S)
        sizes = source._known("requested processors", "allocated processors", MAX_SIZE)
        most_kib = MAX_MEMORY_MIB * _KIB_PER_MIB
        memories = source._known("requested memory", "used memory", most_kib)
        estimates = source._column("requested time", -1, MAX_TIME_S)
        ends = source._column("status", -1, 100)
        owners = zip(
            source._numbered("user"),
            source._numbered("group"),
            source._numbered("queue", {"0": INTERACTIVE, **header.queues}),
            source._numbered("partition", header.partitions),
            strict=True,
        )
        found = zip(numbers, submits, runs, sizes, memories, estimates, ends, owners, strict=True)
        return [
            BatchJob(
                job_id=number,
                submit_s=submit,
                duration_s=max(run, 0.0),
                cpu_milli=CORE * int(max(size, 0)),
                memory_mib=int(max(size, 0) * max(memory, 0) // _KIB_PER_MIB),
                estimate_s=estimate if estimate > 0 else None,
                user=user,
                group=group,
                queue=queue,
                partition=partition,
                omitted=_flaw(run, size, status),
            )
            for number, submit, run, size, memory, estimate, status, (
                user, group, queue, partition,
            ) in found
        ]  # fmt: skip

    def job_numbers(self) -> list[str]:
        """The job numbers, each once."""
        cells = [str(int(value)) for value in self._column("job number", 0, 1e15)]
        first: dict[str, int] = {}
        for index, cell in enumerate(cells):
            before = first.setdefault(cell, index)
            if before != index:
                line = self._rows[before].line
                expected = f"a job number of its own (line {line} has it already)"
                raise InputError(self._where(index, "job number"), cell, expected, "renumber one")
        return cells

    def _column(self, field: str, low: float, high: float) -> list[float]:
        """The values of a field within bounds."""
        at = FIELDS.index(field)
        cells = [row.cells[at] for row in self._rows]
        if _NUMBERS.fullmatch("\n".join(cells)):
            values = list(map(float, cells))
            if low <= min(values) and max(values) <= high:
                return values
        for index, cell in enumerate(cells):
            if not _NUMBER.fullmatch(cell) or not low <= float(cell) <= high:
                bounds = f"a number {low:.15g}..{high:.15g}"
                expected = f"{bounds} (-1 for unknown)" if low == -1 else bounds
                raise InputError(self._where(index, field), cell, expected, FIX_ROW)
        return list(map(float, cells))

    def _known(self, field: str, instead: str, high: float) -> list[float]:
        """The values of a field; if it is unknown or 0, those of another field."""
        pairs = zip(self._column(field, -1, high), self._column(instead, -1, high), strict=True)
        return [value if value > 0 else other for value, other in pairs]

    def _numbered(self, field: str, names: dict[str, str] | None = None) -> list[str]:
        """The names of users, groups, queues or partitions; empty for unknown ones."""
        cells = [str(int(value)) for value in self._column(field, -1, 1e15)]
        known = names or {}
        return ["" if cell == "-1" else known.get(cell, f"{field}-{cell}") for cell in cells]

    def _where(self, index: int, field: str) -> str:
        number = FIELDS.index(field) + 1
        return f"{self._path}, line {self._rows[index].line}, field {number} ({field})"


def _flaw(run: float, size: float, status: float) -> str:
    """Reason for omitting a job from a simulation; empty if it runs."""
    if run < 0:
        return "cancelled before its start" if status == CANCELLED else "no run time"
    if size < 1:
        return "no number of processors"
    return "cancelled before its start" if status == CANCELLED and run == 0 else ""
