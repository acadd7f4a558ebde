"""Nodes of a state as rows of a list."""

from collections.abc import Sequence

import msgspec

from stretto.api.codec import decode_as
from stretto.api.types.core import Node
from stretto.api.wire.kinds import NODE
from stretto.api.wire.labels import ZONE_LABEL
from stretto.api.wire.quantity import format_amount
from stretto.base.errors import InputError
from stretto.explain.inventory.meta import labels_of
from stretto.explain.why.scene import Scene
from stretto.state.rows.devices import WHOLE
from stretto.stores.store import Record


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
    #: ``ready``, ``cordoned``, or ``unknown`` for a node that the scheduler state does not contain.
    status: str
    #: Failure zone of the node; empty for none.
    zone: str = ""
    #: Number of pods on the node.
    pods: int = 0
    #: Resources of the node by name.
    resources: dict[str, NodeUse] = {}
    #: Number of unallocated GPUs or other devices; ``None`` without devices.
    free_devices: int | None = None
    #: Number of devices; 0 for none.
    devices: int = 0
    #: Labels of the node.
    labels: dict[str, str] = {}


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
    found = [each for each in records if each.kind == NODE]
    return [_row_of(scene, each, counts) for each in sorted(found, key=lambda each: each.name)]


def _row_of(scene: Scene, record: Record, counts: dict[int, int]) -> NodeRow:
    labels = labels_of(record)
    slot = scene.cluster.nodes.by_name.get(record.name)
    zone = labels.get(ZONE_LABEL, "")
    if slot is None:
        return NodeRow(record.name, "unknown", zone, labels=labels)
    ledger = scene.cluster.ledger
    uses = {}
    for name, amount in ledger.offers(slot).items():
        column = ledger.resources.known(name)
        assert column is not None
        used = int(ledger.used[slot, column])
        uses[name] = NodeUse(
            format_amount(name, amount), format_amount(name, used), round(100 * used / amount, 2)
        )
    free = ledger.devices.free[slot]
    present = ledger.devices.kind[slot] > 0
    count = int(present.sum())
    return NodeRow(
        name=record.name,
        status="cordoned" if _is_cordoned(record) else "ready",
        zone=zone,
        pods=counts.get(slot, 0),
        resources=uses,
        free_devices=int((free[present] == WHOLE).sum()) if count else None,
        devices=count,
        labels=labels,
    )


def _is_cordoned(record: Record) -> bool:
    try:
        return decode_as(Node, record.body).spec.unschedulable
    except InputError:
        return False
