"""Nodes of a state as rows of a list."""

from collections.abc import Mapping, Sequence

import msgspec
import numpy as np
import numpy.typing as npt

from stretto.api.codec import decode_as
from stretto.api.types.core import Node, Taint
from stretto.api.wire.kinds import NODE
from stretto.api.wire.labels import ZONE_LABEL
from stretto.api.wire.quantity import format_amount, format_milli
from stretto.base.errors import InputError
from stretto.explain.inventory.meta import labels_of
from stretto.explain.why.scene import Scene
from stretto.state.rows.devices import WHOLE
from stretto.state.rows.ledger import Ledger
from stretto.stores.store import Record

DeviceUse = Mapping[str, tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]]
"""The milli of each kind of device on each slot, and the used part of them."""


class NodeUse(msgspec.Struct, frozen=True):
    """One resource of a node, in Kubernetes notation."""

    #: Allocatable amount.
    allocatable: str
    #: Amount requested by its pods.
    requested: str
    #: Requested share of the allocatable amount, in percent.
    pct: float


class NodeRow(msgspec.Struct, frozen=True):
    """One node."""

    #: Name of the node.
    name: str
    #: ``ready``, ``cordoned``, ``not ready``, ``not ready, cordoned``, or ``unknown`` for a node
    #: that the scheduler state does not contain.
    status: str
    #: Failure zone of the node; empty for none.
    zone: str = ""
    #: Number of pods on the node.
    pods: int = 0
    #: Resources of the node by name, GPUs and other devices included.
    resources: dict[str, NodeUse] = {}
    #: Number of unallocated GPUs or other devices; ``None`` without devices.
    free_devices: int | None = None
    #: Number of devices; 0 for none.
    devices: int = 0
    #: Labels of the node.
    labels: dict[str, str] = {}
    #: True if the node is closed for new pods.
    cordoned: bool = False
    #: Taints as ``key=value:effect``.
    taints: tuple[str, ...] = ()


def node_rows(scene: Scene, records: Sequence[Record]) -> list[NodeRow]:
    """Rows of nodes, in the order of their names.

    Args:
        scene: the state that contains the nodes.
        records: the nodes; other kinds are skipped.
    """
    pods = scene.cluster.pods
    counts: dict[int, int] = {}
    for row in pods.rows().tolist():
        slot = int(pods.slot[row])
        counts[slot] = counts.get(slot, 0) + 1
    devices = scene.cluster.ledger.devices
    slots = np.arange(len(devices.kind))
    used = {kind: devices.use(slots, kind) for kind in devices.kinds}
    found = [each for each in records if each.kind == NODE]
    found.sort(key=lambda each: each.name)
    return [_row_of(scene, each, counts, used) for each in found]


def _row_of(scene: Scene, record: Record, counts: dict[int, int], device_use: DeviceUse) -> NodeRow:
    labels = labels_of(record)
    nodes = scene.cluster.nodes
    slot = nodes.by_name.get(record.name)
    zone = labels.get(ZONE_LABEL, "")
    if slot is None:
        return NodeRow(record.name, "unknown", zone, labels=labels)
    devices = scene.cluster.ledger.devices
    present = devices.kind[slot] > 0
    count = int(present.sum())
    status, cordoned = _standing(record)
    return NodeRow(
        name=record.name,
        status=status,
        zone=zone,
        pods=counts.get(slot, 0),
        resources=_uses(scene.cluster.ledger, slot, device_use),
        free_devices=int((devices.free[slot][present] == WHOLE).sum()) if count else None,
        devices=count,
        labels=labels,
        cordoned=cordoned,
        taints=tuple(map(_taint, nodes.taint_sets[nodes.taint_set[slot]])),
    )


def _taint(taint: Taint) -> str:
    value = f"={taint.value}" if taint.value else ""
    return f"{taint.key}{value}:{taint.effect}"


def _uses(ledger: Ledger, slot: int, device_use: DeviceUse) -> dict[str, NodeUse]:
    """Return the use of each resource of a node; a shared device counts with its used part."""
    uses = {}
    for name, amount in ledger.offers(slot).items():
        column = ledger.resources.known(name)
        assert column is not None
        used = int(ledger.used[slot, column])
        uses[name] = NodeUse(
            format_amount(name, amount), format_amount(name, used), round(100 * used / amount, 2)
        )
    for name, (offered, taken) in device_use.items():
        if offered[slot]:
            pct = round(100 * int(taken[slot]) / int(offered[slot]), 2)
            count = str(int(offered[slot]) // WHOLE)
            uses[name] = NodeUse(count, format_milli(int(taken[slot])), pct)
    return uses


def _standing(record: Record) -> tuple[str, bool]:
    """Return the status of a node, and whether it is cordoned; without a condition it is ready."""
    try:
        node = decode_as(Node, record.body)
    except InputError:
        return "ready", False
    ready = all(each.status == "True" for each in node.status.conditions if each.type == "Ready")
    cordoned = node.spec.unschedulable
    words = ["not ready"] * (not ready) + ["cordoned"] * cordoned
    return ", ".join(words) or "ready", cordoned
