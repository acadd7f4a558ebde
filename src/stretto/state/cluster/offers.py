"""Offered capacity in the ledger: one claim per node for all capacity that frameworks hold there.

The master reserves capacity that no pod uses yet: outstanding offers, and tasks whose pods are not
visible yet. Their sum is one claim on the node, so shards, binder and evictor count it like the
claims of pods. The claim is replaced as a whole: charged before an offer is sent, reduced when a
pod of a task is charged in its place, and released when an offer or a task ends.
"""

from collections.abc import Iterator, Mapping
from typing import Final

import msgspec
import numpy as np
import numpy.typing as npt

from stretto.state.classes.table import PodClass
from stretto.state.rows.devices import MAX_DEVICES, WHOLE, DeviceRequest
from stretto.state.rows.ledger import Ledger
from stretto.state.rows.ports import PortRanges
from stretto.state.rows.resources import PODS


class OfferClaim(msgspec.Struct, frozen=True):
    """Capacity that frameworks hold on a node, besides the pods of their tasks."""

    #: Exact amounts by column, all positive.
    amounts: Mapping[int, int] = {}
    #: Whole devices by kind, all positive.
    devices: Mapping[str, int] = {}
    #: Numbers of host ports, as inclusive ranges.
    ports: PortRanges = ()

    def __bool__(self) -> bool:
        """Return whether any capacity is held."""
        return bool(self.amounts or self.devices or self.ports)

    def is_less_than(self, other: "OfferClaim") -> bool:
        """Return whether any amount is smaller than in another claim."""
        return (
            any(self.amounts.get(key, 0) < n for key, n in other.amounts.items())
            or any(self.devices.get(key, 0) < n for key, n in other.devices.items())
            or self.ports != other.ports
        )


NOTHING: Final = OfferClaim()
"""The claim of a node on which frameworks hold no capacity."""


class OfferClaims:
    """The claims of frameworks by slot."""

    def __init__(self, ledger: Ledger) -> None:
        """Start without claims."""
        self._ledger = ledger
        self._claims: dict[int, OfferClaim] = {}
        self._masks: dict[int, int] = {}

    def __bool__(self) -> bool:
        """Return whether frameworks hold any capacity."""
        return bool(self._claims)

    def __iter__(self) -> Iterator[tuple[int, OfferClaim]]:
        """Slots with their claims."""
        return iter(self._claims.items())

    def of(self, slot: int) -> OfferClaim:
        """Capacity that frameworks hold on a slot, besides the pods of their tasks."""
        return self._claims.get(slot, NOTHING)

    def mask(self, slot: int) -> int:
        """The devices of the claim of a slot, as bits."""
        return self._masks.get(slot, 0)

    def is_short(self, slot: int) -> bool:
        """Return whether a slot has fewer devices than its claim."""
        return self.mask(slot).bit_count() < sum(self.of(slot).devices.values())

    def charged(self, slot: int) -> Mapping[int, int]:
        """Amounts of a claim in the ledger: its own amounts and one pod slot."""
        claim = self.of(slot)
        return {**claim.amounts, PODS: 1} if claim else {}

    def replace(self, slot: int, claim: OfferClaim) -> bool:
        """Replace the claim of a slot; returns whether any amount is smaller now.

        A claim also includes a pod slot, so that its first task has one.
        """
        before = self.of(slot)
        if before == claim:
            return False
        if before:
            self._take_devices(slot, before, -1)
            self._ledger.charge(slot, tuple(before.amounts.items()), -1)
            del self._claims[slot]
        self._ledger.ports.reserve(slot, claim.ports)
        if claim:
            self._take_devices(slot, claim, 1)
            self._ledger.charge(slot, tuple(claim.amounts.items()))
            self._claims[slot] = claim
        return claim.is_less_than(before)

    def fits_without(self, slot: int, pod: PodClass) -> bool:
        """Return whether a pod would fit on a slot if its claim were released."""
        ledger, claim = self._ledger, self.of(slot)
        free = ledger.alloc[slot] - ledger.used[slot]
        return (
            all(free[column] + claim.amounts.get(column, 0) >= n for column, n in pod.requests)
            and all(self._devices_without(slot, each) for each in pod.devices)
            and ledger.ports.would_be_free(slot, pod.ports)
        )

    def _devices_without(self, slot: int, wanted: DeviceRequest) -> bool:
        devices, mask = self._ledger.devices, self.mask(slot)
        number, models = devices.kind_number(wanted.kind), devices.model_mask(wanted.models)
        usable = [
            d
            for d in range(MAX_DEVICES)
            if devices.kind[slot, d] == number and models >> int(devices.model[slot, d]) & 1
        ]
        free = [devices.free[slot, d] + WHOLE * (mask >> d & 1) for d in usable]
        return sum(1 for each in free if each >= wanted.milli) >= wanted.count

    def guess(self, slot: int, wanted: DeviceRequest) -> int:
        """The likely devices of a pod that no shard placed, as bits.

        The devices of the claim count as free if there are not enough others: the pod may run a
        task for which the claim has reserved them, and the claim is reduced only afterwards.
        """
        devices, mask = self._ledger.devices, self.mask(slot)
        claimed = [d for d in range(MAX_DEVICES) if mask >> d & 1]
        found = devices.guess(slot, wanted)
        if not claimed or devices.covers(slot, found, wanted):
            return found
        devices.free[slot, claimed] += WHOLE
        found = devices.guess(slot, wanted)
        devices.free[slot, claimed] -= WHOLE
        return found

    def take_again(self, slot: int) -> None:
        """Take the claim's devices again after those of the slot were replaced by whole ones."""
        self._masks.pop(slot, None)
        self._take_devices(slot, self.of(slot), 1)

    def release_node(self, slot: int) -> None:
        """Drop the claim of a removed node; the ledger clears its amounts."""
        self._claims.pop(slot, None)
        self._masks.pop(slot, None)

    def _take_devices(self, slot: int, claim: OfferClaim, sign: int) -> None:
        """Take (or with ``sign`` -1 release) the devices of a claim, the freest of each kind."""
        devices = self._ledger.devices
        if sign < 0:
            mask = self._masks.pop(slot, 0)
        else:
            chosen = [self._freest(slot, kind, count) for kind, count in claim.devices.items()]
            mask = sum(chosen)
        for kind, count in claim.devices.items():
            devices.take(slot, mask, DeviceRequest(kind, count, WHOLE), sign)
        if sign > 0 and mask:
            self._masks[slot] = mask

    def _freest(self, slot: int, kind: str, count: int) -> int:
        devices = self._ledger.devices
        number = devices.kind_number(kind)
        right = [d for d in range(MAX_DEVICES) if devices.kind[slot, d] == number]
        right.sort(key=lambda d: (-int(devices.free[slot, d]), d))
        return sum(1 << d for d in right[:count])


def add_offered(offers: OfferClaims, used: npt.NDArray[np.int64]) -> None:
    """Add the claims of frameworks to expected amounts by slot and resource, for checks."""
    for slot, _ in offers:
        for column, amount in offers.charged(slot).items():
            used[slot, column] += amount


def add_offered_devices(offers: OfferClaims, taken: npt.NDArray[np.int32]) -> None:
    """Add the claims of frameworks to expected milli by slot and device, for checks."""
    for slot, _ in offers:
        for device in range(MAX_DEVICES):
            taken[slot, device] += WHOLE * (offers.mask(slot) >> device & 1)
