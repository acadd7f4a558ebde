"""Parsing of a node's NUMA layout and pool from its CustomNodeResource; tolerates single faults.

The topology tree is socket → NUMA node → devices; the pool is the capacity for best-effort pods.
Invalid parts (a duplicate NUMA node, a negative amount, an unknown sibling) are skipped, each with
a sentence in the report; the other parts of the object are used. Only a report older than its node
is ignored completely.
"""

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from stretto.api.types.cnr import RECLAIMED_CPU, RECLAIMED_MEMORY, CustomNodeResource, TopologyZone
from stretto.api.wire.quantity import amounts
from stretto.base.errors import InputError
from stretto.state.rows.resources import LARGEST, RECLAIMED

SOCKET: Final = "Socket"
NUMA: Final = "Numa"
HEADROOM: Final = frozenset((RECLAIMED_CPU, RECLAIMED_MEMORY))
"""Resources of the headroom of a NUMA node."""
MAX_NUMA_NODES: Final = 15
"""Maximum number of NUMA nodes per machine: as many bits fit beside a claim's device mask."""
DEVICE_ZONE_TYPES: Final = frozenset({"GPU", "NIC"})
"""Topology zone types inside a NUMA node; each zone is one device."""


class ReportedNumaUse(NamedTuple):
    """A pod's usage of one NUMA node, as reported by the node agent."""

    #: Index of the NUMA node in the layout.
    numa_node: int
    #: Uid of the pod.
    uid: str
    #: ``namespace/name`` of the pod.
    pod: str
    #: Amounts by resource name.
    amounts: Mapping[str, int]


class NumaLayout(NamedTuple):
    """The NUMA nodes of one machine, by ascending number."""

    #: Numbers of the NUMA nodes, as reported by the node agent.
    numbers: tuple[int, ...] = ()
    #: Socket index of each NUMA node.
    sockets: tuple[int, ...] = ()
    #: Allocatable amounts of each NUMA node, by resource name.
    amounts: tuple[Mapping[str, int], ...] = ()
    #: GPU numbers of each NUMA node, if the report contains them.
    gpus: tuple[tuple[int, ...], ...] = ()
    #: Reported usage of pods.
    reported: tuple[ReportedNumaUse, ...] = ()
    #: Amounts of the node's pool for best-effort pods, by the ledger's names.
    pool: Mapping[str, int] = {}
    #: Problems of the report, a sentence each.
    problems: tuple[str, ...] = ()


NO_LAYOUT: Final = NumaLayout()
"""Layout of a node without report."""


def reported_at(cnr: CustomNodeResource) -> str:
    """Return the time (RFC 3339) of the latest update in a report; empty if it has none."""
    measured = cnr.status.node_metric_status
    times = [cnr.metadata.creation_timestamp or ""]
    times += [each.last_heartbeat_time or "" for each in cnr.status.conditions]
    times.append((measured.update_time if measured is not None else None) or "")
    return max(times)


def _aligned(zone: TopologyZone) -> dict[str, str | int | float]:
    """Amounts of a NUMA node with which pods can be aligned.

    Its headroom is not one of them: best-effort pods are charged to the pool of the node.
    """
    found = zone.resources.allocatable.items()
    return {name: amount for name, amount in found if name not in HEADROOM}


def read_layout(cnr: CustomNodeResource, created_at: str = "") -> NumaLayout:
    """Return the layout of a report.

    Args:
        cnr: the report.
        created_at: RFC 3339 creation time of the node; empty if unknown.
    """
    last = reported_at(cnr)
    if created_at and last and last < created_at:
        problem = (
            f"status: last written {last}, before the node was created ({created_at}); its NUMA "
            "nodes and its pool are ignored until the node's agent reports again"
        )
        return NO_LAYOUT._replace(problems=(problem,))
    reader = _NumaLayoutReader()
    for index, zone in enumerate(cnr.status.topology_zone):
        reader.top(zone, index)
    return reader.layout(cnr.status.resources.allocatable)


class _NumaLayoutReader:
    """Reads one topology tree."""

    def __init__(self) -> None:
        self.problems: list[str] = []
        self._found: dict[int, tuple[int, TopologyZone]] = {}

    def top(self, zone: TopologyZone, socket: int) -> None:
        """Read a zone at the root: a socket, or a NUMA node of a machine without sockets."""
        if zone.type == SOCKET:
            for child in zone.children:
                self._numa(child, socket)
        elif zone.type == NUMA:
            self._numa(zone, 0)
        else:
            self.problems.append(f"zone {zone.type} {zone.name}: expected a {SOCKET} at the root")

    def layout(self, pool: Mapping[str, str | int | float]) -> NumaLayout:
        """Return the layout that was read, in order; ``pool`` as reported."""
        numbers = sorted(self._found)
        if len(numbers) > MAX_NUMA_NODES:
            self.problems.append(
                f"{len(numbers)} NUMA nodes: expected at most {MAX_NUMA_NODES}; the rest is ignored"
            )
            numbers = numbers[:MAX_NUMA_NODES]
        zones = [self._found[number][1] for number in numbers]
        for number, zone in zip(numbers, zones, strict=True):
            self._check_siblings(number, zone)
        layout = NumaLayout(
            numbers=tuple(numbers),
            sockets=tuple(self._found[number][0] for number in numbers),
            amounts=tuple(
                self.amounts(_aligned(zone), f"NUMA {zone.name}: allocatable") for zone in zones
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
        """Return the valid amounts; report and skip invalid ones."""
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
            self.problems.append(f"NUMA {zone.name} appears twice; the second is ignored")
        else:
            self._found[int(zone.name)] = socket, zone

    def _check_siblings(self, number: int, zone: TopologyZone) -> None:
        for other in zone.siblings:
            known = other.type != NUMA or (
                other.name.isdecimal() and int(other.name) in self._found
            )
            if not known:
                self.problems.append(
                    f"NUMA {number}: its sibling {other.name} does not exist; it is ignored"
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
                        "namespace/name/uid; it is ignored"
                    )
                    continue
                where = f"NUMA {zone.name}: consumer {held.consumer}"
                found = self.amounts(held.requests, where)
                yield ReportedNumaUse(index, parts[2], f"{parts[0]}/{parts[1]}", found)
