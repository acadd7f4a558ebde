"""Application of CustomNodeResource and Movement events, and of reported placements."""

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec
import numpy as np
import numpy.typing as npt

from stretto.api.types.cnr import CustomNodeResource
from stretto.api.types.godel import Movement, PodGroup
from stretto.api.types.heads import NO_BYTES, PodHead, decode_pod_head
from stretto.api.wire.meta import OwnerReference
from stretto.base.errors import InputError
from stretto.state.classes.annotations import DOMAIN_CAPS, MICRO_TOPOLOGY
from stretto.state.classes.table import GPU_DEVICES, STAGED
from stretto.state.cluster.cluster import Cluster
from stretto.state.rows.devices import text_to_mask
from stretto.state.work.units import Cure
from stretto.stores.store import EventType, Record, WatchEvent

OWN_MOVES: Final = "stretto-rescheduler"
"""Creator of the Movements that Stretto's own rescheduler writes; they are ignored."""
MAX_RECOMMENDED: Final = 1000
"""Maximum number of pods for which one Movement may recommend one node."""
_MOVEMENT: Final = msgspec.json.Decoder(Movement)
_REPORT: Final = msgspec.json.Decoder(CustomNodeResource)
_OWNERS: Final = msgspec.json.Decoder(tuple[OwnerReference, ...])
_ANNOTATIONS: Final = msgspec.json.Decoder(dict[str, str])
_DEVICES: Final = GPU_DEVICES.encode()
_MARK: Final = MICRO_TOPOLOGY.encode()


def apply_reports(cluster: Cluster, events: Iterable[WatchEvent]) -> None:
    """Apply events of CustomNodeResources; an unreadable one fails alone."""
    for event in events:
        name = event.record.name
        key = f"customnoderesource {name}"
        if event.type is EventType.DELETED:
            cluster.abnormal.pop(key, None)
            cluster.node_updates.drop_report(name)
            continue
        try:
            report = _REPORT.decode(event.record.body)
        except (msgspec.DecodeError, InputError, RecursionError) as error:
            cluster.node_updates.drop_report(name)
            cluster.abnormal[key] = f"{key}: {error}"
            continue
        meta = msgspec.structs.replace(report.metadata, name=name, uid=event.record.uid)
        cluster.node_updates.put_report(msgspec.structs.replace(report, metadata=meta))


def apply_movements(cluster: Cluster, events: Iterable[WatchEvent]) -> None:
    """Apply events of Movements: nodes recommended by an external rescheduler."""
    for event in events:
        key = f"movement {event.record.name}"
        cluster.abnormal.pop(key, None)
        for unit, nodes in cluster.movements.pop(event.record.name, {}).items():
            _take_back(cluster, unit, nodes)
        if event.type is EventType.DELETED:
            continue
        try:
            movement = _MOVEMENT.decode(event.record.body)
        except (msgspec.DecodeError, RecursionError) as error:
            cluster.abnormal[key] = f"{key}: {error}"
            continue
        if movement.spec.creator != OWN_MOVES:
            cluster.movements[event.record.name] = found = _recommended(movement)
            for unit, nodes in found.items():
                cluster.recommended.setdefault(unit, []).extend(nodes)
            cluster.changes.add_cures(Cure.NODE_ADDED if found else Cure.NONE)


def _recommended(movement: Movement) -> dict[str, list[str]]:
    """Nodes by unit, repeated once per pod that the unit still needs on the node."""
    found: dict[str, list[str]] = {}
    for each in movement.status.owners:
        if each.owner is None:
            continue
        unit = f"OwnerUnit/{each.owner.type}/{each.owner.namespace}/{each.owner.name}"
        for node in each.recommended_nodes:
            left = node.desired_pod_count - len(node.actual_pods)
            found.setdefault(unit, []).extend([node.node] * max(0, min(left, MAX_RECOMMENDED)))
    return {unit: nodes for unit, nodes in found.items() if nodes}


def _take_back(cluster: Cluster, unit: str, nodes: list[str]) -> None:
    """Withdraw recommended nodes from a unit."""
    hints = cluster.recommended.get(unit, [])
    for node in nodes:
        if node in hints:
            hints.remove(node)
    if not hints:
        cluster.recommended.pop(unit, None)


def record_owners(
    cluster: Cluster, rows: npt.NDArray[np.int64], events: Sequence[WatchEvent]
) -> None:
    """Record the owners of new pods with reservations or domain caps."""
    staged = cluster.classes.special[cluster.pods.class_id[rows]] & STAGED
    for i in np.flatnonzero(staged).tolist():
        row = int(rows[i])
        annotations = cluster.classes[int(cluster.pods.class_id[row])].annotations
        if annotations.reservation is None and not annotations.caps:
            continue
        record, head = events[i].record, events[i].head
        text = (head or decode_pod_head(record.body)).metadata.owner_references
        try:
            owners = _OWNERS.decode(text) if text is not NO_BYTES else ()
        except msgspec.DecodeError:
            owners = ()
        owner = next((each for each in owners if each.controller), None)
        cluster.reservations.set_owner(
            row, f"{owner.kind}/{owner.name}" if owner is not None else ""
        )


def charge_seen_pod(cluster: Cluster, row: int, slot: int, mask: int, annotation: str) -> None:
    """Charge a pod that is seen on a slot; a reservation there for it is consumed."""
    pod = cluster.classes[int(cluster.pods.class_id[row])]
    place = cluster.reservations.open(row, slot, pod) if cluster.reservations else None
    cluster.charges.charge(row, slot, mask, annotation)
    if place is not None:
        cluster.reservations.close(place, row, taken=True)


def record_placement_rules(cluster: Cluster, key: str, group: PodGroup) -> None:
    """Record whether a PodGroup has placement rules or domain caps."""
    if group.spec.affinity is not None or DOMAIN_CAPS in group.metadata.annotations:
        cluster.directed.add(key)
    else:
        cluster.directed.discard(key)


def micro_topology(record: Record, head: PodHead | None) -> str:
    """The micro-topology annotation of a bound pod; empty if there is none."""
    if record.annotations and MICRO_TOPOLOGY in record.annotations:
        return record.annotations[MICRO_TOPOLOGY]
    if _MARK not in record.body:
        return ""
    meta = (head or decode_pod_head(record.body)).metadata
    if meta.annotations is NO_BYTES:
        return ""
    try:
        return _ANNOTATIONS.decode(meta.annotations).get(MICRO_TOPOLOGY, "")
    except msgspec.DecodeError:
        return ""


def device_mask(record: Record, head: PodHead | None) -> int:
    """The devices in a bound pod's annotation; 0 if there is none."""
    if record.annotations and GPU_DEVICES in record.annotations:
        return text_to_mask(record.annotations[GPU_DEVICES])
    if _DEVICES not in record.body:
        return 0
    meta = (head or decode_pod_head(record.body)).metadata
    if meta.annotations is NO_BYTES:
        return 0
    try:
        return text_to_mask(_ANNOTATIONS.decode(meta.annotations).get(GPU_DEVICES, ""))
    except msgspec.DecodeError:
        return 0
