"""Interface through which controllers evict pods: one lane for all evictions."""

from collections.abc import Callable, Sequence
from typing import Protocol

from stretto.state.work.evictions import EvictionOrder


class EvictionOrders(Protocol):
    """Accepts orders for evictions."""

    def permits(self, rows: Sequence[int], serials: Sequence[int], now: float) -> bool:
        """Return whether an order without exceptions would evict all these pods."""
        ...

    def order(self, order: EvictionOrder, now: float) -> tuple[int, ...]:
        """Evict pods; returns the rows that are evicted, without protected ones."""
        ...


EvictionOrdersOf = Callable[[], EvictionOrders]
"""Returns the current receiver of orders: a restarted binder has a new one."""
