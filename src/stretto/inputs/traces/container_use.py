"""Measured use of containers over time: a CSV file, such as an export of a monitoring system.

Rows are in the order of ``second``. ``cpu`` and ``memory`` are quantities, such as ``200m`` or
``0.2``, and ``300Mi`` or a number of bytes. ``killed`` is 1 where the container was killed for lack
of memory. ``cpu_request`` and ``memory_request`` are its requests at that time.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from stretto.api.wire.quantity import amount
from stretto.base.errors import InputError
from stretto.inputs.neutral.tables import CsvLayout, CsvTable, read_table

LAYOUT: Final = CsvLayout(
    ("second", "workload", "pod", "container", "cpu", "memory"),
    ("killed", "cpu_request", "memory_request"),
)
"""Columns of the file."""
NO_REQUESTS: Final[dict[str, int]] = {}
"""Default of requests; msgspec copies it for each row."""
_MOST_S: Final = 1e11
_LARGEST: Final = 10**15


class ContainerUseRow(msgspec.Struct, frozen=True):
    """One measurement of a container."""

    #: Time in seconds; only differences count.
    second: float
    #: Name of the workload.
    workload: str
    #: Name of the pod.
    pod: str
    #: Name of the container.
    container: str
    #: Used CPU in milli-CPU.
    cpu: int
    #: Used memory in bytes.
    memory: int
    #: True if the container was killed for lack of memory.
    killed: bool = False
    #: Requested amounts by resource, in milli-CPU and bytes; resources without one are missing.
    requests: dict[str, int] = NO_REQUESTS


def read_container_use(path: Path) -> list[ContainerUseRow]:
    """Read the rows of a file.

    Raises:
        InputError: a column is missing, an amount is malformed, or the rows are not in order.
    """
    table = read_table(path, LAYOUT)
    table.some("measurement")
    seconds = table.decimals("second", 0.0, _MOST_S)
    for row in range(1, table.count):
        if seconds[row] < seconds[row - 1]:
            expected = f"at least {seconds[row - 1]:g}, that of the row before"
            table.refuse(row, "second", expected, "sort the rows")
    amounts = {each: _amounts(table, each) for each in ("cpu", "memory")}
    for name, cells in amounts.items():
        if None in cells:
            table.refuse(cells.index(None), name, "an amount")
    requests = {each: _amounts(table, f"{each}_request") for each in ("cpu", "memory")}
    killed = list(_killed(table))
    workloads, pods, containers = (_names(table, each) for each in LAYOUT.required[1:4])
    return [
        ContainerUseRow(
            seconds[row],
            workloads[row],
            pods[row],
            containers[row],
            amounts["cpu"][row] or 0,
            amounts["memory"][row] or 0,
            killed[row],
            {name: found for name, each in requests.items() if (found := each[row]) is not None},
        )
        for row in range(table.count)
    ]


def _amounts(table: CsvTable, column: str) -> list[int | None]:
    """The amounts of a column; ``None`` for empty cells."""
    resource = column.removesuffix("_request")
    found: list[int | None] = []
    for row, cell in enumerate(table.texts(column)):
        text = cell.strip()
        if not text:
            found.append(None)
            continue
        try:
            number = amount(resource, text, column)
        except InputError:
            table.refuse(row, column, "a quantity, such as 200m or 300Mi")
        if not 0 <= number <= _LARGEST:
            table.refuse(row, column, "a quantity of 0 or more, such as 200m or 300Mi")
        found.append(number)
    return found


def _names(table: CsvTable, column: str) -> tuple[str, ...]:
    """The cells of a column of names."""
    found = tuple(cell.strip() for cell in table.texts(column))
    if "" in found:
        table.refuse(found.index(""), column, "a name")
    return found


def _killed(table: CsvTable) -> Iterator[bool]:
    """The cells of the column ``killed``."""
    for row, cell in enumerate(table.texts("killed")):
        if cell.strip() not in ("", "0", "1"):
            table.refuse(row, "killed", "0 or 1")
        yield cell.strip() == "1"
