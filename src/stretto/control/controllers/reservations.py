"""Reservation objects of reserved capacity: created, expired and ended here.

``state.cluster.reservations`` reserves the capacity when the pod is deleted. This module adds the
time-out and an object in the store, so that users see the reservation and a restart restores it. If
the store refuses the object, the reservation still holds but is not visible.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from stretto.api.types.godel import Reservation
from stretto.api.types.heads import decode_pod_head
from stretto.api.wire.kinds import RESERVATION
from stretto.api.wire.quantity import format_amount
from stretto.base.errors import StrettoError
from stretto.state.classes.annotations import MICRO_TOPOLOGY, RESERVATION_INDEX, RESERVATION_TTL
from stretto.state.classes.annotations import RESERVATION as RESERVED
from stretto.state.classes.table import GPU_DEVICES, GPU_MILLI
from stretto.state.cluster.cluster import Cluster
from stretto.state.cluster.reservations import PlaceReservation
from stretto.state.numa.ledger import DEVICE_BITS
from stretto.state.rows.devices import WHOLE, mask_to_text, text_to_mask
from stretto.state.work.changes import ClusterChanges
from stretto.state.work.units import Cure
from stretto.stores.store import Deletion, Patch, Record, Store, WriteOutcome

OWNER: Final = "godel.bytedance.com/reservation-owner"
"""Annotation: the owner that the reservation is for."""
ORIGINAL: Final = "godel.bytedance.com/reservation-original-pod"
"""Annotation: the deleted pod, ``namespace/name``."""
RESERVED_PHASE: Final = "Reserved"
_DECODER: Final = msgspec.json.Decoder(Reservation)


class Reservations:
    """Expires reservations and writes their objects."""

    def __init__(
        self, cluster: Cluster, store: Store, wall: Callable[[], float] | None = None
    ) -> None:
        """Use a cluster's reservations; ``wall`` gives seconds since the epoch, for restarts."""
        self._cluster = cluster
        self._store = store
        self._wall = wall
        self._names: dict[int, tuple[str, str]] = {}
        self._adopted = False

    def witness(self, changes: ClusterChanges, now: float) -> None:
        """Read each batch before it is absorbed: new reservations get their time-out."""
        if not self._adopted:
            self._adopted = True
            self._adopt(now)
        fresh, self._cluster.reservations.fresh = self._cluster.reservations.fresh, []
        for place in fresh:
            place.until = now + place.ttl
            self._write(place)

    def step(self, now: float) -> bool:
        """Release expired reservations and end used ones; returns whether there were any."""
        reservations = self._cluster.reservations
        if not reservations.places and not reservations.taken:
            return False
        late = [place for place in reservations.places.values() if place.until <= now]
        for place in late:
            reservations.drop(place)
            self._end(place, "TimeOut", None)
            self._cluster.changes.cures |= Cure.POD_LEFT
        taken, reservations.taken = reservations.taken, []
        for place, row in taken:
            self._end(place, "Matched", row)
        return bool(late or taken)

    def next_due(self) -> float:
        """Clock time of the next time-out; infinity without reservations."""
        return min(
            (p.until for p in self._cluster.reservations.places.values()), default=float("inf")
        )

    def _write(self, place: PlaceReservation) -> None:
        space, name = place.was
        title = f"{name}-{-place.number}"
        body = {
            "apiVersion": RESERVATION.api_version,
            "kind": RESERVATION.kind,
            "metadata": {"name": title, "namespace": space, "annotations": self._notes(place)},
            "spec": {
                "template": {"spec": self._template(place)},
                "nodename": self._cluster.nodes.names[place.slot],
                "ttl": int(place.ttl),
            },
            "status": {"phase": RESERVED_PHASE},
        }
        reply = self._store.create(RESERVATION, [msgspec.json.encode(body)])[0]
        if reply.outcome is not WriteOutcome.CONFLICT:
            self._names[place.number] = space, title

    def _notes(self, place: PlaceReservation) -> dict[str, str]:
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
        stated = self._cluster.topology.annotation_of(place.number)
        if stated:
            notes[MICRO_TOPOLOGY] = stated
        return notes

    def _template(self, place: PlaceReservation) -> Mapping[str, Any]:
        """A pod template that requests the reserved amounts."""
        names = self._cluster.ledger.resources.names
        requests = {names[c]: format_amount(names[c], n) for c, n in place.pod.requests}
        requests |= {each.kind: str(each.count) for each in place.pod.devices}
        found: dict[str, Any] = {
            "containers": [{"name": "kept", "resources": {"requests": requests}}],
            "nodeSelector": dict(place.pod.spec.node_selector),
        }
        return found

    def _end(self, place: PlaceReservation, phase: str, row: int | None) -> None:
        """Write the final phase of a reservation and delete its object."""
        known = self._names.pop(place.number, None)
        if known is None:
            return
        space, name = known
        owner = {}
        if row is not None:
            pods = self._cluster.pods
            owner = {"name": pods.name[row], "namespace": space, "uid": pods.uid[row]}
        patch = Patch(space, name, {"status": {"phase": phase, "currentOwners": owner or None}})
        self._store.patch_status(RESERVATION, [patch])
        self._store.delete(RESERVATION, [Deletion(space, name)])

    # ------------------------------------------------------------ after a restart

    def _adopt(self, now: float) -> None:
        """Restore the reservations of a former process."""
        for record in self._store.list(RESERVATION).records:
            try:
                self._take_over(record, now)
            except (StrettoError, msgspec.DecodeError, ValueError) as error:
                key = f"reservation {record.namespace}/{record.name}"
                self._cluster.abnormal[key] = f"{key}: {error}"

    def _take_over(self, record: Record, now: float) -> None:
        reservation = _DECODER.decode(record.body)
        slot = self._cluster.nodes.by_name.get(reservation.spec.node_name)
        notes = reservation.metadata.annotations
        if (
            reservation.status.phase not in ("", RESERVED_PHASE)
            or slot is None
            or OWNER not in notes
        ):
            return
        spec = msgspec.to_builtins(reservation.spec.template.spec)
        spec = {key: value for key, value in spec.items() if value is not None}
        meta = {"name": record.name, "namespace": record.namespace, "annotations": notes}
        body = msgspec.json.encode({"metadata": meta, "spec": spec})
        head = decode_pod_head(body)
        pod = self._cluster.classes[self._cluster.classes.intern(head, body)]
        mask = text_to_mask(notes.get(GPU_DEVICES, ""))
        if MICRO_TOPOLOGY in notes:
            mask |= self._cluster.topology.mask_of(slot, notes[MICRO_TOPOLOGY], record.name)
        ttl = float(reservation.spec.ttl or 0)
        space, _, name = notes.get(ORIGINAL, "").partition("/")
        generation = int(self._cluster.ledger.slots.generation[slot])
        index = notes.get(RESERVATION_INDEX, "")
        place = PlaceReservation(
            0, notes[OWNER], index, slot, generation, pod, mask, ttl, (space, name)
        )
        place.until = now + ttl
        self._cluster.reservations.adopt(place)
        self._names[place.number] = record.namespace, record.name
