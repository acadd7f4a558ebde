"""Amounts between Mesos and the ledger.

Mesos counts CPUs, and megabytes (2^20 bytes) of memory and disk, in thousandths. The ledger counts
thousandths of a CPU, and bytes.
"""

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from stretto.offers.messages.schema import Message
from stretto.state.rows.resources import ResourceColumns

MIB: Final = 1 << 20
MILLI: Final = 1000


class Correspondence(NamedTuple):
    """One resource under both names."""

    #: Its name in offers.
    offered: str
    #: Its name in Kubernetes.
    resource: str
    #: Exact units of the ledger in one of Mesos' units.
    unit: int


RESOURCES: Final = (
    Correspondence("cpus", "cpu", MILLI),
    Correspondence("mem", "memory", MIB),
    Correspondence("disk", "ephemeral-storage", MIB),
)
"""What nodes offer. Other resources of a node are left to pods."""
_BY_OFFERED: Final = {each.offered: each for each in RESOURCES}
_BY_RESOURCE: Final = {each.resource: each for each in RESOURCES}


def to_exact(name: str, milli: int) -> tuple[str, int] | None:
    """Resource and exact amount of an offered scalar, rounded down; ``None`` for others."""
    found = _BY_OFFERED.get(name)
    return None if found is None else (found.resource, milli * found.unit // MILLI)


def to_milli(resource: str, exact: int) -> tuple[str, int]:
    """Name and thousandths of an exact amount, rounded down; other resources keep their names."""
    found = _BY_RESOURCE.get(resource)
    return (
        (resource, exact * MILLI) if found is None else (found.offered, exact * MILLI // found.unit)
    )


def columns_of(quantities: Iterable[tuple[str, int]], resources: ResourceColumns) -> dict[int, int]:
    """Exact amounts by column of offered thousandths; what nodes do not offer is dropped."""
    found: dict[int, int] = {}
    for name, milli in quantities:
        exact = to_exact(name, milli)
        if exact is not None:
            column = resources.column(exact[0])
            found[column] = found.get(column, 0) + exact[1]
    return found


def milli_of(exact: Mapping[int, int], resources: ResourceColumns) -> dict[str, int]:
    """Offered thousandths of exact amounts by column; what nodes do not offer is dropped."""
    found: dict[str, int] = {}
    for each in RESOURCES:
        column = resources.known(each.resource)
        if column is not None and column in exact:
            found[each.offered] = exact[column] * MILLI // each.unit
    return found


def scalar(name: str, milli: int) -> Message:
    """A scalar resource as a message."""
    return {"name": name, "type": "SCALAR", "scalar": {"value": milli / MILLI}}
