"""Reservation objects of reserved capacity: creates, expires and ends them.

``state.cluster.reservations`` reserves the capacity when the pod is deleted. This module adds the
time-out and an object in the store, so that users see the reservation and a restart restores it. If
the store refuses the object, the reservation is still effective but not visible.
"""

from collections.abc import Callable

import msgspec

from stretto.api.wire.kinds import RESERVATION
from stretto.base.errors import StrettoError
from stretto.control.controllers.placeholders import place_of, reservation_body
from stretto.state.cluster.cluster import Cluster
from stretto.state.cluster.reservations import PlaceReservation
from stretto.state.work.changes import ClusterChanges
from stretto.state.work.units import Cure
from stretto.stores.store import Deletion, Patch, Record, Store, WriteOutcome


class Reservations:
    """Expires reservations and writes their objects."""

    def __init__(
        self, cluster: Cluster, store: Store, wall: Callable[[], float] | None = None
    ) -> None:
        """Use a cluster's reservations; ``wall`` returns seconds since the epoch, for restarts."""
        self._cluster = cluster
        self._store = store
        self._wall = wall
        self._names: dict[int, tuple[str, str]] = {}
        self._adopted = False

    def witness(self, changes: ClusterChanges, now: float) -> None:
        """Give new reservations their time-out, before the batch is absorbed."""
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
        body = reservation_body(self._cluster, place, title)
        reply = self._store.create(RESERVATION, [body])[0]
        if reply.outcome is not WriteOutcome.CONFLICT:
            self._names[place.number] = space, title

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
        """Restore the reservations of a previous process."""
        for record in self._store.list(RESERVATION).records:
            try:
                self._take_over(record, now)
            except (StrettoError, msgspec.DecodeError, ValueError) as error:
                key = f"reservation {record.namespace}/{record.name}"
                self._cluster.abnormal[key] = f"{key}: {error}"

    def _take_over(self, record: Record, now: float) -> None:
        place = place_of(self._cluster, record)
        if place is None:
            return
        place.until = now + place.ttl
        self._cluster.reservations.adopt(place)
        self._names[place.number] = record.namespace, record.name
