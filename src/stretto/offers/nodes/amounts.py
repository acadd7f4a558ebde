"""Conversion of amounts between Mesos and the ledger.

Mesos counts CPUs, GPUs, and megabytes (2^20 bytes) of memory and disk, in thousandths. The ledger
counts thousandths of a CPU, bytes, and thousandths of devices, in separate columns.
"""

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from stretto.base.errors import InputError
from stretto.offers.allocator.values import ranges
from stretto.offers.allocator.values.ranges import Ranges
from stretto.state.classes.table import GPU, PodClass
from stretto.state.queries.pool import DEVICES, devices_of
from stretto.state.rows.ledger import Ledger

MIB: Final = 1 << 20
MILLI: Final = 1000
GPUS: Final = "gpus"
"""Mesos' name of GPUs."""
PORTS: Final = "ports"
"""Mesos' name of host ports."""
LAST_PORT: Final = 65535
_EXPECTED_PORTS: Final = f"ranges of ports from 1 to {LAST_PORT}, such as 20000-20999,25000"


class Correspondence(NamedTuple):
    """Names and unit of one resource in Mesos and in Kubernetes."""

    #: Its name in offers.
    offered: str
    #: Its name in Kubernetes.
    resource: str
    #: Number of Kubernetes' units (thousandths of a CPU, bytes, devices) in one unit of Mesos.
    unit: int


RESOURCES: Final = (
    Correspondence("cpus", "cpu", MILLI),
    Correspondence("mem", "memory", MIB),
    Correspondence("disk", "ephemeral-storage", MIB),
    Correspondence(GPUS, GPU, 1),
)
"""Resources that nodes offer besides ports. Only pods use other resources of a node."""
_BY_OFFERED: Final = {each.offered: each for each in RESOURCES}
_BY_RESOURCE: Final = {each.resource: each for each in RESOURCES}


def to_exact(name: str, milli: int) -> tuple[str, int] | None:
    """Resource and amount of an offered scalar, rounded down; ``None`` for others."""
    found = _BY_OFFERED.get(name)
    return None if found is None else (found.resource, milli * found.unit // MILLI)


def to_milli(resource: str, exact: int) -> tuple[str, int]:
    """Name and thousandths of an amount, rounded down; other resources keep their names."""
    found = _BY_RESOURCE.get(resource)
    return (
        (resource, exact * MILLI) if found is None else (found.offered, exact * MILLI // found.unit)
    )


def columns_of(quantities: Iterable[tuple[str, int]], ledger: Ledger) -> dict[int, int]:
    """Exact amounts by column of offered thousandths; other resources are omitted."""
    found: dict[int, int] = {}
    for name, milli in quantities:
        known = _BY_OFFERED.get(name)
        if known is not None:
            column, amount = _column(known, ledger), milli * _scale(known) // MILLI
            found[column] = found.get(column, 0) + amount
    return found


def columns_of_task(task: PodClass, ledger: Ledger) -> dict[int, int]:
    """Return exact amounts by column of a task's pod, those of devices in thousandths."""
    return {**dict(task.requests), **devices_of(task, ledger)}


def milli_of(exact: Mapping[int, int], ledger: Ledger) -> dict[str, int]:
    """Offered thousandths of exact amounts by column; other resources are omitted."""
    return {
        each.offered: exact[column] * MILLI // _scale(each)
        for each in RESOURCES
        if (column := _column(each, ledger)) in exact
    }


def ports_of(named: Iterable[tuple[str, object]]) -> Ranges:
    """The port numbers among resources with their names and values."""
    found: Ranges = ()
    for name, value in named:
        if name == PORTS and isinstance(value, tuple):
            found = ranges.union(found, value)
    return found


def read_ports(text: str, where: str) -> Ranges:
    """Port ranges such as ``20000-20999,25000``; an empty text for none.

    Raises:
        InputError: the text is no list of ranges; ``where`` names its origin.
    """
    found = []
    for part in filter(None, text.split(",")):
        first, dash, last = part.partition("-")
        pair = first, last if dash else first
        if not all(each.isascii() and each.isdigit() for each in pair):
            raise InputError(where, text, _EXPECTED_PORTS)
        low, high = map(int, pair)
        if not 1 <= low <= high <= LAST_PORT:
            raise InputError(where, text, _EXPECTED_PORTS)
        found.append((low, high))
    return ranges.normalize(found)


def gpu_column(ledger: Ledger) -> int:
    """Return the column of GPUs, which count in thousandths."""
    return DEVICES + ledger.devices.kind_number(GPU)


def _column(each: Correspondence, ledger: Ledger) -> int:
    return gpu_column(ledger) if each.resource == GPU else ledger.resources.column(each.resource)


def _scale(each: Correspondence) -> int:
    """Number of the ledger's units in one of Mesos' units; devices count in thousandths."""
    return MILLI if each.resource == GPU else each.unit
