"""Shares: what the pods of each queue hold, by resource.

The exact sum over live claims, kept as claims come and go, so that fairness and quota read a number
and never walk pods. Charge when a claim is made, refund when it ends, with the same amounts.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

Amounts = Iterable[tuple[int, int]]
"""(resource column, exact amount) of a pod."""


class DominantShare(NamedTuple):
    """The resource of which a queue holds the largest part."""

    #: The part of the whole, 0 to 1 (more where the whole has shrunk).
    share: float
    #: Column of the resource; -1 when the queue holds nothing.
    column: int


NOTHING = DominantShare(0.0, -1)


def dominant(amounts: Amounts, capacity: Mapping[int, int]) -> DominantShare:
    """The largest part of any resource that somebody holds (DRF's dominant share).

    Args:
        amounts: what is held, each column once.
        capacity: what the cluster has, by column; what it has nothing of does not count.
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
    """What each queue holds."""

    def __init__(self) -> None:
        """Start with nothing held."""
        self._used: dict[str, dict[int, int]] = {}
        self._pods: dict[str, int] = {}

    def charge(self, queue: str, amounts: Amounts, pods: int = 1) -> None:
        """A queue's pods, each with these amounts, got claims."""
        used = self._used.setdefault(queue, {})
        for column, amount in amounts:
            used[column] = used.get(column, 0) + amount * pods
        self._pods[queue] = self._pods.get(queue, 0) + pods

    def refund(self, queue: str, amounts: Amounts, pods: int = 1) -> None:
        """Claims of a queue's pods, each with these amounts, ended.

        Raises:
            ValueError: more would be given back than was charged; nothing has changed.
        """
        used, given = self._used.get(queue, {}), list(amounts)
        if self._pods.get(queue, 0) < pods or any(
            used.get(column, 0) < amount * pods for column, amount in given
        ):
            raise ValueError(f"queue {queue}: more is given back than was charged")
        for column, amount in given:
            used[column] -= amount * pods
        self._pods[queue] -= pods

    def used(self, queue: str, column: int) -> int:
        """How much of a resource a queue's pods hold, exactly."""
        return self._used.get(queue, {}).get(column, 0)

    def pods(self, queue: str) -> int:
        """How many pods of a queue hold something."""
        return self._pods.get(queue, 0)

    def usage(self, queue: str) -> Mapping[int, int]:
        """Everything a queue's pods hold, by column; zeros are left out."""
        return {column: amount for column, amount in self._used.get(queue, {}).items() if amount}

    def queues(self) -> list[str]:
        """Queues that hold, or held, something."""
        return list(self._used)

    def dominant(self, queue: str, capacity: Mapping[int, int]) -> DominantShare:
        """The largest part of any resource that a queue holds."""
        return dominant(self._used.get(queue, {}).items(), capacity)
