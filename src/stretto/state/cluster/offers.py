"""Offered capacity in the ledger: one claim per node for everything that frameworks hold there.

A master of frameworks holds capacity that no pod uses yet: outstanding offers, and tasks whose pods
are not visible yet. Their sum is one claim on the node, so shards, binder and evictor count it like
the claims of pods. The claim is replaced as a whole: charged before an offer is sent, reduced when
a pod of a task is charged in its place, and released when an offer or a task ends.
"""

from collections.abc import Iterator, Mapping
from typing import Final

import numpy as np

from stretto.state.rows.ledger import Ledger
from stretto.state.rows.resources import PODS

NOTHING: Final[Mapping[int, int]] = {}


class OfferClaims:
    """The claims of frameworks by slot."""

    def __init__(self, ledger: Ledger) -> None:
        """Start without claims."""
        self._ledger = ledger
        self._claims: dict[int, Mapping[int, int]] = {}

    def __bool__(self) -> bool:
        """Whether frameworks hold anything."""
        return bool(self._claims)

    def __iter__(self) -> Iterator[tuple[int, Mapping[int, int]]]:
        """Slots with their claims."""
        return iter(self._claims.items())

    def of(self, slot: int) -> Mapping[int, int]:
        """Amounts by column that frameworks hold on a slot, beside the pods of their tasks."""
        return self._claims.get(slot, NOTHING)

    def charged(self, slot: int) -> Mapping[int, int]:
        """What a claim takes in the ledger: its amounts, and one pod slot."""
        claim = self.of(slot)
        return {**claim, PODS: 1} if claim else claim

    def replace(self, slot: int, amounts: Mapping[int, int]) -> bool:
        """Replace the claim of a slot; whether it shrank in a resource.

        A claim also takes a pod slot, so that its first task has one.
        """
        before = self.of(slot)
        after = {column: amount for column, amount in amounts.items() if amount > 0}
        if before == after:
            return False
        if before:
            self._ledger.charge(slot, tuple(before.items()), -1)
            del self._claims[slot]
        if after:
            self._ledger.charge(slot, tuple(after.items()))
            self._claims[slot] = after
        return any(after.get(column, 0) < amount for column, amount in before.items())

    def release_node(self, slot: int) -> None:
        """Forget the claim of a removed node, whose amounts the ledger clears."""
        self._claims.pop(slot, None)


def add_offered(
    offers: OfferClaims, used: "np.ndarray[tuple[int, ...], np.dtype[np.int64]]"
) -> None:
    """Add the claims of frameworks to expected amounts by slot and resource, for checks."""
    for slot, _ in offers:
        for column, amount in offers.charged(slot).items():
            used[slot, column] += amount
