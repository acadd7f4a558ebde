"""Lateness of decliners: a framework is sorted after its siblings until its filter ends."""

import heapq
from itertools import count

from stretto.offers.allocator.pool.members import Subscription
from stretto.offers.allocator.pool.pool import OfferPool


class Lateness:
    """The subscriptions that are sorted after their siblings."""

    def __init__(self, pool: OfferPool) -> None:
        """Start without late subscriptions."""
        self._pool = pool
        self._ends: list[tuple[float, int, Subscription]] = []
        self._numbers = count()

    def note(self, subscription: Subscription, end: float) -> None:
        """Sort a framework that declined after its siblings until ``end``, when its filter ends."""
        if end <= subscription.late_until:
            return
        subscription.set_late(end)
        heapq.heappush(self._ends, (end, next(self._numbers), subscription))
        self._show(subscription)

    def clear(self, subscription: Subscription) -> None:
        """Move a framework that revived back to its place."""
        if subscription.late_until:
            subscription.set_late(0.0)
            self._show(subscription)

    def expire(self, now: float) -> None:
        """Move frameworks whose filters have ended back to their places."""
        while self._ends and self._ends[0][0] <= now:
            end, _, subscription = heapq.heappop(self._ends)
            if subscription.late_until == end:
                self.clear(subscription)

    def _show(self, subscription: Subscription) -> None:
        sorter, path = subscription.role.sorter, subscription.framework.info.id
        if sorter is not None and path in sorter:
            sorter.set_late(path, bool(subscription.late_until))
            self._pool.refresh_lateness(subscription.role)
