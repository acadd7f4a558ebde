"""Reservations: the charge of an ended pod, kept for its successor.

A pod with the annotation ``godel.bytedance.com/reservation: "true"`` leaves a reservation when it
ends: amounts, devices, ports and NUMA nodes stay charged until a pod of the same owner takes them
or the reservation expires. A reservation is charged like a claim, so no other pod can use its
capacity. The binder opens it for the successor in the same step in which it judges the successor's
claim.
"""

from typing import Final

import msgspec
import numpy as np

from stretto.state.classes.table import PodClass
from stretto.state.cluster.devices import replaced
from stretto.state.numa.ledger import DEVICE_BITS, NumaTopology
from stretto.state.rows.ledger import Ledger
from stretto.state.rows.pods import Pods
from stretto.state.rows.resources import PODS

FIRST: Final = -2
"""NUMA ledger row of the first reservation; pods have rows from 0 on."""


class PlaceReservation(msgspec.Struct, eq=False):
    """One reservation."""

    #: Number of the reservation: negative, never reused.
    number: int
    #: Namespace with kind and name of the owner, or with the pod's own name if it has no owner.
    owner: str
    #: Reservation index that the successor must have; empty for any.
    index: str
    #: Slot of the node.
    slot: int
    #: Generation of that slot.
    generation: int
    #: Class of the ended pod.
    pod: PodClass
    #: Devices and NUMA nodes.
    mask: int
    #: Time to live in seconds.
    ttl: float
    #: Namespace and name of the ended pod.
    was: tuple[str, str] = ("", "")
    #: Clock time of expiry; infinity until the controller has set it.
    until: float = float("inf")

    def hold(self, mask: int) -> None:
        """Set the devices and NUMA nodes that were charged."""
        self.mask = mask

    def renumber(self, number: int) -> None:
        """Set a new number, because the number from before a restart may be in use."""
        self.number = number


class PlaceReservations:
    """All reservations."""

    def __init__(self, ledger: Ledger, topology: NumaTopology, pods: Pods) -> None:
        """Start without reservations."""
        #: Reservations by number.
        self.places: dict[int, PlaceReservation] = {}
        #: Reservations made since the controller's last step.
        self.fresh: list[PlaceReservation] = []
        #: Reservations taken by their successors since the controller's last step, with the
        #: successor's row.
        self.taken: list[tuple[PlaceReservation, int]] = []
        self._ledger = ledger
        self._topology = topology
        self._pods = pods
        self._next = FIRST
        self._owners: dict[int, tuple[int, str]] = {}
        self._members: dict[str, set[int]] = {}
        self._by_owner: dict[str, list[PlaceReservation]] = {}
        self._held: dict[int, tuple[tuple[int, int], ...]] = {}

    def __bool__(self) -> bool:
        """Return whether any reservation exists."""
        return bool(self.places)

    def set_owner(self, row: int, owner: str) -> None:
        """Record the owner (``Kind/name``; empty for none) of a pod with a reservation request."""
        self._owners[row] = int(self._pods.serial[row]), owner
        self._members.setdefault(self.owner_of(row), set()).add(row)

    def forget(self, row: int) -> None:
        """Drop the entries of an ended pod."""
        if row in self._owners:
            owner = self.owner_of(row)
            self._members.get(owner, set()).discard(row)
            if not self._members.get(owner):
                self._members.pop(owner, None)
            del self._owners[row]

    def members(self, row: int) -> frozenset[int]:
        """Rows of all known pods of a pod's owner, on any node or none."""
        return frozenset(self._members.get(self.owner_of(row), ()))

    def owner_of(self, row: int) -> str:
        """Owner of a pod's reservation: the pod's own owner, or its name if it has none."""
        serial, owner = self._owners.get(row, (0, ""))
        name = owner if owner and serial == self._pods.serial[row] else self._pods.name[row]
        return f"{self._pods.namespace[row]}/{name}"

    def prepare(self, row: int, pod: PodClass) -> None:
        """Prepare the reservation of an ended pod; call ``settle`` after refunding the pod."""
        if pod.annotations.reservation is None or not pod.annotations.reserves:
            return
        pods, slot = self._pods, int(self._pods.slot[row])
        place = PlaceReservation(
            number=self._next,
            owner=self.owner_of(row),
            index=pod.annotations.reservation.index,
            slot=slot,
            generation=int(self._ledger.slots.generation[slot]),
            pod=pod,
            mask=int(pods.devices[row]),
            ttl=float(pod.annotations.reservation.ttl),
            was=(pods.namespace[row], pods.name[row]),
        )
        self._next -= 1
        self.fresh.append(place)

    def settle(self) -> None:
        """Charge the reservation of the pod that was just refunded."""
        self.add(self.fresh[-1])

    def add(self, place: PlaceReservation) -> None:
        """Charge a reservation."""
        place.hold(self._charge(place, 1))
        self.places[place.number] = place
        self._by_owner.setdefault(place.owner, []).append(place)

    def adopt(self, place: PlaceReservation) -> None:
        """Charge a reservation made before a restart."""
        place.renumber(self._next)
        self._next -= 1
        self.add(place)

    def drop(self, place: PlaceReservation) -> None:
        """Release a reservation, so that its capacity is free."""
        if self.places.pop(place.number, None) is None:
            return
        self._by_owner[place.owner].remove(place)
        if not self._by_owner[place.owner]:
            del self._by_owner[place.owner]
        if self._lives(place):
            self._charge(place, -1)

    def release_node(self, slot: int) -> None:
        """Remove the reservations of a removed node."""
        for place in [p for p in self.places.values() if p.slot == slot]:
            self.places.pop(place.number)
            self._by_owner[place.owner].remove(place)
            self._topology.holdings.pop(place.number, None)
            self._held.pop(place.number, None)

    def for_row(self, row: int, pod: PodClass) -> list[PlaceReservation]:
        """The reservations that a pod may take, oldest first."""
        request = pod.annotations.reservation
        if request is None or not self.places:
            return []
        if request.ttl:
            found = self._by_owner.get(self.owner_of(row), [])
        else:  # a pod that names an index may use the reservation of any owner
            space = self._pods.namespace[row]
            found = [place for place in self.places.values() if place.was[0] == space]
        return [p for p in found if p.index == request.index and covers(p.pod, pod)]

    def open(self, row: int, slot: int, pod: PodClass) -> PlaceReservation | None:
        """Release the reservation that a pod's claim uses, so that the claim can be judged."""
        for place in self.for_row(row, pod):
            if place.slot == slot:
                self.drop(place)
                return place
        return None

    def close(self, place: PlaceReservation, row: int, *, taken: bool) -> None:
        """Record that the claim has taken the reservation, or charge the reservation again."""
        if taken:
            self.taken.append((place, row))
        elif self._lives(place):
            self.add(place)

    def _lives(self, place: PlaceReservation) -> bool:
        slots = self._ledger.slots
        return bool(slots.live[place.slot]) and slots.generation[place.slot] == place.generation

    def _charge(self, place: PlaceReservation, sign: int) -> int:
        """Charge (or release) the allocation of the ended pod; returns the mask."""
        pod, slot, mask = place.pod, place.slot, place.mask
        for request in pod.devices:
            self._ledger.devices.take(slot, mask & DEVICE_BITS, request, sign)
        if pod.annotations.numa is not None:
            if sign > 0:
                mask = self._topology.take(place.number, slot, mask, pod)
            else:
                self._topology.give_back(place.number)
        if pod.ports and sign > 0:
            self._ledger.learn_ports(pod.ports)
            self._ledger.ports.take(slot, pod.ports)
        elif pod.ports:
            self._ledger.ports.release(slot, pod.ports)
        self._ledger.charge(slot, pod.requests, sign)
        if sign > 0:
            self._hold(place)
        elif held := self._held.pop(place.number, ()):
            self._ledger.hold(slot, held, -1)
        return mask

    def take_devices_again(self, slot: int) -> None:
        """Take the reservations' devices again after a slot's were replaced by whole ones."""
        devices = self._ledger.devices
        for place in self.places.values():
            if place.slot != slot:
                continue
            if place.pod.annotations.numa is None:
                place.hold(replaced(devices, slot, place.mask, place.pod.devices))
            for request in place.pod.devices:
                devices.take(slot, place.mask & DEVICE_BITS, request)

    def hold_again(self, slot: int) -> None:
        """Count the exclusive amounts of reservations once on a slot where overcommit starts."""
        for place in self.places.values():
            if place.slot == slot:
                self._held.pop(place.number, None)
                self._hold(place)

    def held_by(self, place: PlaceReservation) -> tuple[tuple[int, int], ...]:
        """Exclusive amounts of a reservation on an overcommitted slot; empty for others."""
        return self._held.get(place.number, ())

    def _hold(self, place: PlaceReservation) -> None:
        """Promise the exclusive amounts of a reservation once, with those of whole NUMA nodes."""
        overcommitted = self._ledger.promises.is_overcommitted(place.slot)
        if overcommitted and place.pod.annotations.is_exclusive:
            found = self._topology.with_holding(place.number, place.slot, place.pod.requests)
            self._held[place.number] = found
            self._ledger.hold(place.slot, found)


def covers(reserved: PodClass, wanted: PodClass) -> bool:
    """Return whether the reservation of a pod of one class is sufficient for a pod of another."""
    have = dict(reserved.requests)
    return (
        all(have.get(column, 0) >= amount for column, amount in wanted.requests)
        and reserved.devices == wanted.devices
        and set(wanted.ports) <= set(reserved.ports)
        and reserved.annotations.numa == wanted.annotations.numa
    )


def add_reserved(
    reservations: PlaceReservations, used: "np.ndarray[tuple[int, ...], np.dtype[np.int64]]"
) -> None:
    """Add reservations to expected amounts by slot and resource, for invariant checks."""
    for place in reservations.places.values():
        for column, amount in place.pod.requests:
            used[place.slot, column] += amount
        used[place.slot, PODS] += 1
