"""Kept places: what a pod that has gone held, held on for its successor.

A pod with the annotation ``godel.bytedance.com/reservation: "true"`` keeps its place when it goes:
amounts, devices, ports and NUMA nodes stay charged until a pod of the same owner takes them or the
time is over. A kept place is charged like a claim, so nobody else can have it; the binder opens it
for the one it is for, in the same step in which it judges that pod's claim.
"""

from typing import Final

import msgspec
import numpy as np

from stretto.state.classes.table import PodClass
from stretto.state.numa.ledger import DEVICE_BITS, NumaTopology
from stretto.state.rows.ledger import Ledger
from stretto.state.rows.pods import Pods
from stretto.state.rows.resources import PODS

FIRST: Final = -2
"""Row that the first kept place has in the books of NUMA nodes; pods have rows from 0 on."""


class PlaceReservation(msgspec.Struct, eq=False):
    """One kept place."""

    #: Its number: negative, never given twice.
    number: int
    #: Whom it is for: the namespace, and the kind and name of the owner or the pod's own name.
    owner: str
    #: Which successor; empty for any.
    index: str
    #: Slot of the node.
    slot: int
    #: Generation of that slot.
    generation: int
    #: Class of the pod that went.
    pod: PodClass
    #: Devices and NUMA nodes.
    mask: int
    #: Seconds for which it is kept.
    ttl: float
    #: Namespace and name of the pod that went.
    was: tuple[str, str] = ("", "")
    #: Clock time after which it is free; infinity before anybody has looked at the clock.
    until: float = float("inf")


class PlaceReservations:
    """Every kept place."""

    def __init__(self, ledger: Ledger, topology: NumaTopology, pods: Pods) -> None:
        """Nothing is kept."""
        #: Places by their number.
        self.places: dict[int, PlaceReservation] = {}
        #: Places made since somebody last looked.
        self.fresh: list[PlaceReservation] = []
        #: Places that were taken by their successor since somebody last looked, with its row.
        self.taken: list[tuple[PlaceReservation, int]] = []
        self._ledger = ledger
        self._topology = topology
        self._pods = pods
        self._next = FIRST
        self._owners: dict[int, tuple[int, str]] = {}
        self._members: dict[str, set[int]] = {}
        self._by_owner: dict[str, list[PlaceReservation]] = {}

    def __bool__(self) -> bool:
        """Whether any place is kept."""
        return bool(self.places)

    def belongs(self, row: int, owner: str) -> None:
        """A pod whose place will be kept belongs to an owner, ``Kind/name``; empty for none."""
        self._owners[row] = int(self._pods.serial[row]), owner
        self._members.setdefault(self.owner_of(row), set()).add(row)

    def forget(self, row: int) -> None:
        """A pod has ended."""
        if row in self._owners:
            owner = self.owner_of(row)
            self._members.get(owner, set()).discard(row)
            if not self._members.get(owner):
                self._members.pop(owner, None)
            del self._owners[row]

    def members(self, row: int) -> frozenset[int]:
        """Rows of all pods of a pod's owner that are known, wherever they are."""
        return frozenset(self._members.get(self.owner_of(row), ()))

    def owner_of(self, row: int) -> str:
        """Whom a pod's place would be for: the pods of its owner, or a pod of its own name."""
        serial, owner = self._owners.get(row, (0, ""))
        name = owner if owner and serial == self._pods.serial[row] else self._pods.name[row]
        return f"{self._pods.namespace[row]}/{name}"

    def keep(self, row: int, pod: PodClass) -> None:
        """A pod that is on a node goes, and its place stays; the pod itself is taken off first."""
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
        """Charge the place of the pod that has been taken off just now."""
        self.add(self.fresh[-1])

    def add(self, place: PlaceReservation) -> None:
        """Charge a place."""
        place.mask = self._charge(place, 1)
        self.places[place.number] = place
        self._by_owner.setdefault(place.owner, []).append(place)

    def adopt(self, place: PlaceReservation) -> None:
        """Charge a place that was kept before a restart."""
        place.number, self._next = self._next, self._next - 1
        self.add(place)

    def drop(self, place: PlaceReservation) -> None:
        """Give a place up: whoever fits may have it now."""
        if self.places.pop(place.number, None) is None:
            return
        self._by_owner[place.owner].remove(place)
        if not self._by_owner[place.owner]:
            del self._by_owner[place.owner]
        if self._lives(place):
            self._charge(place, -1)

    def release_node(self, slot: int) -> None:
        """A node has gone, and the places on it."""
        for place in [p for p in self.places.values() if p.slot == slot]:
            self.places.pop(place.number)
            self._by_owner[place.owner].remove(place)
            self._topology.holdings.pop(place.number, None)

    def for_row(self, row: int, pod: PodClass) -> list[PlaceReservation]:
        """The places that a pod may take, the oldest first."""
        keep = pod.annotations.reservation
        if keep is None or not self.places:
            return []
        if keep.ttl:
            found = self._by_owner.get(self.owner_of(row), [])
        else:  # whose place it was does not matter to who names it
            space = self._pods.namespace[row]
            found = [place for place in self.places.values() if place.was[0] == space]
        return [p for p in found if p.index == keep.index and covers(p.pod, pod)]

    def open(self, row: int, slot: int, pod: PodClass) -> PlaceReservation | None:
        """Give up the place that a pod's claim is for, so that the claim can be judged."""
        for place in self.for_row(row, pod):
            if place.slot == slot:
                self.drop(place)
                return place
        return None

    def close(self, place: PlaceReservation, row: int, *, taken: bool) -> None:
        """The claim was judged: the place has its successor, or is kept on."""
        if taken:
            self.taken.append((place, row))
        elif self._lives(place):
            self.add(place)

    def _lives(self, place: PlaceReservation) -> bool:
        slots = self._ledger.slots
        return bool(slots.live[place.slot]) and slots.generation[place.slot] == place.generation

    def _charge(self, place: PlaceReservation, sign: int) -> int:
        """Take (or give back) what the pod of a place held; returns the mask."""
        pod, slot, mask = place.pod, place.slot, place.mask
        for request in pod.devices:
            self._ledger.devices.take(slot, mask & DEVICE_BITS, request, sign)
        if pod.annotations.numa is not None:
            if sign > 0:
                mask = self._topology.take(place.number, slot, mask, pod)
            else:
                self._topology.give_back(place.number)
        if pod.ports and sign > 0:
            self._ledger.ports.learn(pod.ports)
            self._ledger.ports.take(slot, pod.ports)
        elif pod.ports:
            self._ledger.ports.release(slot, pod.ports)
        self._ledger.charge(slot, pod.requests, sign)
        return mask


def covers(kept: PodClass, wanted: PodClass) -> bool:
    """Whether the place of a pod of one class holds a pod of another."""
    have = dict(kept.requests)
    return (
        all(have.get(column, 0) >= amount for column, amount in wanted.requests)
        and kept.devices == wanted.devices
        and set(wanted.ports) <= set(kept.ports)
        and kept.annotations.numa == wanted.annotations.numa
    )


def charged(
    keeps: PlaceReservations, used: "np.ndarray[tuple[int, ...], np.dtype[np.int64]]"
) -> None:
    """Add what is kept to expected amounts by slot and resource, for those who check the books."""
    for place in keeps.places.values():
        for column, amount in place.pod.requests:
            used[place.slot, column] += amount
        used[place.slot, PODS] += 1
