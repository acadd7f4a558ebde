"""Devices of nodes: the reported devices, and the charges of pods when the report changes.

A report with fewer devices does not identify the missing ones. The requests of the pods still
count, so the free amount is the reported amount minus the requests of the pods.
"""

from collections.abc import Mapping, Sequence, Set

from stretto.api.types.core import Node
from stretto.state.cluster.tables import PodTables
from stretto.state.numa.ledger import DEVICE_BITS, NumaTopology, numa_nodes_of
from stretto.state.rows.devices import MAX_DEVICES, DeviceColumns, DeviceRequest


def take_reported(
    node: Node, allocatable: dict[str, int], labels: Mapping[str, str], table: DeviceColumns
) -> dict[str, tuple[int, str]]:
    """Remove managed device kinds from the amounts of a node; returns kind to (count, model).

    Args:
        node: the node.
        allocatable: the amounts of the node by resource.
        labels: the label with the model, by kind.
        table: numbers the models.

    Raises:
        InputError: the cluster has too many models; the table is unchanged.
    """
    found: dict[str, tuple[int, str]] = {}
    for kind, label in labels.items():
        count = min(allocatable.pop(kind, 0), MAX_DEVICES - sum(n for n, _ in found.values()))
        if count > 0:
            model = node.metadata.labels.get(label, "")
            table.model_number(model)  # an error must come before any change
            found[kind] = (count, model)
    return found


def charge_again(
    table: DeviceColumns, slot: int, rows: Sequence[int], of_pods: PodTables, topology: NumaTopology
) -> None:
    """Charge the pods of a slot whose devices were replaced by whole ones.

    Pods whose devices still exist keep them. The other pods are charged for remaining devices, on
    their NUMA nodes if these have any.
    """
    pods, classes = of_pods.pods, of_pods.classes
    charged = [(row, classes[int(pods.class_id[row])], int(pods.devices[row])) for row in rows]
    short = {row for row, pod, mask in charged if _lacks(table, slot, mask, pod.devices)}
    for row, pod, mask in sorted(charged, key=lambda each: each[0] in short):
        if row in short:
            mask = replaced(table, slot, mask, pod.devices, _near(topology, slot, mask))
            pods.devices[row] = mask
            pods.log.add(row)
        for request in pod.devices:
            table.take(slot, mask, request)


def _lacks(table: DeviceColumns, slot: int, mask: int, requests: Sequence[DeviceRequest]) -> bool:
    """Return whether a mask selects fewer devices than are requested."""
    return any(len(_selected(table, slot, mask, each.kind)) < each.count for each in requests)


def _near(topology: NumaTopology, slot: int, mask: int) -> frozenset[int]:
    """The devices on the NUMA nodes of a mask."""
    if slot >= len(topology.device_numa_node):
        return frozenset()
    places, wanted = topology.device_numa_node[slot].tolist(), numa_nodes_of(mask)
    return frozenset(d for d, place in enumerate(places) if place >= 0 and wanted >> place & 1)


def replaced(
    table: DeviceColumns,
    slot: int,
    mask: int,
    requests: Sequence[DeviceRequest],
    near: Set[int] = frozenset(),
) -> int:
    """Return a mask in which the freest other devices replace those that a slot no longer has.

    Of devices with enough free, those of ``near`` come first. A selected device may belong to
    another pod. Its free amount is then negative, so no further pod fits there. If the slot has too
    few devices, the pod keeps the numbers of its devices: they may return, for example after a
    restart of a device plugin.
    """
    found = mask & ~DEVICE_BITS
    gone = [d for d in range(MAX_DEVICES) if mask >> d & 1 and not table.kind[slot, d]]
    for request in requests:
        kept, kind = _selected(table, slot, mask, request.kind), table.kind_number(request.kind)
        free = table.free[slot].tolist()
        others = [d for d in range(MAX_DEVICES) if table.kind[slot, d] == kind and d not in kept]
        usable = {d for d in near if free[d] >= request.milli}
        others.sort(key=lambda d: (d not in usable, -free[d], d))
        present = [*kept, *others][: request.count]
        missing = request.count - len(present)
        found |= sum(1 << device for device in (*present, *gone[:missing]))
        gone = gone[missing:]
    return found


def _selected(table: DeviceColumns, slot: int, mask: int, kind: str) -> list[int]:
    number = table.kind_number(kind)
    return [d for d in range(MAX_DEVICES) if mask >> d & 1 and table.kind[slot, d] == number]
