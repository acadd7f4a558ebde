"""Evicts gangs that have nodes for fewer pods than they need.

A store that binds whole units never binds a part of a gang. An API server binds pod by pod, and a
member may be deleted or refused after others were bound. Until the deadline, new pods complete the
gang. After the deadline, the placed pods are evicted, so that they do not waste capacity.

Two gangs that lost pods may block each other: each waits for capacity that the other one uses. One
gang is then released, and the other one is completed. The guarantees of the queues, and then the
priorities, determine the released gang, so that it may not evict the other one afterwards.
"""

from collections.abc import Iterator
from math import inf
from typing import Final

from stretto.control.dispatcher.reclaimer import ReclaimSearch
from stretto.control.dispatcher.states.containers import UnitStates
from stretto.state.queues.guarantees import GuaranteeBalance, ReclaimRight, ReleaseRight
from stretto.state.rows.lifecycle import PodState, UnitState
from stretto.state.work.evictions import (
    EvictionCause,
    EvictionOrder,
    EvictionState,
    unit_name,
)
from stretto.state.work.units import NO_GROUP, Unit

AGAIN: Final = 10.0
"""Seconds between eviction retries; a disruption budget may have refused the last one."""
BLOCKED_AFTER: Final = 30.0
"""Seconds before one of two incomplete gangs is released; other pods may end first."""


class BrokenGangs:
    """The gangs to evict."""

    def __init__(self, states: UnitStates) -> None:
        """Start without gangs; ``states`` lists the incomplete gangs."""
        self._states = states
        self._pods = states.pods
        #: Clock time of the next eviction of each gang whose deadline has passed.
        self._evict_after: dict[Unit, float] = {}
        self._look_at = -inf

    def __bool__(self) -> bool:
        """Return whether a gang may have to be evicted."""
        return bool(self._evict_after or self._states.incomplete)

    def add(self, unit: Unit, now: float) -> None:
        """Add a gang whose deadline has passed while some of its pods have nodes."""
        self._evict_after.setdefault(unit, now)

    def orders(self, search: ReclaimSearch, now: float) -> list[EvictionOrder]:
        """The evictions that are due, with their reasons."""
        self._forget_complete()
        found = []
        for unit, at in list(self._evict_after.items()):
            if not unit.bound or unit.still_needed == 0:
                del self._evict_after[unit]
            elif now >= at:
                self._evict_after[unit] = now + AGAIN
                reason = f"gang {self._name(unit)} has {_count(unit)} at its deadline"
                found += self._order(unit, reason)
        return found or self._release_one(search, now)

    def next_due(self) -> float:
        """Clock time of the next eviction; infinity for none."""
        due = min(self._evict_after.values(), default=inf)
        times = sorted(self._states.incomplete.values())
        if len(times) > 1:
            due = min(due, max(times[1] + BLOCKED_AFTER, self._look_at))
        return due

    def _forget_complete(self) -> None:
        """Drop gangs that are complete again or have no node any more."""
        incomplete = self._states.incomplete
        for unit in list(incomplete):
            if not unit.bound or not len(unit.bound) < unit.min_member < NO_GROUP:
                del incomplete[unit]

    def _order(
        self, unit: Unit, reason: str, beneficiaries: tuple[int, ...] = ()
    ) -> list[EvictionOrder]:
        """Eviction of the running pods of a gang."""
        rows = tuple(self._running(unit))
        serials = tuple(int(self._pods.serial[row]) for row in rows)
        order = EvictionOrder(
            rows, serials, EvictionCause.GANG, reason, beneficiaries=beneficiaries
        )
        return [order] if rows else []

    def _name(self, unit: Unit) -> str:
        return unit_name(unit, self._pods)

    def _running(self, unit: Unit) -> Iterator[int]:
        state = self._pods.state
        return (row for row in sorted(unit.bound) if state[row] == PodState.BOUND)

    # ------------------------------------------------------------ gangs that block each other

    def _release_one(self, search: ReclaimSearch, now: float) -> list[EvictionOrder]:
        """The eviction of one of several gangs that block each other."""
        if len(self._states.incomplete) < 2 or now < self._look_at:
            return []
        self._look_at = now + AGAIN
        waiting = [
            unit
            for unit, since in self._states.incomplete.items()
            if unit.state is UnitState.UNSCHEDULABLE and now >= since + BLOCKED_AFTER
        ]
        evicted = self._pods.eviction_state
        if any(evicted[row] != EvictionState.NONE for unit in waiting for row in unit.bound):
            return []  # its eviction is in progress
        waiting.sort(key=lambda unit: (unit.priority, -unit.sequence))
        search.begin()
        for at, less in enumerate(waiting):
            for more in reversed(waiting[at + 1 :]):
                entitled = self._may_reclaim(search, less, more, now)
                unit, other = (more, less) if entitled else (less, more)
                right = ReleaseRight(frozenset(self._running(unit)))
                if any(place.victims for place in search.places(other, right, ())):
                    self._look_at = now + BLOCKED_AFTER
                    name = self._name(unit)
                    reason = (
                        f"gang {name} with {_count(unit)} and gang {self._name(other)} with "
                        f"{_count(other)} block each other: {name} is released"
                    )
                    return self._order(unit, reason, tuple(other.pending))
        return []

    def _may_reclaim(self, search: ReclaimSearch, unit: Unit, other: Unit, now: float) -> bool:
        """Return whether a gang, after its release, may evict another one by its guarantee."""
        usage = self._states.usage
        if usage is None:
            return False
        balance = GuaranteeBalance(usage, {*self._running(unit), *search.leaving()})
        amounts = usage.total([*unit.bound, *unit.pending][: unit.min_member])
        entitlement = balance.entitlement(unit.queue, amounts)
        if entitlement is None:
            return False
        right = ReclaimRight(entitlement, balance, whole=True)
        return any(search.may_evict(unit, row, right, now) for row in self._running(other))


def _count(unit: Unit) -> str:
    return f"{len(unit.bound)} of {unit.min_member} pods"
