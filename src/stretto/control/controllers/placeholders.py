"""Reservation objects in Gödel's format: written for reserved places, and read after a restart."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from stretto.api.types.godel import Reservation
from stretto.api.types.heads import decode_pod_head
from stretto.api.wire.kinds import RESERVATION
from stretto.api.wire.quantity import format_amount
from stretto.state.classes.annotations import MICRO_TOPOLOGY, RESERVATION_INDEX, RESERVATION_TTL
from stretto.state.classes.annotations import RESERVATION as RESERVED
from stretto.state.classes.table import GPU_DEVICES, GPU_MILLI
from stretto.state.cluster.cluster import Cluster
from stretto.state.cluster.reservations import PlaceReservation
from stretto.state.numa.ledger import DEVICE_BITS
from stretto.state.rows.devices import WHOLE, mask_to_text, text_to_mask
from stretto.stores.store import Record

OWNER: Final = "godel.bytedance.com/reservation-owner"
"""Annotation with the owner of the reservation."""
ORIGINAL: Final = "godel.bytedance.com/reservation-original-pod"
"""Annotation with the deleted pod, ``namespace/name``."""
RESERVED_PHASE: Final = "Reserved"
_DECODER: Final = msgspec.json.Decoder(Reservation)


def reservation_body(cluster: Cluster, place: PlaceReservation, title: str) -> bytes:
    """Reservation object of a place, as JSON."""
    body = {
        "apiVersion": RESERVATION.api_version,
        "kind": RESERVATION.kind,
        "metadata": {
            "name": title,
            "namespace": place.was[0],
            "annotations": _annotations(cluster, place),
        },
        "spec": {
            "template": {"spec": _template(cluster, place)},
            "nodename": cluster.nodes.names[place.slot],
            "ttl": int(place.ttl),
        },
        "status": {"phase": RESERVED_PHASE},
    }
    return msgspec.json.encode(body)


def _annotations(cluster: Cluster, place: PlaceReservation) -> dict[str, str]:
    """The annotations that a restart needs besides the template."""
    notes = {RESERVED: "true", OWNER: place.owner, ORIGINAL: "/".join(place.was)}
    notes[RESERVATION_TTL] = str(int(place.ttl))
    if place.index:
        notes[RESERVATION_INDEX] = place.index
    if place.mask & DEVICE_BITS:
        notes[GPU_DEVICES] = mask_to_text(place.mask)
    for request in place.pod.devices:
        if request.milli < WHOLE:
            notes[GPU_MILLI] = str(request.milli)
    stated = cluster.topology.annotation_of(place.number)
    if stated:
        notes[MICRO_TOPOLOGY] = stated
    return notes


def _template(cluster: Cluster, place: PlaceReservation) -> Mapping[str, Any]:
    """A pod template that requests the reserved amounts."""
    names = cluster.ledger.resources.names
    requests = {names[c]: format_amount(names[c], n) for c, n in place.pod.requests}
    requests |= {each.kind: str(each.count) for each in place.pod.devices}
    found: dict[str, Any] = {
        "containers": [{"name": "kept", "resources": {"requests": requests}}],
        "nodeSelector": dict(place.pod.spec.node_selector),
    }
    return found


def place_of(cluster: Cluster, record: Record) -> PlaceReservation | None:
    """The place of a stored Reservation; ``None`` if it has ended or its node is unknown.

    Raises:
        StrettoError: the pod template cannot be used.
        ValueError: the object is malformed.
    """
    reservation = _DECODER.decode(record.body)
    slot = cluster.nodes.by_name.get(reservation.spec.node_name)
    notes = reservation.metadata.annotations
    if reservation.status.phase not in ("", RESERVED_PHASE) or slot is None or OWNER not in notes:
        return None
    spec = msgspec.to_builtins(reservation.spec.template.spec)
    spec = {key: value for key, value in spec.items() if value is not None}
    meta = {"name": record.name, "namespace": record.namespace, "annotations": notes}
    body = msgspec.json.encode({"metadata": meta, "spec": spec})
    head = decode_pod_head(body)
    pod = cluster.classes[cluster.classes.intern(head, body)]
    mask = text_to_mask(notes.get(GPU_DEVICES, ""))
    if MICRO_TOPOLOGY in notes:
        mask |= cluster.topology.mask_of(slot, notes[MICRO_TOPOLOGY], record.name)
    ttl = float(reservation.spec.ttl or 0)
    space, _, name = notes.get(ORIGINAL, "").partition("/")
    generation = int(cluster.ledger.slots.generation[slot])
    index = notes.get(RESERVATION_INDEX, "")
    return PlaceReservation(0, notes[OWNER], index, slot, generation, pod, mask, ttl, (space, name))
