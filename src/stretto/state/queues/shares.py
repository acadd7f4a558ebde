"""Shares: the amounts that the pods of each queue use, by resource.

The exact sums over live claims are updated with each claim, so fairness and quota read one number
and never iterate over pods. A claim is charged when it is made, and the same amounts are refunded
when it ends.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from stretto.base.amounts import add_amounts

Amounts = Iterable[tuple[int, int]]
"""(resource column, exact amount) of a pod."""


class DominantShare(NamedTuple):
    """The resource with the queue's largest share."""

    #: Fraction of the capacity, 0 to 1 (above 1 after the cluster has shrunk).
    share: float
    #: Column of the resource; -1 if the queue uses nothing.
    column: int


NOTHING = DominantShare(0.0, -1)


def dominant(amounts: Amounts, capacity: Mapping[int, int]) -> DominantShare:
    """The largest share over all resources (dominant share; DRF, Ghodsi et al., NSDI 2011).

    Args:
        amounts: used amounts, each column once.
        capacity: capacity of the cluster by column; a column without capacity does not count.
    """
    best = NOTHING
    for column, amount in amounts:
        whole = capacity.get(column, 0)
        if amount and whole > 0:
            share = amount / whole
            if share > best.share or (share == best.share and column < best.column):
                best = DominantShare(share, column)
    return best


class QueueShares:
    """Used amounts by queue."""

    def __init__(self) -> None:
        """Start without charges."""
        self._used: dict[str, dict[int, int]] = {}
        self._pods: dict[str, int] = {}
        self._changed: set[str] = set()

    def charge(self, queue: str, amounts: Amounts, pods: int = 1) -> None:
        """Add the claims of ``pods`` pods of a queue, each with these amounts."""
        used = self._used.setdefault(queue, {})
        add_amounts(used, amounts, pods)
        self._pods[queue] = self._pods.get(queue, 0) + pods
        self._changed.add(queue)

    def refund(self, queue: str, amounts: Amounts, pods: int = 1) -> None:
        """Remove the claims of ``pods`` pods of a queue, each with these amounts.

        Raises:
            ValueError: the refund exceeds the charges; the state is unchanged.
        """
        used, given = self._used.get(queue, {}), list(amounts)
        if self._pods.get(queue, 0) < pods or any(
            used.get(column, 0) < amount * pods for column, amount in given
        ):
            raise ValueError(f"queue {queue}: the refund exceeds the charges")
        for column, amount in given:
            used[column] -= amount * pods
        self._pods[queue] -= pods
        self._changed.add(queue)

    def take_changed(self) -> set[str]:
        """Queues whose amounts have changed since the last call."""
        changed, self._changed = self._changed, set()
        return changed

    def used(self, queue: str, column: int) -> int:
        """Exact amount of a resource that a queue's pods use."""
        return self._used.get(queue, {}).get(column, 0)

    def pods(self, queue: str) -> int:
        """The number of pods of a queue with a claim."""
        return self._pods.get(queue, 0)

    def usage(self, queue: str) -> Mapping[int, int]:
        """All amounts that a queue's pods use, by column; zeros are omitted."""
        return {column: amount for column, amount in self._used.get(queue, {}).items() if amount}

    def queues(self) -> list[str]:
        """Queues with charges now or in the past."""
        return list(self._used)

    def dominant(self, queue: str, capacity: Mapping[int, int]) -> DominantShare:
        """The dominant share of a queue."""
        return dominant(self._used.get(queue, {}).items(), capacity)
