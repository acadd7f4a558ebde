"""A node's NUMA layout and pool, read from its CustomNodeResource; forgiving of single faults.

The zone tree is socket → NUMA node → devices; the pool is what best-effort pods may take. What
cannot be right (a zone named twice, a negative amount, a neighbour that does not exist) is left out
and told in a sentence each; the rest of the object still counts. Only a report that is older than
its node says nothing at all.
"""

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from stretto.api.types.cnr import CustomNodeResource, TopologyZone
from stretto.api.wire.quantity import amounts
from stretto.base.errors import InputError
from stretto.state.rows.resources import LARGEST, RECLAIMED

SOCKET: Final = "Socket"
NUMA: Final = "Numa"
MAX_NUMA_NODES: Final = 15
"""NUMA nodes of a machine that are told apart: as many bits ride with a claim's device mask."""
DEVICE_ZONE_TYPES: Final = frozenset({"GPU", "NIC"})
"""Types of the zones inside a NUMA node that stand for one device each."""


class ReportedNumaUse(NamedTuple):
    """What the node's agent says a pod holds in one NUMA node."""

    #: Index of the NUMA node in the layout.
    zone: int
    #: Uid of the pod.
    uid: str
    #: ``namespace/name`` of the pod.
    pod: str
    #: Amounts by resource name.
    amounts: Mapping[str, int]


class NumaLayout(NamedTuple):
    """The NUMA nodes of one machine, by ascending number."""

    #: Their numbers, as the node's agent knows them.
    numbers: tuple[int, ...] = ()
    #: Index of each one's socket.
    sockets: tuple[int, ...] = ()
    #: What pods may have of each, by resource name.
    amounts: tuple[Mapping[str, int], ...] = ()
    #: Numbers of the GPUs in each, where the report names them.
    gpus: tuple[tuple[int, ...], ...] = ()
    #: What pods hold.
    reported: tuple[ReportedNumaUse, ...] = ()
    #: What the node's pool gives to best-effort pods, by the ledger's names.
    pool: Mapping[str, int] = {}
    #: What is wrong with the report, a sentence each.
    problems: tuple[str, ...] = ()


NO_LAYOUT: Final = NumaLayout()
"""A node that reports nothing."""


def reported_at(cnr: CustomNodeResource) -> str:
    """RFC 3339 time of the latest thing that a report says of itself; empty where nothing does."""
    measured = cnr.status.node_metric_status
    times = [cnr.metadata.creation_timestamp or ""]
    times += [each.last_heartbeat_time or "" for each in cnr.status.conditions]
    times.append((measured.update_time if measured is not None else None) or "")
    return max(times)


def read_layout(cnr: CustomNodeResource, born: str = "") -> NumaLayout:
    """The layout that a report describes.

    Args:
        cnr: the report.
        born: RFC 3339 time at which its node was created; empty where nobody knows.
    """
    last = reported_at(cnr)
    if born and last and last < born:
        told = (
            f"status: last written {last}, before the node was created ({born}); its NUMA nodes "
            "and its pool do not count until the node's agent reports again"
        )
        return NO_LAYOUT._replace(problems=(told,))
    reader = _NumaLayoutReader()
    for index, zone in enumerate(cnr.status.topology_zone):
        reader.top(zone, index)
    return reader.layout(cnr.status.resources.allocatable)


class _NumaLayoutReader:
    """Walks one tree."""

    def __init__(self) -> None:
        self.problems: list[str] = []
        self._found: dict[int, tuple[int, TopologyZone]] = {}

    def top(self, zone: TopologyZone, socket: int) -> None:
        """A zone at the root: a socket, or a NUMA node of a machine that names no sockets."""
        if zone.type == SOCKET:
            for child in zone.children:
                self._numa(child, socket)
        elif zone.type == NUMA:
            self._numa(zone, 0)
        else:
            self.problems.append(f"zone {zone.type} {zone.name}: expected a {SOCKET} at the root")

    def layout(self, pool: Mapping[str, str | int | float]) -> NumaLayout:
        """What was found, in order; ``pool`` as the report says it."""
        numbers = sorted(self._found)
        if len(numbers) > MAX_NUMA_NODES:
            self.problems.append(
                f"{len(numbers)} NUMA nodes: expected at most {MAX_NUMA_NODES}; the others do not count"
            )
            numbers = numbers[:MAX_NUMA_NODES]
        zones = [self._found[number][1] for number in numbers]
        for number, zone in zip(numbers, zones, strict=True):
            self._check_siblings(number, zone)
        layout = NumaLayout(
            numbers=tuple(numbers),
            sockets=tuple(self._found[number][0] for number in numbers),
            amounts=tuple(
                self.amounts(zone.resources.allocatable, f"NUMA {zone.name}: allocatable")
                for zone in zones
            ),
            gpus=tuple(tuple(self._gpus(zone)) for zone in zones),
            reported=tuple(self._reported(zones)),
            pool={
                RECLAIMED[name]: amount
                for name, amount in self.amounts(pool, "resources: allocatable").items()
                if name in RECLAIMED
            },
        )
        return layout._replace(problems=tuple(self.problems))

    def amounts(self, resources: Mapping[str, str | int | float], where: str) -> dict[str, int]:
        """Amounts that can be; the others are told and left out."""
        found: dict[str, int] = {}
        for name, quantity in resources.items():
            try:
                count = amounts({name: quantity}, where)[name]
            except InputError as error:
                self.problems.append(str(error))
                continue
            if 0 <= count <= LARGEST:
                found[name] = count
            else:
                self.problems.append(
                    f"{where}.{name}: got {quantity}, expected 0 to {LARGEST}; it counts as 0"
                )
        return found

    def _numa(self, zone: TopologyZone, socket: int) -> None:
        if zone.type != NUMA:
            self.problems.append(f"zone {zone.type} {zone.name}: expected a {NUMA} in a socket")
        elif not zone.name.isdecimal() or int(zone.name) > 1 << 16:
            self.problems.append(f"NUMA {zone.name!r}: expected its number as name")
        elif int(zone.name) in self._found:
            self.problems.append(f"NUMA {zone.name} is there twice; the second does not count")
        else:
            self._found[int(zone.name)] = socket, zone

    def _check_siblings(self, number: int, zone: TopologyZone) -> None:
        for other in zone.siblings:
            known = other.type != NUMA or (
                other.name.isdecimal() and int(other.name) in self._found
            )
            if not known:
                self.problems.append(
                    f"NUMA {number}: its sibling {other.name} does not exist; it is left out"
                )

    def _gpus(self, zone: TopologyZone) -> Iterable[int]:
        for child in zone.children:
            if child.type == "GPU" and child.name.isdecimal():
                yield int(child.name)
            elif child.type not in DEVICE_ZONE_TYPES:
                yield from self._gpus(child)

    def _reported(self, zones: list[TopologyZone]) -> Iterable[ReportedNumaUse]:
        for index, zone in enumerate(zones):
            for held in zone.allocations:
                parts = held.consumer.split("/")
                if len(parts) != 3:
                    self.problems.append(
                        f"NUMA {zone.name}: consumer {held.consumer!r}: expected "
                        "namespace/name/uid; it is left out"
                    )
                    continue
                where = f"NUMA {zone.name}: consumer {held.consumer}"
                found = self.amounts(held.requests, where)
                yield ReportedNumaUse(index, parts[2], f"{parts[0]}/{parts[1]}", found)
