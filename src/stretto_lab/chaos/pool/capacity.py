"""Amounts of nodes, offers and queues in the units of the laws."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from stretto.api.wire.quantity import amounts
from stretto.base.amounts import add_amounts
from stretto.offers.master.resources.items import ResourceList
from stretto.offers.nodes.amounts import ports_of
from stretto.state.classes.table import GPU
from stretto.state.cluster.cluster import Cluster
from stretto.state.rows.devices import WHOLE

Amounts = dict[str, int]
"""Exact amounts by resource: GPUs in thousandths, and ``port N`` for each host port."""
COLUMNS: Final = ("cpu", "memory", "ephemeral-storage")
"""Resources with their own column in the ledger."""
_UNITS: Final = {
    "cpus": ("cpu", 1, 1),
    "mem": ("memory", 1 << 20, 1000),
    "disk": ("ephemeral-storage", 1 << 20, 1000),
    "gpus": (GPU, 1, 1),
}
"""Resource, and factor and divisor from thousandths of an offered scalar."""


def capacity_of(cluster: Cluster, slot: int) -> Amounts:
    """The amounts of a node in the ledger."""
    ledger = cluster.ledger
    ledger.widen()
    found = {name: int(ledger.alloc[slot, ledger.resources.column(name)]) for name in COLUMNS}
    gpus = ledger.devices.kind[slot] == ledger.devices.kind_number(GPU)
    return found | {GPU: WHOLE * int(gpus.sum())}


def exact(resources: ResourceList) -> Amounts:
    """Offered scalars and ports."""
    found: Amounts = {}
    for name, milli in resources.scalars().items():
        resource, factor, divisor = _UNITS[name]
        found[resource] = milli * factor // divisor
    for first, last in ports_of((each.kind.name, each.value) for each in resources):
        add_amounts(found, {f"port {number}": 1 for number in range(first, last + 1)}.items())
    return found


def by_role(resources: ResourceList, role: str) -> dict[str, Amounts]:
    """Amounts by the role of the reservation; ``role`` for unreserved amounts."""
    found: dict[str, Amounts] = {}
    for item in resources:
        mine = item.kind.role if item.kind.reservations else role
        add_amounts(found.setdefault(mine, {}), exact(ResourceList((item,))).items())
    return found


def in_thousandths(quantities: Mapping[str, Any], where: str) -> Amounts:
    """Amounts of a resource list, GPUs in thousandths; ``where`` is the object for messages."""
    found = amounts(quantities, where)
    return found | ({GPU: found[GPU] * WHOLE} if GPU in found else {})


def fits(
    wanted: Mapping[str, int], held: Iterable[Mapping[str, int]], allocatable: Mapping[str, Any]
) -> bool:
    """True if amounts fit beside others on a node; a part of a GPU counts as a whole GPU."""
    used: Amounts = {}
    for each in held:
        add_amounts(used, _whole(each).items())
    has = in_thousandths(allocatable, "node")
    return all(
        used.get(name, 0) + more <= has.get(name, int(name.startswith("port ")))
        for name, more in _whole(wanted).items()
    )


def _whole(found: Mapping[str, int]) -> Amounts:
    return {name: -(-n // WHOLE) * WHOLE if name == GPU else n for name, n in found.items()}
